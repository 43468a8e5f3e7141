"""A plain HTTP/1.1 client on a socket of one's own: what was received, header by header. For tests."""
import base64
import os
import socket
import ssl
import struct


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def text(self):
        return self.body.decode()


class Connection:
    def __init__(self, where, tls=False, seconds=20):
        family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
        self.socket = socket.socket(family)
        self.socket.settimeout(seconds)
        self.socket.connect(where if isinstance(where, str) else ("127.0.0.1", where))
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.socket.close()

    def send(self, path, method="GET", headers=(), body=b"", before=b""):
        lines = ["%s %s HTTP/1.1" % (method, path), "Host: x"] + ["%s: %s" % pair for pair in headers]
        if body:
            lines.append("Content-Length: %d" % len(body))
        self.socket.sendall(before + "\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return self

    def get(self, path, **more):
        return self.send(path, **more).answer()

    def answer(self):
        head = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:]:
            if line:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
        if "content-length" in headers:
            body = self.read_exactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            body = b""
            while True:
                size = int(self.read_until(b"\r\n").strip(), 16)
                chunk = self.read_exactly(size + 2)[:-2]
                if not size:
                    break
                body += chunk
        else:
            body = self.read_to_the_end()
        return Answer(int(head[0].split()[1]), headers, body)

    def more(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the server closed the connection")
        self.buffer += data

    def read_until(self, mark):
        while mark not in self.buffer:
            self.more()
        end = self.buffer.index(mark)
        taken = bytes(self.buffer[:end])
        del self.buffer[:end + len(mark)]
        return taken

    def read_exactly(self, size):
        while len(self.buffer) < size:
            self.more()
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def read_to_the_end(self):
        try:
            while True:
                self.more()
        except EOFError:
            return self.read_exactly(len(self.buffer))

    def is_closed(self):
        """Waits for the server to close; False if it says something instead."""
        return not self.buffer and self.socket.recv(1) == b""

    def upgrade(self, path, headers=()):
        head = self.ask_for_upgrade(path, headers).read_until(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head
        return self

    def ask_for_upgrade(self, path, headers=(), before=b""):
        """`before`: what goes with it, in one packet."""
        key = base64.b64encode(os.urandom(16)).decode()
        return self.send(path, headers=[("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key),
                                        ("Sec-WebSocket-Version", "13")] + list(headers), before=before)

    def send_text(self, text):
        payload, mask = text.encode(), b"\1\2\3\4"
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self.socket.sendall(bytes([0x81, 0x80 | len(payload)]) + mask + masked)

    def frame(self):
        """(opcode, payload) of a short frame."""
        first, size = self.read_exactly(2)
        return first & 15, self.read_exactly(size & 127)

    def close_code(self):
        opcode, payload = self.frame()
        assert opcode == 8, opcode
        return struct.unpack("!H", payload[:2])[0]
