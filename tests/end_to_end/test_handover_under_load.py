"""Workers are replaced under clients that never look before they write, in every kind of need: no request fails."""
import os
import time

import pytest

from full_pipe import full_pipe
from harness import DEBIAN_PYTHON, NEWEST_PYTHON, ROOT, connection
from processes import exists
from recycling import UNHURRIED
from strict_load import SERVERS, StrictLoad, Unread, hold_each, replace_all

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
FEW_DESCRIPTORS = ["prlimit", "--nofile=64:64"]
CELLS = {"uvicorn-old": ("uvicorn", DEBIAN_PYTHON), "gthread-newest": ("gthread", NEWEST_PYTHON)}


@pytest.fixture(params=list(CELLS))
def serve(start, request):
    """As start(), with the app that the load client asks."""
    server, python = CELLS[request.param]
    return lambda *flags, **more: start("--python", python, *UNHURRIED, *flags, *SERVERS[server], chdir=ROOT, **more)


def parking(moult) -> dict:
    return moult.status()["parking"]


def test_two_workers_that_retire_at_once(serve):
    moult = serve("-w", "4")
    moult.wait_serving(4)
    with StrictLoad(moult, connections=32) as load:
        for _ in range(4):
            held = hold_each(moult, 4)
            assert moult.client("scale", "2").returncode == 0
            moult.wait_for(lambda: len(moult.workers("retiring")) == 2, "two retire")
            for each in held:
                each.finish()
            left = moult.wait_serving(2)
            assert {each.again() for each in held} <= set(left)
            assert moult.client("scale", "4").returncode == 0
            moult.wait_serving(4)
    assert load.failures() == []
    assert load.seen["announced_closes"] == 0
    assert parking(moult)["handed_over"] >= 4 * 2, "one at least of each that retired"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_master_without_privileges_that_has_few_descriptors(serve, scratch):
    for name in ("run", "tmp", "cwd"):
        os.chown(scratch / name, NOBODY, NOBODY)
    moult = serve("-w", "2", wrapper=[*FEW_DESCRIPTORS, *AS_NOBODY])
    moult.wait_serving(2)
    with StrictLoad(moult, connections=24) as load:
        for _ in range(5):
            replace_all(moult, 2)
    assert load.failures() == []
    assert parking(moult)["handed_over"] > 0


def test_a_stdout_that_nobody_reads(serve):
    with full_pipe() as stdout:
        moult = serve("-w", "2", "--access-logfile", "-", "--events", "-", stdout=stdout)
        moult.wait_serving(2)
        with StrictLoad(moult) as load:
            for _ in range(5):
                replace_all(moult, 2)
        assert load.failures() == []
        assert parking(moult)["handed_over"] > 0
        assert moult.stop() == 0


def test_what_finds_no_room_in_parking_is_told_to_close_and_nobody_meets_a_closed_connection(serve):
    moult = serve("-w", "2", "--parking-max", "8")
    moult.wait_serving(2)
    with StrictLoad(moult, connections=32) as load:
        def some_are_declined() -> bool:
            replace_all(moult, 2)
            return parking(moult)["declined"] >= 20
        moult.wait_for(some_are_declined, "20 are declined")
    assert load.failures() == []
    assert parking(moult)["most"] == 8
    assert load.seen["announced_closes"] >= 20, "each that is declined is told"


def test_who_connects_and_waits_until_its_worker_retires_is_answered_by_another(serve):
    moult = serve()
    old = moult.wait_serving(1)[0]
    silent = connection(moult.address)
    silent.connect()
    moult.wait_for(lambda: moult.workers()[0]["open_connections"] == 1, "it is accepted")
    held = Unread(connection(moult.address))
    assert moult.client("recycle").returncode == 0
    moult.wait_for(lambda: parking(moult)["parked"] == 1, "its worker retires, and has given it away")
    silent.request("GET", "/")
    answer = silent.getresponse()
    assert (answer.status, answer.read()) == (200, b"ready")
    assert int(answer.headers["X-Worker"]) != old == held.worker
    assert exists(old), "it still had something to do"
    held.finish()
    assert held.again() in moult.wait_serving(1)
    silent.close()


def seconds_from_last_response_to_exit(moult) -> float:
    old = moult.wait_serving(1)[0]
    held = Unread(connection(moult.address))
    assert moult.client("recycle").returncode == 0
    moult.wait_for(lambda: moult.workers("retiring"), "it retires")
    held.finish()
    began = time.monotonic()
    moult.wait_for(lambda: not exists(old), "it is gone")
    took = time.monotonic() - began
    held.client.close()
    return took


def test_idle_connections_do_not_keep_a_worker_beyond_its_last_response(serve):
    moult = serve()
    moult.wait_serving(1)
    clients = [connection(moult.address) for _ in range(50)]

    def all_are_answered_on_the_connection_that_they_have() -> bool:
        for client in clients:
            client.request("GET", "/")
            assert client.getresponse().read() == b"ready"
            client.auto_open = 0
        return True
    assert all_are_answered_on_the_connection_that_they_have()
    # The machine may have more to do: three times, and each time all of them move.
    took = [seconds_from_last_response_to_exit(moult) for _ in range(3)
            if all_are_answered_on_the_connection_that_they_have()]
    assert min(took) < 1, took
    assert all_are_answered_on_the_connection_that_they_have()
    for client in clients:
        client.close()
