"""A worker that gives no sign of life is shot with its stack shown; one that is merely busy is left alone."""
import os
import signal
import threading
import time

import pytest

from events import Events
from harness import APPS, fetch


def ask_and_forget(moult, path: str) -> None:
    threading.Thread(target=lambda: moult.answers(path), daemon=True).start()


def wait_replaced(moult, before: list, deadline: float = 30) -> None:
    moult.wait_for(lambda: moult.worker_pids() not in ([], before), "the worker is replaced", deadline)


def test_pure_python_in_a_thread_survives_many_timeouts(start):
    moult = start("-t", "2s", "hello:app")
    before = moult.wait_serving(1)
    answers = []
    spinning = threading.Thread(
        target=lambda: answers.append(fetch(moult.address, "/spin?seconds=20", timeout=60)), daemon=True)
    spinning.start()
    while spinning.is_alive():
        assert moult.fetch().json()["pid"] == before[0]  # the others do not have to wait for it
        spinning.join(0.5)
    assert answers[0].json()["pid"] == before[0]
    assert moult.worker_pids() == before
    assert "hangs" not in moult.log()


def line_of(code: str) -> int:
    """The only line of hello.py that has it."""
    lines = (APPS / "hello.py").read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if code in line]
    assert len(found) == 1, (code, found)
    return found[0]


@pytest.mark.parametrize("path, inmost", [
    ("/gil?seconds=100", "GIL_HOLDER.sleep("),  # in C, with the interpreter lock held: no Python code runs any more
    ("/block?seconds=100", "        time.sleep(seconds)"),
    ("/hog?seconds=100", "        spin(seconds)"),
], ids=["stuck in C", "event loop sleeps", "event loop computes"])
def test_a_worker_that_is_stuck_is_shot_with_its_stack_shown(start, scratch, path: str, inmost: str):
    events = Events(scratch / "events")
    moult = start(*events.flags, "-t", "2s", "hello:app")
    before = moult.wait_serving(1)
    began = time.monotonic()
    ask_and_forget(moult, path)
    wait_replaced(moult, before)
    # Not before the timeout, which counts from its last heartbeat (at most a quarter of it ago when we asked), and by
    # SIGABRT alone: --kill-after is 10 s.
    assert 1.5 <= time.monotonic() - began < 9
    assert moult.fetch().status == 200
    moult.wait_for(lambda: events.all("worker_exited"), "its end is told")
    exited = [(event["pid"], event["signal"]) for event in events.all("worker_exited")]
    assert exited == [(before[0], "SIGABRT")]
    moult.wait_log("most recent call first")
    moult.wait_log(f'hello.py", line {line_of(inmost)} in act')


def test_a_worker_that_cannot_even_be_aborted_is_killed_after_kill_after(start):
    moult = start("-t", "1s", "--kill-after", "1s", "hello:app")
    before = moult.wait_serving(1)
    os.kill(before[0], signal.SIGSTOP)
    began = time.monotonic()
    wait_replaced(moult, before)
    assert time.monotonic() - began < 10


def test_a_request_older_than_the_request_timeout_costs_its_worker(start):
    moult = start("-w", "1", "--request-timeout", "500ms", "--kill-after", "1s", "hello:app")
    before = moult.wait_serving(1)
    ask_and_forget(moult, "/slow?seconds=100")
    wait_replaced(moult, before)


def test_the_request_timeout_is_off_by_default(start):
    moult = start("-t", "1s", "hello:app")
    before = moult.wait_serving(1)
    assert fetch(moult.address, "/slow?seconds=3").json()["pid"] == before[0]


def test_timeout_zero_is_off(start):
    moult = start("-t", "0", "hello:app")
    before = moult.wait_serving(1)
    assert fetch(moult.address, "/block?seconds=3").json()["pid"] == before[0]


def test_a_gthread_worker_that_is_busy_survives_and_a_sync_one_that_is_stuck_is_shot(start, write_app):
    folder = write_app("import time, os\n"
                       "def app(environ, start_response):\n"
                       "    time.sleep(float(environ['QUERY_STRING'] or 0))\n"
                       "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
                       "    return [str(os.getpid()).encode()]\n")
    busy = start("-t", "2s", "-k", "gthread", "--threads", "2", "app:app", chdir=folder)
    before = busy.wait_serving(1)
    assert int(fetch(busy.address, "/?5").text) == before[0]
    assert busy.stop() == 0
    stuck = start("-t", "1s", "--kill-after", "1s", "-k", "sync", "app:app", chdir=folder)
    before = stuck.wait_serving(1)
    ask_and_forget(stuck, "/?100")
    wait_replaced(stuck, before)
