"""HTTP/1.1 answers out of a stream of bytes (RFC 9112). Pure: bytes in, whole answers out. Strict: what a lenient
client would swallow is Malformed here."""
import re
from typing import Dict, NamedTuple, Optional

MOST_HEAD_BYTES = 65536
MOST_BODY_BYTES = 16 * 1024 * 1024  # sixteen times the largest that is asked for
MOST_CHUNK_LINE_BYTES = 1024

STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: [^\r\n]*)?")
HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\x00]*?)[ \t]*")


class Malformed(Exception):
    """This is no answer that a client has to understand."""


class Answer(NamedTuple):
    status: int
    headers: Dict[str, str]  # names in lower case; of a repeated one the values, joined by commas
    body: bytes
    closes: bool  # it was announced that the connection ends with this answer


class AnswerParser:
    """`feed` it what comes; `next` is the first whole answer that was not yet taken. One parser a connection: what
    follows an answer belongs to the next."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.head: Optional[Answer] = None  # of the answer in hand, without its body
        self.chunks = bytearray()

    @property
    def begun(self) -> bool:
        """Something of an answer is there that is not whole yet, or of one that nobody asked for."""
        return bool(self.buffer) or self.head is not None

    def feed(self, data: bytes) -> None:
        self.buffer += data

    def next(self) -> Optional[Answer]:
        if self.head is None and not self.take_head():
            return None
        if "transfer-encoding" in self.head.headers:
            return self.finish(bytes(self.chunks)) if self.take_chunks() else None
        length = self.length()
        if length is None or len(self.buffer) < length:
            if len(self.buffer) > MOST_BODY_BYTES:
                raise Malformed(f"a body of more than {MOST_BODY_BYTES} bytes")
            return None
        return self.finish(self.take(length))

    def end(self) -> Optional[Answer]:
        """The other side closed: that ends an answer of unsaid length, and no other."""
        if self.head is None or "transfer-encoding" in self.head.headers or self.length() is not None:
            return None
        return self.finish(self.take(len(self.buffer)))

    def finish(self, body: bytes) -> Answer:
        answer, self.head, self.chunks = self.head._replace(body=body), None, bytearray()
        return answer

    def take(self, count: int) -> bytes:
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def take_head(self) -> bool:
        end = self.buffer.find(b"\r\n\r\n", 0, MOST_HEAD_BYTES)
        if end < 0:
            if len(self.buffer) >= MOST_HEAD_BYTES:
                raise Malformed(f"no end of the headers in {MOST_HEAD_BYTES} bytes")
            if not b"HTTP/1.".startswith(self.buffer[:7]):
                raise Malformed(f"not an answer: {bytes(self.buffer[:40])!r}")
            return False
        first, *lines = self.take(end + 4)[:-4].split(b"\r\n")
        status = STATUS_LINE.fullmatch(first)
        if not status:
            raise Malformed(f"not a status line: {first[:80]!r}")
        headers: Dict[str, str] = {}
        for line in lines:
            header = HEADER.fullmatch(line)
            if not header:
                raise Malformed(f"not a header: {line[:80]!r}")
            name, value = (part.decode("latin-1") for part in header.groups())
            headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
        code = int(status.group(2))
        if code < 200:
            raise Malformed(f"an interim answer {code} that was not asked for")
        self.head = Answer(code, headers, b"", closes(headers, status.group(1) == b"1"))
        self.check_framing(headers)
        return True

    def check_framing(self, headers: Dict[str, str]) -> None:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if coding is not None and (coding.lower() != "chunked" or length is not None):
            raise Malformed(f"Transfer-Encoding {coding!r} with Content-Length {length!r}")
        if length is not None and (not re.fullmatch("[0-9]{1,10}", length) or int(length) > MOST_BODY_BYTES):
            raise Malformed(f"Content-Length {length!r}")
        if coding is None and length is None and self.length() is None:
            self.head = self.head._replace(closes=True)  # there is no other end to it

    def length(self) -> Optional[int]:
        """None: until the other side closes."""
        if self.head.status in (204, 304):
            return 0
        said = self.head.headers.get("content-length")
        return None if said is None else int(said)

    def take_chunks(self) -> bool:
        """True when the last one, and the empty line after it, is there."""
        while True:
            end = self.buffer.find(b"\r\n", 0, MOST_CHUNK_LINE_BYTES)
            if end < 0:
                if len(self.buffer) >= MOST_CHUNK_LINE_BYTES:
                    raise Malformed("a chunk without a size")
                return False
            size_text = bytes(self.buffer[:end]).split(b";")[0].strip()
            if not re.fullmatch(b"[0-9A-Fa-f]{1,8}", size_text):
                raise Malformed(f"not a chunk's size: {size_text[:40]!r}")
            size = int(size_text, 16)
            whole = end + 2 + size + 2
            if len(self.chunks) + size > MOST_BODY_BYTES:
                raise Malformed(f"a body of more than {MOST_BODY_BYTES} bytes")
            if len(self.buffer) < whole:
                return False
            if self.buffer[whole - 2:whole] != b"\r\n":
                raise Malformed("a chunk that is longer than it said, or a trailer")
            self.chunks += self.buffer[end + 2:whole - 2]
            del self.buffer[:whole]
            if size == 0:
                return True


def closes(headers: Dict[str, str], is_1_1: bool) -> bool:
    words = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    return "close" in words or not (is_1_1 or "keep-alive" in words)
