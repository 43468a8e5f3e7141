"""kill -9 of the master: nothing of moult, and nothing that its workers started, is left after a second, and the next
start finds the place free."""
import os
import signal

import pytest

from harness import wait_until
from load import Load
from processes import alive, exists, kill

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


POOL = """
import asyncio, json, multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor

def work(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass

async def app(scope, receive, send):
    global pool
    if scope["type"] == "lifespan":
        await receive()
        pool = ProcessPoolExecutor(3, mp_context=multiprocessing.get_context({method!r}))
        in_pool = lambda seconds: asyncio.get_running_loop().run_in_executor(pool, work, seconds)
        await asyncio.gather(*[in_pool(0.2) for _ in range(3)])
        for _ in range(2):
            in_pool(100)  # two compute, one waits for work
        await send({{"type": "lifespan.startup.complete"}})
        return
    body = json.dumps(list(pool._processes)).encode()
    await send({{"type": "http.response.start", "status": 200, "headers": []}})
    await send({{"type": "http.response.body", "body": body}})
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_busy_process_pool_of_the_apps_is_gone_too(start, scratch, leaves, write_app, method: str):
    """It would not notice: its processes hold the writing ends of the very pipes that they read from."""
    leaves |= SOCKETS
    moult = start("-w", "2", "app:app", chdir=write_app(POOL.format(method=method)))
    workers = moult.wait_serving(2)
    pool = moult.fetch().json()
    assert len(pool) == 3 and all(exists(pid) and pid not in workers for pid in pool)
    others = tree(moult)
    assert {*workers, *pool} < set(others)
    leaves |= {str(path.relative_to(scratch)) for path in (scratch / "tmp").rglob("*")}  # forkserver's socket
    moult.signal(signal.SIGKILL)
    wait_until(lambda: not any(exists(pid) for pid in others), "the whole tree is gone", 1)
    moult.process.wait()


def test_a_process_that_reads_from_its_worker_is_gone_too(start, leaves, write_app):
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


FORKS = """
import os, time

def fork_one_that_leaves():
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(100)
        os._exit(0)
    return str(pid).encode()

async def asgi(scope, receive, send):
    if scope["type"] == "http":
        body = fork_one_that_leaves()
        await send({"type": "http.response.start", "status": 200,
                    "headers": [(b"content-length", str(len(body)).encode())]})
        await send({"type": "http.response.body", "body": body})

def wsgi(environ, start_response):
    body = fork_one_that_leaves()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""


@pytest.mark.parametrize("worker_class, app", [("uvicorn", "asgi"), ("gthread", "wsgi"), ("sync", "wsgi")])
def test_one_that_left_its_workers_group_lives_on_but_does_not_keep_the_port(start, leaves, write_app,
                                                                            worker_class: str, app: str):
    leaves |= SOCKETS
    folder = write_app(FORKS)
    first = start("-k", worker_class, f"app:{app}", chdir=folder)
    first.wait_serving(1)
    child = int(first.fetch().text)
    wait_until(lambda: os.getsid(child) == child, "it has left")
    first.signal(signal.SIGKILL)
    first.process.wait()
    second = start("hello:app", bind=f"127.0.0.1:{first.address}")
    second.address = first.address
    second.wait_serving(1)
    assert second.fetch().json()["path"] == "/"
    assert exists(child)
    kill([child])


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
