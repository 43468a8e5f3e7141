"""Clients of an app that sleeps: who wakes it, who does not, and that nobody is lost."""
import http.client
import os
import socket
import threading
import time

import pytest

from events import Events
from harness import BINARY, DEBIAN_PYTHON, NEWEST_PYTHON, ROOT, connection, holds_for, wait_until
from test_parking import KeptAlive, idle_clients, parking

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "examples/native/libnative-example.so")
KINDS = {
    "uvicorn": ["--python", DEBIAN_PYTHON, "pids:asgi"],
    "uvicorn-newest": ["--python", NEWEST_PYTHON, "pids:asgi"],
    "gthread": ["--python", DEBIAN_PYTHON, "-k", "gthread", "--threads", "8", "pids:wsgi"],
    "native": ["--app", f"native:{LIBRARY}"],
}


@pytest.fixture(params=KINDS)
def serve(start, request):
    more = {"chdir": ROOT} if request.param == "native" else {}
    return lambda *flags: start(*flags, *KINDS[request.param], **more)


@pytest.fixture
def serve_one(start):
    return lambda *flags, **more: start(*flags, *KINDS["uvicorn"], **more)


def is_asleep(moult) -> bool:
    return moult.status().get("idle", {}).get("state") == "asleep"


def sleep(moult) -> None:
    """Asked for, so that no test waits for an idle window."""
    assert moult.client("sleep").returncode == 0
    moult.wait_for(lambda: is_asleep(moult), "it sleeps")


def test_fifty_callers_at_once_are_one_wake_and_all_are_answered(serve, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = serve(*events.flags)
    moult.wait_serving(1)
    for _ in range(3):
        sleep(moult)
        before, pids = len(events.all("woke")), []

        def ask() -> None:
            client = KeptAlive(moult.address)
            pids.append(client.ask())

        threads = [threading.Thread(target=ask) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(pids) == 50
        assert len(set(pids)) == 1
        assert len(wait_until(lambda: events.all("woke")[before:], "it says so")) == 1


def test_idle_connections_outlive_a_sleep_of_twice_their_keep_alive(serve):
    moult = serve("--keep-alive", "2s")
    moult.wait_serving(1)
    clients = idle_clients(moult, 20)
    sleep(moult)
    assert parking(moult)["held"] == 20
    holds_for(lambda: parking(moult)["held"] == 20, 4, "none is closed while it sleeps")
    pids = [client.ask() for client in clients]
    assert len(pids) == 20 and not any(client.closes for client in clients)


def test_who_connects_while_it_sleeps_and_speaks_later_is_served(serve):
    moult = serve()
    moult.wait_serving(1)
    sleep(moult)
    silent = [KeptAlive(moult.address) for _ in range(5)]
    moult.wait_for(lambda: parking(moult)["held"] == 5, "moult has them")
    assert is_asleep(moult)
    assert silent[0].ask() == moult.wait_serving(1)[0]
    assert [client.ask() for client in silent[1:]] == moult.wait_serving(1) * 4


def test_health_checks_wake_nobody_and_are_answered(serve_one):
    moult = serve_one("--idle-ignore", "/healthz,/up")
    moult.wait_serving(1)
    sleep(moult)
    kept = connection(moult.address)
    for i in range(20):
        with socket.create_connection(("127.0.0.1", moult.address)):
            pass  # TCP
        for client, path in ((connection(moult.address), "/healthz?n=%d" % i), (kept, "/up")):
            client.request("GET", path)
            answer = client.getresponse()
            assert (answer.status, answer.read()) == (200, b"ok\n")
    assert is_asleep(moult)
    assert parking(moult)["ignored_requests"] == 40
    kept.request("GET", "/pid")
    assert int(kept.getresponse().read()) == moult.wait_serving(1)[0], "the next word on it wakes the app"


def test_health_checks_keep_nobody_awake(serve):
    moult = serve("--idle", "2s", "--idle-ignore", "/healthz")
    moult.wait_serving(1)
    since, stop = time.monotonic(), threading.Event()
    moult.fetch("/pid")

    def check() -> None:
        while not stop.wait(0.2):
            assert moult.fetch("/healthz").status in (200, 404)

    checker = threading.Thread(target=check)
    checker.start()
    try:
        moult.wait_for(lambda: is_asleep(moult), "it sleeps though it is asked for its health", 20)
        assert time.monotonic() - since > 2
        holds_for(lambda: is_asleep(moult), 1, "and goes on sleeping")
    finally:
        stop.set()
        checker.join()


def test_after_a_failed_wake_callers_are_told_when_to_come_again(start, scratch):
    app = scratch / "app" / "once.py"
    app.write_text("import os\nasync def app(scope, receive, send):\n    raise RuntimeError('the cause')\n")
    moult = start("--warmth", "nothing", "--wake-timeout", "20s", "once:app", chdir=scratch / "app")
    moult.wait_serving(1)
    sleep(moult)
    app.unlink()
    answers = []

    def ask() -> None:
        client = connection(moult.address)
        client.request("GET", "/")
        answer = client.getresponse()
        answers.append((answer.status, int(answer.headers["Retry-After"]), answer.headers["Connection"], answer.read()))

    threads = [threading.Thread(target=ask) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {status for status, *_ in answers} == {503}
    assert all(after >= 1 and closes == "close" for _, after, closes, _ in answers)
    assert not [body for *_, body in answers if b"cause" in body or b"once" in body or b"Traceback" in body]


def test_what_finds_no_room_while_it_sleeps_wakes_it(serve_one):
    moult = serve_one("--parking-max", "2")
    moult.wait_serving(1)
    sleep(moult)
    silent = [KeptAlive(moult.address) for _ in range(2)]
    moult.wait_for(lambda: parking(moult)["held"] == 2, "moult has them")
    holds_for(lambda: is_asleep(moult), 0.5, "they wake nobody")
    third = KeptAlive(moult.address)
    pid = moult.wait_serving(1)[0]
    assert [client.ask() for client in (third, *silent)] == [pid] * 3


def test_a_stop_of_a_sleeping_app_closes_the_silent_and_refuses_nobody_without_an_answer(serve_one):
    moult = serve_one()
    moult.wait_serving(1)
    silent = idle_clients(moult, 3)
    sleep(moult)
    assert moult.stop() == 0
    for client in silent:
        assert client.end() == b""
    with pytest.raises((OSError, http.client.HTTPException)):
        moult.fetch("/")
