"""The sidecar's door: whoever comes through it gets an answer while the app is awake, and never has a say in that."""
import asyncio
import http.client
import os
import socket
import threading
import time

import pytest
import websockets

from events import Events
from harness import BINARY, DEBIAN_PYTHON, NEWEST_PYTHON, connection, fetch, wait_until
from launch_kinds import ASGI_KINDS, WSGI_KINDS, Kind
from sleeping import IDLE, idle, wait_asleep, wait_served

NATIVE = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "examples/native/libnative-example.so")
NAMED = {kind.name: kind for kind in ASGI_KINDS + WSGI_KINDS}
KINDS = [NAMED[name] for name in ("debian-asyncio-httptools", "newest-uvloop-httptools", "newest-asyncio-h11",
                                  "debian-gthread", "newest-gthread", "newest-sync", "newest-asgi")]
PYTHONS = {"debian": DEBIAN_PYTHON, "newest": NEWEST_PYTHON}


def arguments_of(kind):
    if kind == "native":
        return ["--app", f"native:{NATIVE}"]
    kind.skip_unless_installed()
    return [*kind.flags, kind.app]


class Asking:
    """Asks again and again, on one connection while it is left open. The statuses of its answers; 0: there was none."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.statuses = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        client = None
        while not self._over.wait(0.02):
            client = client or connection(self.port)
            try:
                client.request("GET", "/")
                answer = client.getresponse()
                answer.read()
                self.statuses.append(answer.status)
                if answer.will_close:
                    client = None
            except (OSError, http.client.HTTPException):  # it was closed when it was idle
                self.statuses.append(0)
                client = None


@pytest.mark.parametrize("kind", [*KINDS, "native"], ids=lambda kind: getattr(kind, "name", kind))
def test_a_sidecar_that_asks_all_the_time_keeps_no_app_awake_and_is_refused_while_it_sleeps(start, scratch, free_port,
                                                                                            kind):
    port, events = free_port(), Events(scratch / "moult.jsonl")
    moult = start(*IDLE, "--sidecar-bind", f"127.0.0.1:{port}", *events.flags, *arguments_of(kind),
                  env={"CALLS": str(scratch / "calls")})
    with Asking(port) as sidecar:
        wait_until(lambda: 200 in sidecar.statuses, "it is served")
        wait_asleep(moult)
        seen = len(sidecar.statuses)
        wait_until(lambda: len(sidecar.statuses) > seen + 10, "it asks on")
        assert set(sidecar.statuses[seen + 1:]) == {503}
        assert idle(moult)["state"] == "asleep"
        assert moult.fetch("/").status == 200
        seen = len(sidecar.statuses)
        wait_until(lambda: 200 in sidecar.statuses[seen:], "it is served again")
        wait_asleep(moult)
    assert [event["caller"] for event in events.all("woke")] == ["caller"], "the visitor, once"


@pytest.mark.parametrize("which", PYTHONS)
def test_its_websocket_and_its_long_request_stop_no_sleep(start, free_port, which):
    Kind(which, PYTHONS[which], [], "live:app", "uvicorn, websockets").skip_unless_installed()
    port = free_port()
    moult = start(*IDLE, "--python", PYTHONS[which], "--sidecar-bind", f"127.0.0.1:{port}", "live:app")
    wait_served(moult)
    stream = connection(port)
    stream.request("GET", "/events")
    stream.getresponse().readline()

    async def chat() -> int:
        async with websockets.connect(f"ws://127.0.0.1:{port}/") as client:
            await client.send("who are you?")
            await client.recv()
            try:
                while True:
                    await client.recv()
            except websockets.ConnectionClosed as closed:
                return closed.code
    began = time.monotonic()
    assert asyncio.run(chat()) == 1012
    wait_asleep(moult)
    assert time.monotonic() - began < 20, "--graceful-timeout, which is longer, was waited for"
    stream.close()
    refused = fetch(port)
    assert refused.status == 503 and refused.headers["Retry-After"] == "1"
    assert idle(moult)["state"] == "asleep"


def test_it_is_no_door_for_calls_and_in_nobodys_count(start, scratch, free_port):
    port = free_port()
    moult = start("--sidecar-bind", f"127.0.0.1:{port}", "called:app", env={"CALLS": str(scratch / "calls")})
    moult.wait_serving()
    seen = fetch(port, "/a", headers={"X-Moult-Schedule-Name": "nightly"}).json()
    assert seen == {"headers": {}, "mark": None}
    assert moult.workers()[0]["requests"] == 0
    assert moult.fetch("/b").status == 200
    moult.wait_for(lambda: moult.workers()[0]["requests"] == 1, "the visitor's is counted")


def test_a_stop_refuses_who_waits_at_it_and_leaves_no_file(start, scratch):
    path = scratch / "sidecar.sock"
    moult = start("--sidecar-bind", f"unix:{path}", "hello:app")
    moult.wait_serving()
    assert fetch(str(path)).status == 200
    assert moult.stop() == 0
    assert not path.exists()


def test_a_door_that_cannot_be_opened_is_named(start):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        moult = start("--sidecar-bind", f"127.0.0.1:{port}", "hello:app")
        assert moult.wait_exit() == 1
    assert "or choose another port with --sidecar-bind" in moult.log()
