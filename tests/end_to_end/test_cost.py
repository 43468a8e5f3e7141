"""What the master itself costs while it watches three workers that nobody calls."""
import os
import socket
import time

import pytest

from harness import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer costs more than moult does")


def pss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        return next(int(line.split()[1]) for line in rollup if line.startswith("Pss:")) * 1024


def test_the_master_takes_at_most_12_megabytes(start):
    moult = start("-w", "3", "hello:app")
    moult.wait_serving(3)
    assert pss_bytes(moult.pid) <= 12_000_000


def test_so_it_does_with_both_admin_servers_whose_threads_have_all_answered(start, free_port):
    ports = [free_port(), free_port()]
    moult = start("-w", "3", "--admin", f"127.0.0.1:{ports[0]}", "--health-bind", f"127.0.0.1:{ports[1]}", "hello:app")
    moult.wait_serving(3)
    for port in ports:
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(64)]
        for client in clients:
            client.sendall(b"GET /status.json HTTP/1.1\r\nHost: x\r\n\r\n")
        for client in clients:
            while client.recv(65536):
                pass
            client.close()
    assert pss_bytes(moult.pid) <= 12_000_000


def cpu_ns(pid: int) -> int:
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def test_the_master_takes_at_most_3_thousandths_of_a_core(start):
    moult = start("-w", "3", "hello:app")
    moult.wait_serving(3)
    shares = []
    for _ in range(3):
        began, spent = time.monotonic(), cpu_ns(moult.pid)
        time.sleep(2)  # what is measured is time that passes
        shares.append((cpu_ns(moult.pid) - spent) / 1e9 / (time.monotonic() - began))
    assert min(shares) <= 0.003, shares
