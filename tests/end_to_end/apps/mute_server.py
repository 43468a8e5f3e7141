"""Serves the listener on descriptor 3 and speaks no protocol with its parent: no READY, no signals handled."""
import json
import os
import socket
import sys

if len(sys.argv) > 1 and sys.argv[1] == "exit":
    sys.exit(int(sys.argv[2]))
listener = socket.socket(fileno=3)  # blocking, as it came
while True:
    client, _ = listener.accept()
    client.recv(65536)
    body = json.dumps({"language": "mute", "pid": os.getpid()})
    client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
    client.close()
