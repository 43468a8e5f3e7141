"""What workers find around them: variables, folder, user, hooks."""
import os
import signal

import pytest

from harness import APPS


def test_env_and_env_file_reach_the_app_and_env_goes_before(start, scratch):
    file = scratch / "variables"
    file.write_text("# comment\nCOLOUR=blue\nSHAPE='round one'\n")
    moult = start("--env-file", file, "--env", "COLOUR=red", "hello:app")
    moult.wait_serving(1)
    assert moult.fetch("/env?name=COLOUR").json() == "red"
    assert moult.fetch("/env?name=SHAPE").json() == "round one"


def test_what_moult_was_started_with_reaches_the_app(start):
    moult = start("hello:app", env={"FLAVOUR": "plum"})
    moult.wait_serving(1)
    assert moult.fetch("/env?name=FLAVOUR").json() == "plum"


def test_chdir_is_where_the_app_runs(start, scratch, write_app):
    folder = write_app("from hello import app\n")
    moult = start("app:app", chdir=folder, env={"PYTHONPATH": str(APPS)})
    moult.wait_serving(1)
    assert moult.fetch("/who").json()["cwd"] == str(folder)


POST_FORK = """
import os
from hello import app
def note():
    with open(os.environ['NOTES'], 'a') as file:
        file.write(f'{os.getpid()}\\n')
"""


def test_post_fork_runs_in_each_worker_and_in_its_replacement(start, scratch, write_app):
    notes = scratch / "notes"
    moult = start("-w", "2", "--post-fork", "app:note", "app:app", chdir=write_app(POST_FORK),
                  env={"NOTES": str(notes), "PYTHONPATH": str(APPS)})
    workers = moult.wait_serving(2)
    assert sorted(map(int, notes.read_text().split())) == workers
    os.kill(workers[0], signal.SIGKILL)
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and workers[0] not in moult.worker_pids(), "a replacement")
    assert set(moult.worker_pids()) < set(map(int, notes.read_text().split()))


HOOKS = """
import os
def _note(what):
    with open(os.environ['NOTES'], 'a') as file:
        file.write(what + '\\n')
def post_fork(server, worker): _note(f'post_fork {worker.pid}')
def when_ready(server): _note('when_ready')
def worker_exit(server, worker): _note(f'worker_exit {worker.pid}')
def child_exit(server, worker): _note(f'child_exit {worker.pid}')
"""


def test_gunicorns_hooks_are_called(start, scratch):
    notes, config = scratch / "notes", scratch / "gunicorn.conf.py"
    config.write_text(HOOKS)
    moult = start("-w", "2", "-k", "gthread", "flasky:app",
                  env={"NOTES": str(notes), "GUNICORN_CMD_ARGS": f"--config={config}"})
    workers = moult.wait_serving(2)
    lines = notes.read_text().split("\n")
    assert lines.count("when_ready") == 1
    for pid in workers:
        assert f"post_fork {pid}" in lines
    os.kill(workers[0], signal.SIGTERM)
    moult.wait_for(lambda: f"child_exit {workers[0]}" in notes.read_text(), "child_exit is called")
    assert f"worker_exit {workers[0]}" in notes.read_text()
    assert moult.stop() == 0
    assert f"worker_exit {workers[1]}" in notes.read_text()


needs_root = pytest.mark.skipif(os.getuid() != 0, reason="to become another user needs root")


@needs_root
def test_workers_run_as_the_user_and_the_master_keeps_its_own(start):
    moult = start("--user", "nobody", "--group", "nogroup", "hello:app")
    moult.wait_serving(1)
    who = moult.fetch("/who").json()
    assert (who["uid"], who["gid"]) == (65534, 65534)
    assert 0 not in who["groups"]
    assert os.stat(f"/proc/{moult.pid}").st_uid == 0


@needs_root
def test_a_worker_of_another_user_is_gone_a_second_after_kill_9_too(start, leaves):
    leaves.add("run/moult.control")
    moult = start("--user", "nobody", "-k", "gthread", "flasky:app")
    moult.wait_serving(1)
    moult.signal(signal.SIGKILL)
    moult.process.wait()


@needs_root
def test_a_user_that_does_not_exist_is_named(start):
    moult = start("--user", "nobody-of-that-name", "hello:app")
    assert moult.wait_exit() in (1, 2)
    assert "nobody-of-that-name" in moult.log()
