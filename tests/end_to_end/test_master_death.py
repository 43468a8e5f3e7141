"""kill -9 of the master: nothing of moult is left after a second, and the next start finds the place free."""
import os
import signal

import pytest

from harness import wait_until
from load import Load
from processes import alive, exists

# A killed process tidies nothing up: these may lie there until the next start.
SOCKETS = {"run/moult.control", "run/app.sock"}


def tree(moult) -> list:
    return [pid for pid in alive(moult.environment["E2E_MARK"]) if pid != moult.pid]


@pytest.mark.parametrize("worker_class", ["uvicorn", "gthread"])
def test_workers_and_fork_server_are_gone_a_second_after_kill_9_under_load(start, leaves, worker_class: str):
    leaves |= SOCKETS
    app = "hello:app" if worker_class == "uvicorn" else "flasky:app"
    moult = start("-w", "3", "-k", worker_class, app)
    moult.wait_serving(3)
    with Load(moult.address):
        others = tree(moult)
        assert len(others) >= 4
        moult.signal(signal.SIGKILL)
        wait_until(lambda: not any(exists(pid) for pid in others), "the whole tree is gone", 1)
    moult.process.wait()


def test_exec_workers_are_gone_too(start, leaves):
    leaves |= SOCKETS
    moult = start("-w", "2", "--ready-delay", "0", "--", "node", "node_server.js")
    moult.wait_serving(2)
    others = tree(moult)
    moult.signal(signal.SIGKILL)
    wait_until(lambda: not any(exists(pid) for pid in others), "the whole tree is gone", 1)
    moult.process.wait()


def test_a_worker_that_still_boots_is_gone_too(start, leaves):
    leaves |= SOCKETS
    moult = start("-w", "2", "hello:app", env={"STARTUP_SECONDS": "60"})
    moult.wait_for(lambda: len(moult.workers("booting")) == 2, "two workers boot")
    others = tree(moult)
    moult.signal(signal.SIGKILL)
    wait_until(lambda: not any(exists(pid) for pid in others), "the whole tree is gone", 1)
    moult.process.wait()


def test_of_an_app_with_a_process_pool_the_workers_are_gone_and_the_pool_is_its_own(start, leaves, write_app):
    """What is guaranteed: workers and fork server die. Processes that the app itself started are not moult's to find
    once the master is dead; they see the end of their worker as they would under any other parent."""
    leaves |= SOCKETS
    folder = write_app("import os, subprocess, sys\n"
                       "async def app(scope, receive, send):\n"
                       "    if scope['type'] != 'http': return\n"
                       "    child = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'],\n"
                       "                             stdin=subprocess.PIPE)\n"
                       "    body = str(child.pid).encode()\n"
                       "    await send({'type': 'http.response.start', 'status': 200, 'headers': []})\n"
                       "    await send({'type': 'http.response.body', 'body': body})\n")
    moult = start("app:app", chdir=folder)
    workers = moult.wait_serving(1)
    pool = int(moult.fetch().text)
    moult.signal(signal.SIGKILL)
    wait_until(lambda: not exists(workers[0]), "the worker is gone", 1)
    moult.process.wait()
    wait_until(lambda: not exists(pool), "a pool that reads from its parent ends with it", 5)


def test_the_next_start_takes_the_port_at_once(start, leaves):
    leaves |= SOCKETS
    first = start("-w", "2", "hello:app")
    first.wait_serving(2)
    first.signal(signal.SIGKILL)
    first.process.wait()
    second = start("-w", "2", "hello:app", bind=f"127.0.0.1:{first.address}")
    second.address = first.address
    second.wait_serving(2)
    assert second.fetch().status == 200


def test_the_next_start_takes_the_unix_path_and_the_control_socket(start, scratch, leaves):
    path = scratch / "run" / "app.sock"
    first = start("hello:app", bind=f"unix:{path}")
    first.wait_serving(1)
    first.signal(signal.SIGKILL)
    first.process.wait()
    assert path.exists()
    second = start("hello:app", bind=f"unix:{path}")
    second.wait_serving(1)
    assert second.fetch().status == 200
    assert second.stop() == 0
    assert not path.exists()
    assert not os.path.exists(second.control)
