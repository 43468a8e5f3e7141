"""The admin listeners towards those who mean no good, or know no better."""
import contextlib
import http.client
import socket
import struct
import threading
from pathlib import Path

import pytest

from harness import BINARY, SANITIZED, fetch, wait_until

LOOP_WATCH = Path(BINARY).resolve().parents[1] / "bench/loop-watch.so"
HOSTILE = [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 100_000 + b"\r\n\r\n", b"GET /status.json HT",
           b"\0" * 1000, b"POST /events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n"]


@pytest.fixture
def admin_port(free_port) -> int:
    return free_port()


def serve(start, admin_port, *flags, **more):
    moult = start("--admin", f"127.0.0.1:{admin_port}", *flags, "hello:app", **more)
    moult.wait_serving(1)
    wait_until(lambda: fetch(admin_port, "/status.json").status == 200, "there is a picture")
    return moult


def view(port: int) -> http.client.HTTPResponse:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    client.request("GET", "/events")
    return client.getresponse()


def attack(port: int, count: int) -> None:
    def work(mine: range) -> None:
        for number in mine:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(HOSTILE[number % len(HOSTILE)])
                while client.recv(65536):
                    pass
    threads = [threading.Thread(target=work, args=(range(first, count, 40),)) for first in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rss_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_an_admin_that_others_can_reach_needs_a_token(start, free_port):
    moult = start("--admin", f"0.0.0.0:{free_port()}", "hello:app")
    assert moult.wait_exit() == 2
    assert "MOULT_ADMIN_TOKEN" in moult.log() and "--health-bind" in moult.log()


def test_the_health_door_has_neither_page_nor_events(start, free_port):
    port = free_port()
    moult = start("--health-bind", f"127.0.0.1:{port}", "hello:app")
    moult.wait_serving(1)
    assert {path: fetch(port, path).status for path in ("/", "/events", "/status.json", "/livez", "/metrics")} == {
        "/": 404, "/events": 404, "/status.json": 404, "/livez": 200, "/metrics": 200}


def test_with_a_token_events_are_for_its_bearer_and_the_page_for_everybody(start, admin_port):
    token = "0123456789abcdef-token"
    moult = start("--admin", f"127.0.0.1:{admin_port}", "-n", "secretive", "hello:app",
                  env={"MOULT_ADMIN_TOKEN": token})
    moult.wait_serving(1)
    assert fetch(admin_port, "/events").status == 401
    page = fetch(admin_port, "/")
    assert page.status == 200 and "secretive" not in page.text


def test_too_many_viewers_are_turned_away_and_everybody_else_is_answered(start, admin_port):
    serve(start, admin_port)
    viewers = [view(admin_port) for _ in range(24)]
    assert {viewer.status for viewer in viewers} == {200}
    one_more = view(admin_port)
    assert one_more.status == 503 and one_more.headers["Retry-After"] == "1"
    for path in ("/livez", "/status.json", "/"):
        assert fetch(admin_port, path).status == 200
    for viewer in viewers:
        assert viewer.readline() == b"event: status\n"
        viewer.close()

    def has_room() -> bool:
        with view(admin_port) as viewer:
            return viewer.status == 200
    wait_until(has_room, "the places of those who left are free")


def test_a_viewer_that_reads_nothing_holds_nobody_up(start, admin_port):
    moult = serve(start, admin_port)
    before = moult.worker_pids()
    silent = [view(admin_port) for _ in range(10)]
    moult.client("recycle")
    assert fetch(admin_port, "/livez").status == 200
    with view(admin_port) as viewer:
        for _ in range(6):
            assert viewer.readline()
    for viewer in silent:
        viewer.close()
    assert before and moult.stop() == 0


class Turns:
    """What tools/bench/loop_watch.cc, inside the master, has noted of its loop since reset(): thread CPU time, so that
    a busy machine does not matter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.environment = {"LD_PRELOAD": str(LOOP_WATCH), "MOULT_LOOP_WATCH": str(path)}

    def reset(self) -> None:
        with open(self.path, "r+b") as file:
            file.write(bytes(24))

    def longest_ms(self) -> float:
        turns, longest, _ = struct.unpack("<3q", self.path.read_bytes())
        assert turns > 10
        return longest / 1e6


def test_ten_thousand_hostile_requests_cost_neither_memory_nor_service(start, scratch, admin_port):
    watched = LOOP_WATCH.exists() and not SANITIZED  # a sanitizer wants to be the first that is loaded
    turns = Turns(scratch / "turns")
    moult = serve(start, admin_port, env=turns.environment if watched else {})
    attack(admin_port, 400)  # each thread has had its first
    before = rss_bytes(moult.pid)
    if watched:
        turns.reset()
    attack(admin_port, 600 if SANITIZED else 10_000)
    if watched:
        assert turns.longest_ms() < 5
    if not SANITIZED:  # a sanitizer keeps freed memory
        assert rss_bytes(moult.pid) - before < 2_000_000
    assert fetch(admin_port, "/livez").status == 200
    assert moult.fetch().status == 200


def test_who_asks_too_often_is_told_to_wait_and_health_checks_are_not(start, admin_port):
    serve(start, admin_port)

    def refused() -> bool:
        return fetch(admin_port, "/nothing").status == 503
    wait_until(lambda: any(refused() for _ in range(100)), "the bound is reached")
    assert fetch(admin_port, "/livez").status == 200
    wait_until(lambda: fetch(admin_port, "/status.json").status == 200, "it is told again")
