"""No answer loses its tail: not with the worker that sent it, and not with moult."""
import contextlib
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import List

import pytest

import own_container
from events import Events
from harness import DEBIAN_PYTHON, NEWEST_PYTHON, PATIENCE, fetch, wait_until
from processes import exists
from slow_client import SlowClient

MIB = 1024 * 1024
LARGE = 16 * MIB
CRUMB = 64 * 1024
SMALL = 400 * 1024  # fits into the kernel's queues, and into no client's
RATE = int(os.environ.get("READER_BYTES_PER_SECOND", 4 * MIB))  # 204800: as slow as real ones are
GRACE = f"{60 + LARGE // RATE}s"
UNLIMITED = ["--cooldown", "0", "--recycle-rate", "off"]
WITHOUT_THE_RIGHT = ["setpriv", "--bounding-set", "-net_admin"]
as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


def linger(moult) -> dict:
    return moult.status().get("linger", {})


def sums(now: dict) -> bool:
    return now["begun"] == sum(now["outcomes"].values()) + now["watched"]


def early(address: int, size: int, *headers: str) -> SlowClient:
    """A client whose answer comes before it has sent all of its body."""
    return SlowClient("127.0.0.1", address).ask(f"/?bytes={size}", "Content-Length: 900000000", *headers,
                                                body=b"y" * 100_000)


def asking(address: int, size: int, *headers: str) -> SlowClient:
    return SlowClient("127.0.0.1", address).ask(f"/?bytes={size}", "Content-Length: 0", *headers)


@pytest.fixture(params=["old", "newest"])
def python(request) -> List[str]:
    return ["--python", {"old": DEBIAN_PYTHON, "newest": NEWEST_PYTHON}[request.param]]


# --- a slow reader

@pytest.mark.parametrize("sends_on", [False, True], ids=["silent", "sending"])
@pytest.mark.parametrize("ends_by", ["recycle", "stop"])
def test_a_slow_reader_has_all_of_16_mib(start, python, ends_by, sends_on):
    moult = start("--graceful-timeout", GRACE, *UNLIMITED, *python, "large:app")
    worker, = moult.wait_serving(1)
    with (early if sends_on else asking)(moult.address, LARGE, "Connection: close") as client:
        if sends_on:
            client.send_on()
        assert client.read(MIB, RATE) >= MIB
        if ends_by == "stop":
            moult.signal(signal.SIGTERM)
        else:
            assert moult.client("recycle").returncode == 0
            moult.wait_for(lambda: worker not in moult.worker_pids(), "it retires")
        assert client.read(2 * LARGE, RATE) == LARGE
        assert client.ended
    if ends_by == "stop":
        assert moult.wait_exit() == 0
    else:
        moult.wait_for(lambda: linger(moult)["closing"] == 0, "nothing is left")
        assert sums(linger(moult))


@pytest.mark.parametrize("linger_timeout", ["5m", "0"])
def test_a_client_that_sends_on_has_all_of_an_early_answer_and_loses_its_end_without(start, python, linger_timeout):
    moult = start("--linger-timeout", linger_timeout, *python, "large:app")
    moult.wait_serving(1)
    with early(moult.address, SMALL, "Connection: close").send_on() as client:
        if linger_timeout == "0":
            moult.wait_for(lambda: moult.workers()[0]["open_connections"] == 0, "its connection is closed")
            wait_until(lambda: not client._sender.is_alive(), "its reset")
            assert client.read(LARGE) < SMALL
        else:
            moult.wait_for(lambda: linger(moult)["watched"] == 1, "it closes in the master")
            assert client.read(LARGE) == SMALL and client.ended
            moult.wait_for(lambda: linger(moult)["outcomes"]["delivered"] == 1, "it is delivered")


@as_root
@pytest.mark.parametrize("linger_timeout", ["5m", "0"])
def test_moult_leaves_its_container_when_all_has_arrived_and_the_end_is_lost_without(start, linger_timeout):
    def test() -> None:
        moult = start("--linger-timeout", linger_timeout, "--graceful-timeout", GRACE, "large:app",
                      bind=f"{own_container.HOST}:{own_container.PORT}", wrapper=own_container.WRAPPER)
        wait_until(lambda: own_container.is_apart(moult.pid), "it has a network of its own")
        own_container.connect(moult.pid)
        moult.wait_serving(1)
        with SlowClient(own_container.HOST, own_container.PORT) as client:
            client.ask(f"/?bytes={LARGE}", "Content-Length: 0")
            assert client.read(MIB, RATE) >= MIB
            moult.signal(signal.SIGTERM)
            if linger_timeout == "0":
                client.socket.settimeout(3)  # nothing comes any more
            with own_container.goes_with(moult.process):  # the end fits into the kernel's queues: nobody else holds it
                client.read(LARGE - SMALL if linger_timeout == "0" else LARGE, RATE)
            has_lost_the_end = client.read(LARGE) < LARGE
            assert has_lost_the_end == (linger_timeout == "0")
            assert moult.wait_exit() == 0
    own_container.in_a_network_of_its_own(test)


# --- one that takes nothing

def stopping_with_a_stalled_reader(start, scratch, *arguments: str, **more):
    events = Events(scratch / "events.jsonl")
    moult = start(*arguments, *events.flags, "large:app", **more)
    moult.wait_serving(1)
    client = asking(moult.address, SMALL, "Connection: close")  # else the worker gives it up, and moult holds it
    moult.wait_for(lambda: moult.workers()[0]["requests"] == 1, "its answer is with the kernel")
    moult.signal(signal.SIGTERM)
    return moult, client, events, time.monotonic()


@as_root
def test_at_a_stop_a_stalled_reader_is_aborted_after_the_timeout_and_the_event_says_so(start, scratch):
    moult, client, events, began = stopping_with_a_stalled_reader(start, scratch, "--linger-timeout", "3s")
    with client:
        moult.wait_log("1 client has not received all of the answer yet: waiting, at most 6 s")
        assert moult.status()["state"] == "stopping"
        assert moult.wait_exit() == 0
        assert 3 <= time.monotonic() - began < 6 + 5
        aborted, = events.all("linger_aborted")
        assert (aborted["during"], aborted["connections"], aborted["stalled_seconds"]) == ("stop", 1, 3)
        assert "1 client took nothing of the answer for 3 s (--linger-timeout) and was cut off" in moult.log()
        assert not events.all("fail_closed")
        assert [event["event"] for event in events.all()][-1] == "master_stopped"
        assert client.read(LARGE) < SMALL


def test_where_aborting_is_not_permitted_moult_leaves_in_time_and_says_whom_it_leaves(start, scratch):
    moult, client, events, began = stopping_with_a_stalled_reader(
        start, scratch, "--linger-timeout", "2s", wrapper=WITHOUT_THE_RIGHT if os.getuid() == 0 else None)
    with client:
        assert moult.wait_exit() == 0
        assert 2 <= time.monotonic() - began < 4 + 5
        failed, = events.all("fail_closed")
        assert (failed["during"], failed["connections"], failed["cause"]) == ("stop", 1, "not_permitted")
        assert "moult leaves without 1 client having received all of the answer" in moult.log()
        assert not events.all("linger_aborted")


def test_a_peers_reset_releases_at_once(start, scratch):
    moult, client, events, _ = stopping_with_a_stalled_reader(start, scratch, "--linger-timeout", "10m")
    moult.wait_log("waiting, at most 1200 s")
    client.reset()
    assert moult.wait_exit() == 0
    assert not events.all("fail_closed") and not events.all("linger_aborted")


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_once_more_moult_leaves_without(start, scratch, again):
    moult, client, events, _ = stopping_with_a_stalled_reader(start, scratch, "--linger-timeout", "10m")
    with client:
        moult.wait_log("waiting, at most 1200 s")
        assert moult.stop(again) == 0
        failed, = events.all("fail_closed")
        assert (failed["connections"], failed["cause"]) == (1, "operator")


def test_a_quick_stop_waits_for_nobody(start):
    moult = start("--linger-timeout", "10m", "large:app")
    moult.wait_serving(1)
    with asking(moult.address, SMALL):
        moult.wait_for(lambda: moult.workers()[0]["requests"] == 1, "its answer is with the kernel")
        assert moult.stop(signal.SIGINT) == 0


def test_a_recycle_waits_for_nobody_and_aborts_nobody(start):
    moult = start("--linger-timeout", "1s", *UNLIMITED, "large:app")
    worker, = moult.wait_serving(1)
    with early(moult.address, SMALL, "Connection: close") as client:
        moult.wait_for(lambda: linger(moult)["stalled"] == 1, "it stalls")
        assert moult.client("recycle").returncode == 0
        moult.wait_for(lambda: moult.worker_pids() not in ([], [worker]), "another serves")
        assert client.read(LARGE) == SMALL and client.ended


# --- what it costs and how it is counted

def test_after_1000_pipelined_requests_the_gauges_are_back_where_they_were(start, python):
    moult = start(*python, "large:app")
    moult.wait_serving(1)
    before = linger(moult)
    with SlowClient("127.0.0.1", moult.address) as client:
        for _ in range(999):
            client.ask("/?bytes=1000", "Content-Length: 0")
        client.ask("/?bytes=1000", "Content-Length: 0", "Connection: close")
        assert client.read(LARGE) > 1_000_000
        assert client.ended
    after = moult.wait_for(lambda: (now := linger(moult))["closing"] == now["watched"] == 0 and now, "nothing is left")
    assert sums(after) and after["watched"] == before["watched"] == 0
    moult.wait_for(lambda: moult.workers()[0]["open_connections"] == 0, "no connection is left")


def test_of_300_that_close_at_once_256_are_watched_and_the_others_counted(start, free_port):
    admin = free_port()
    moult = start("--admin", f"127.0.0.1:{admin}", "large:app")
    moult.wait_serving(1)
    clients = [early(moult.address, SMALL, "Connection: close") for _ in range(300)]
    full = moult.wait_for(lambda: (now := linger(moult))["begun"] == 300 and now, "all close in the master", PATIENCE)
    assert full["watched"] == 256 and full["outcomes"]["unwatched"] == 44 and sums(full)
    whole = sum(client.read(LARGE) == SMALL for client in clients)
    assert whole >= 256
    after = moult.wait_for(lambda: (now := linger(moult))["watched"] == 0 and now, "all have arrived")
    assert sums(after) and after["outcomes"]["delivered"] == 256
    for client in clients:
        client.socket.close()
    moult.wait_for(lambda: linger(moult)["closing"] == 0, "nothing is left")

    def shown() -> dict:
        lines = fetch(admin, "/metrics").text.splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if line.startswith("moult_lingers_"))
    moult.wait_for(lambda: shown().get('moult_lingers_total{outcome="delivered"}') == "256", "the metrics say so")
    totals = [float(value) for name, value in shown().items() if name.startswith("moult_lingers_total")]
    assert sum(totals) == 300 and shown()["moult_lingers_watched"] == shown()["moult_lingers_fail_closed"] == "0"


# --- who speaks after the server has closed

@pytest.mark.parametrize("http", ["httptools", "h11"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("ends_by", ["recycle", "reload", "stop"])
def test_who_speaks_only_after_the_servers_close_has_all_of_4_mib(start, python, ends_by, loop, http):
    moult = start("--graceful-timeout", GRACE, "--parking-max", "0", *UNLIMITED, "--server-option", f"loop={loop}",
                  "--server-option", f"http={http}", *python, "large:app")
    worker, = moult.wait_serving(1)
    with asking(moult.address, 4 * MIB) as client:
        heard = client.read(MIB, RATE)
        if ends_by == "stop":
            moult.signal(signal.SIGTERM)
        else:
            assert moult.client(ends_by).returncode == 0
        while exists(worker):  # it closes when the kernel has the rest
            heard = client.read(heard + CRUMB, RATE // 4)
        assert heard < 4 * MIB, "the end of the answer was still on its way"
        client.send_on()
        assert client.read(2 * LARGE, RATE) == 4 * MIB
        assert client.ended


PIPELINED = b"GET /?bytes=10 HTTP/1.1\r\nHost: x\r\n\r\n"
SENDS_MUCH = """
from urllib.parse import parse_qs
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/octet-stream")])
    return [b"x" * int(parse_qs(environ["QUERY_STRING"])["bytes"][0])]
"""


def test_who_asks_on_while_several_gthread_workers_stop_has_all_of_4_mib(start, python, write_app):
    moult = start("-w", "2", "-k", "gthread", "--threads", "8", "--graceful-timeout", GRACE, *python, "app:app",
                  chdir=write_app(SENDS_MUCH))
    moult.wait_serving(2)
    with contextlib.ExitStack() as open_now:
        clients = [open_now.enter_context(asking(moult.address, 4 * MIB)).send_on(PIPELINED, 0.05) for _ in range(4)]
        for client in clients:
            assert client.read(CRUMB) >= CRUMB
        moult.signal(signal.SIGTERM)
        with ThreadPoolExecutor(len(clients)) as each:
            heard = list(each.map(lambda client: client.read(4 * MIB, RATE // 4), clients))
        assert all(size >= 4 * MIB for size in heard), heard
