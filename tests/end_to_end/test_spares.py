"""Workers that have started and wait: they take the place of one that dies or is replaced."""
import os
import signal
import subprocess
import time
from typing import List, Optional

import pytest

from events import Events
from harness import BINARY, DEBIAN_PYTHON, NEWEST_PYTHON, ROOT, holds_for
from processes import exists
from recycling import UNHURRIED, memory_cgroup  # noqa: F401
from strict_load import ECHO, StrictLoad
from test_reload_under_load import echo_app
from versions import BROKEN_STARTUP, version

NATIVE = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(BINARY))),
                      "examples/native/libnative-example.so")
KINDS = {"uvicorn": ["hello:app"], "gthread": ["-k", "gthread", "flasky:app"],
         "asgi": ["--python", NEWEST_PYTHON, "-k", "asgi", "hello:app"], "no-preload": ["--no-preload", "hello:app"]}


def settled(moult, workers: int, spares: int) -> Optional[List[int]]:
    """The pids of the spares, when all that is wanted is there and nothing else."""
    listed = moult.status().get("workers", [])
    states = sorted(worker["state"] for worker in listed)
    if states != ["serving"] * workers + ["spare"] * spares:
        return None
    return sorted(worker["pid"] for worker in listed if worker["state"] == "spare")


def wait_settled(moult, workers: int, spares: int) -> List[int]:
    found = moult.wait_for(lambda: settled(moult, workers, spares) is not None, f"{workers} workers, {spares} spares")
    assert found
    pids = settled(moult, workers, spares)
    return pids if pids is not None else wait_settled(moult, workers, spares)


@pytest.fixture(params=KINDS)
def moult(request, start):
    made = start("-w", "2", "--spares", "1", *KINDS[request.param])
    wait_settled(made, 2, 1)
    return made


def test_a_spare_is_listed_and_not_counted(moult):
    status = moult.status()
    spare = next(worker for worker in status["workers"] if worker["state"] == "spare")
    assert spare["slot"] is None and spare["pid"] > 0 and spare["uptime_seconds"] is None
    assert status["wanted"] == 2 and status["serving"] == 2
    assert "spare" in moult.client("status").stdout


def test_a_worker_that_is_killed_is_filled_by_the_spare_and_another_one_comes(moult):
    spare, victim = wait_settled(moult, 2, 1)[0], moult.workers()[1]
    os.kill(victim["pid"], signal.SIGKILL)
    moult.wait_for(lambda: spare in moult.worker_pids(), "the spare serves")
    filled = next(worker for worker in moult.workers() if worker["pid"] == spare)
    assert filled["slot"] == victim["slot"]
    assert wait_settled(moult, 2, 1) != [spare]
    assert moult.fetch().status == 200


def test_a_spare_that_dies_is_replaced_and_nobody_who_serves_is_touched(moult):
    spare, serving = wait_settled(moult, 2, 1)[0], moult.worker_pids()
    os.kill(spare, signal.SIGKILL)
    moult.wait_for(lambda: settled(moult, 2, 1) not in (None, [spare]), "another spare")
    assert moult.worker_pids() == serving
    assert moult.status()["boot_error"] is None


def test_a_stop_ends_it(moult):
    spare = wait_settled(moult, 2, 1)[0]
    assert moult.stop() == 0
    assert not exists(spare)


def test_a_recycle_takes_the_spare(start, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = start("-w", "1", "--spares", "1", *events.flags, *UNHURRIED, "hello:app")
    spare = wait_settled(moult, 1, 1)[0]
    assert moult.client("recycle").returncode == 0
    moult.wait_for(lambda: moult.worker_pids() == [spare], "the spare alone serves")
    wait_settled(moult, 1, 1)
    exits = moult.wait_for(lambda: events.all("worker_exited"), "the old one is gone")
    assert [line["state"] for line in exits] == ["retiring"]


def test_its_events_say_what_it_is(start, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = start("--spares", "1", *events.flags, "hello:app")
    spare = wait_settled(moult, 1, 1)[0]
    assert spare not in [line["pid"] for line in events.all("worker_ready")], "ready is who serves"
    os.kill(spare, signal.SIGKILL)
    gone = moult.wait_for(lambda: events.all("worker_exited"), "its end is told")[0]
    assert gone["pid"] == spare and gone["slot"] is None and gone["state"] == "spare" and gone["signal"] == "SIGKILL"


def test_its_prefix_and_its_slot_are_those_of_the_worker_that_it_becomes(start):
    moult = start("--worker-prefix", "--spares", "1", "hello:app")
    wait_settled(moult, 1, 1)
    os.kill(moult.worker_pids()[0], signal.SIGKILL)
    wait_settled(moult, 1, 1)
    moult.fetch("/print?text=from-the-former-spare")
    moult.wait_log("[0] from-the-former-spare")


@pytest.mark.parametrize("server", ["uvicorn", "gthread"])
def test_reloads_under_load_fail_nothing_and_spares_are_of_the_new_code(start, write_app, server):
    kind = ["-k", "gthread"] if server == "gthread" else []
    moult = start("-w", "2", "--spares", "1", *UNHURRIED, *kind, "app:app", chdir=write_app(echo_app(server, "old")),
                  env={"PYTHONPATH": str(ROOT)})
    wait_settled(moult, 2, 1)
    with StrictLoad(moult) as load:
        for number in range(5):
            write_app(echo_app(server, f"new-{number}"))
            assert moult.client("reload", "--wait").returncode == 0
            wait_settled(moult, 2, 1)
            newest = moult.status()["generation"]
            assert {worker["generation"] for worker in moult.status()["workers"]} == {newest}
    assert load.failures() == []
    spare = wait_settled(moult, 2, 1)[0]
    for pid in moult.worker_pids():
        os.kill(pid, signal.SIGKILL)
    moult.wait_for(lambda: spare in moult.worker_pids(), "the spare serves")
    assert moult.fetch().headers["X-Version"] == "new-4"


def test_recycles_with_a_spare_fail_no_request(start, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = start("-w", "2", "--spares", "1", *events.flags, *UNHURRIED, f"{ECHO}:asgi", chdir=ROOT)
    wait_settled(moult, 2, 1)
    with StrictLoad(moult) as load:
        for number in range(1, 11):
            assert moult.client("recycle", str(number % 2)).returncode == 0
            moult.wait_for(lambda: len(events.all("worker_recycled")) >= number, "it is recycled")
            wait_settled(moult, 2, 1)
    assert load.failures() == []


def test_new_code_whose_start_up_fails_leaves_the_old_spare(start, write_app):
    moult = start("--spares", "1", "--boot-attempts", "1", "app:app", chdir=write_app(version("old")))
    before = wait_settled(moult, 1, 1)
    write_app(BROKEN_STARTUP)
    assert moult.client("reload", "--wait").returncode == 1
    assert wait_settled(moult, 1, 1) == before


def test_a_spare_that_cannot_start_is_tried_ever_more_rarely_and_the_workers_serve_on(start, scratch, write_app):
    events, fails = Events(scratch / "moult.jsonl"), scratch / "fails"
    moult = start("--spares", "1", *events.flags, "app:app", chdir=write_app(version(
        "old", startup=f"if os.path.exists({str(fails)!r}): raise ValueError('the cupboard is bare')")))
    spare, serving = wait_settled(moult, 1, 1)[0], moult.worker_pids()
    fails.touch()
    os.kill(spare, signal.SIGKILL)
    moult.wait_for(lambda: len(events.all("boot_failed")) >= 2, "its successor fails, twice")
    assert "the cupboard is bare" in moult.status()["boot_error"]
    assert all(line["slot"] is None for line in events.all("boot_failed"))
    assert moult.worker_pids() == serving
    fails.unlink()
    wait_settled(moult, 1, 1)


def test_a_parked_spare_is_never_taken_for_hung(start):
    moult = start("--spares", "1", "--timeout", "1s", "hello:app")
    spare = wait_settled(moult, 1, 1)
    holds_for(lambda: settled(moult, 1, 1) == spare, 4, "the spare waits in peace")


def test_where_memory_is_short_the_spare_is_used_and_no_other_is_started(start, memory_cgroup):
    cgroup = memory_cgroup(400)
    moult = start("--spares", "1", "--min-headroom", "100MB", "--sample-near", "20ms", "--sample-far", "100ms",
                  "--cooldown", "1h", "--urgent-cooldown", "1h", "hello:app", wrapper=cgroup.inside())
    spare = wait_settled(moult, 1, 1)[0]
    ballast = subprocess.Popen([*cgroup.inside(), DEBIAN_PYTHON, "-c", "x = b'x' * 290_000_000; print(); input()"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert ballast.stdout.readline()
        moult.wait_for(lambda: moult.status()["recycler"]["headroom_bytes"] < 100_000_000, "memory is short")
        time.sleep(0.3)  # and the recycler has looked
        for pid in set(moult.worker_pids()) - {spare}:
            os.kill(pid, signal.SIGKILL)
        moult.wait_for(lambda: spare in moult.worker_pids(), "the spare serves")
        holds_for(lambda: settled(moult, 1, 1) is None, 2, "there is no room for another")
    finally:
        ballast.communicate(b"\n")
    wait_settled(moult, 1, 1)


@pytest.mark.parametrize("given, words", [
    (["--spares", "1", "--", "sleep", "1000"], "--spares: a command serves as soon as it is started"),
    (["--spares", "1", "--replace", "in-place", "hello:app"], "--replace in-place"),
    (["--spares", "101", "hello:app"], "--spares"),
])
def test_where_none_can_wait_it_is_refused_at_the_start(given, words):
    done = subprocess.run([BINARY, "run", *given], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_native_spare_serves_when_it_has_its_slot(start):
    moult = start("--spares", "1", "--app", f"native:{NATIVE}")
    spare = wait_settled(moult, 1, 1)[0]
    os.kill(moult.worker_pids()[0], signal.SIGKILL)
    moult.wait_for(lambda: moult.worker_pids() == [spare], "the spare serves")
    assert moult.fetch().status == 200
    began = time.monotonic()
    assert moult.stop() == 0
    assert time.monotonic() - began < 30
