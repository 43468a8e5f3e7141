"""A worker that dies is replaced; who else serves is not touched."""
import os
import signal

import pytest

from processes import exists


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_worker_ended_by_a_signal_is_replaced_and_its_siblings_live_on(start, number):
    moult = start("-w", "3", "hello:app")
    before = moult.wait_serving(3)
    os.kill(before[1], number)
    moult.wait_for(lambda: before[1] not in moult.worker_pids() and len(moult.worker_pids()) == 3, "a replacement")
    assert {before[0], before[2]} < set(moult.worker_pids())
    assert moult.fetch().status == 200


def test_the_only_worker_is_replaced_at_once(start):
    moult = start("hello:app")
    before = moult.wait_serving(1)
    os.kill(before[0], signal.SIGKILL)
    answer = moult.fetch(timeout=10)  # waits in the backlog until the replacement accepts
    assert answer.json()["pid"] != before[0]


def test_a_worker_that_exits_by_itself_is_replaced_and_the_log_says_how_it_ended(start):
    moult = start("-w", "2", "hello:app")
    before = moult.wait_serving(2)
    moult.answers("/exit?code=42")
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and moult.worker_pids() != before, "a replacement serves")
    assert "42" in moult.log()


def test_the_slot_is_taken_again_by_the_replacement(start):
    moult = start("-w", "3", "hello:app")
    moult.wait_serving(3)
    victim = moult.workers()[1]
    os.kill(victim["pid"], signal.SIGKILL)
    moult.wait_for(lambda: victim["pid"] not in moult.worker_pids() and len(moult.worker_pids()) == 3, "a replacement")
    assert sorted(worker["slot"] for worker in moult.workers()) == [0, 1, 2]


def test_what_a_worker_leaves_in_its_process_group_is_killed_after_its_exit(start, write_app):
    folder = write_app("import os, subprocess\n"
                       "async def app(scope, receive, send):\n"
                       "    if scope['type'] != 'http': return\n"
                       "    child = subprocess.Popen(['sleep', '1000'])\n"
                       "    body = f'{os.getpid()} {child.pid}'.encode()\n"
                       "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
                       "    await send({'type': 'http.response.body', 'body': body})\n")
    moult = start("app:app", chdir=folder)
    moult.wait_serving(1)
    worker, child = map(int, moult.fetch().text.split())
    assert exists(child)
    os.kill(worker, signal.SIGKILL)
    moult.wait_for(lambda: not exists(child), "the child that the worker left is gone")


def test_the_kernel_prefers_workers_to_the_master_when_memory_is_short(start):
    moult = start("hello:app")
    worker = moult.wait_serving(1)[0]

    def score(pid: int) -> int:
        with open(f"/proc/{pid}/oom_score_adj") as file:
            return int(file.read())
    assert score(worker) > score(moult.pid)
