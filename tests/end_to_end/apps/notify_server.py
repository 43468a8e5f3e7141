"""Speaks sd_notify: READY=1 after READY_SECONDS, then a WATCHDOG=1 every 0.1 s until a request for /hang."""
import json
import os
import socket
import threading
import time

hung = threading.Event()


def notify(text: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        address = os.environ["NOTIFY_SOCKET"]
        out.connect("\0" + address[1:] if address.startswith("@") else address)
        out.send(text.encode())


def watchdog() -> None:
    while not hung.wait(0.1):
        notify("WATCHDOG=1")


listener = socket.socket(fileno=3)
listener.setblocking(True)
time.sleep(float(os.environ.get("READY_SECONDS", "0")))
notify("STATUS=warm\nREADY=1\nWATCHDOG=1")
threading.Thread(target=watchdog, daemon=True).start()
while True:
    client, _ = listener.accept()
    request = client.recv(65536)
    if request.startswith(b"GET /hang"):
        hung.set()
        client.close()
        continue
    body = json.dumps({"language": "notify", "pid": os.getpid(), "names": os.environ.get("LISTEN_FDNAMES")})
    client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
    client.close()
