"""moult as the first process of a container: whatever is orphaned there is reaped."""
import os
import signal

import pytest

from processes import alive, exists, parent_of, pids, stat_fields, zombies

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="a pid namespace needs root")

NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


def first_process(moult) -> int:
    """moult itself: the child of the unshare that we started."""
    return moult.wait_for(lambda: next((pid for pid in pids() if parent_of(pid) == moult.pid), None), "moult is there")


def stop(moult) -> int:
    os.kill(first_process(moult), signal.SIGTERM)
    return moult.wait_exit()


def test_a_thousand_orphans_leave_no_zombie_and_do_not_move_the_master(start):
    moult = start("-w", "2", "-t", "60s", "hello:app", wrapper=NAMESPACE)
    workers = moult.wait_serving(2)
    master = first_process(moult)
    assert moult.status()["pid"] == 1
    for _ in range(4):
        assert moult.fetch("/orphans?count=250", timeout=60).status == 200
    moult.wait_for(lambda: not zombies(master), "every orphan is reaped")
    assert moult.wait_serving(2) == workers
    assert exists(master)
    assert stop(moult) == 0


def test_a_worker_is_still_known_among_the_orphans(start):
    moult = start("-w", "2", "hello:app", wrapper=NAMESPACE)
    before = moult.wait_serving(2)
    assert moult.fetch("/orphans?count=50", timeout=60).status == 200
    moult.answers("/exit?code=9")
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and moult.worker_pids() != before, "a replacement serves")
    assert stop(moult) == 0


def test_an_exec_program_can_be_replaced_there(start):
    moult = start("-w", "2", "--ready-delay", "100ms", "--", "node", "node_server.js", wrapper=NAMESPACE)
    before = moult.wait_serving(2)
    master = first_process(moult)
    mark = moult.environment["E2E_MARK"]
    children = [pid for pid in alive(mark) if parent_of(pid) == master]
    os.kill(children[0], signal.SIGKILL)
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and moult.worker_pids() != before, "a replacement serves")
    assert not any(stat_fields(pid)[:1] == ["Z"] for pid in children)
    assert stop(moult) == 0
