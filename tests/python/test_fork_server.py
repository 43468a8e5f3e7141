"""Loading, forking, failing: what a fork server does whatever the app speaks."""
import os
import signal
import subprocess
import sys
import time

import pytest
from http_client import Connection
from master import APPS, Master, receive, say, until
from moult import contract
from moult.descendants import Descendants


def write(folder, text, name="faulty.py"):
    (folder / name).write_text(text)
    return str(folder)


def test_says_loaded_with_its_server_and_hello_comes_first_from_a_child_of_ours():
    with Master("asgi_app:app") as master:
        assert master.loaded()["SERVER"].startswith("uvicorn ")
        worker = master.fork().hello()
        assert worker.pid not in (os.getpid(), master.process.pid)
        with open("/proc/%d/stat" % worker.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        assert int(fields[1]) == os.getpid()
        worker.ready()
        assert os.getpgid(worker.pid) == worker.pid
        with open("/proc/%d/oom_score_adj" % worker.pid) as theirs, open("/proc/self/oom_score_adj") as ours:
            assert int(theirs.read()) > int(ours.read())


def test_an_error_at_import_is_told_with_the_apps_traceback_alone(tmp_path):
    folder = write(tmp_path, "def helper():\n    raise ValueError('broken on purpose')\n\nhelper()\n")
    with Master("faulty:app", directory=folder) as master:
        error = master.load_error()
    assert error.startswith("Traceback") and error.endswith("ValueError: broken on purpose")
    assert "faulty.py\", line 2, in helper" in error
    assert "importlib" not in error and "fork_server" not in error and "app_loader" not in error


@pytest.mark.parametrize("text, words", [
    ("import sys\nsys.exit('no licence')\n", "SystemExit: no licence"),
    ("def app(:\n", "SyntaxError"),
    ("import a_module_that_nobody_has\n", "No module named 'a_module_that_nobody_has'"),
    ("async def application(scope, receive, send): pass\n", "faulty has no attribute 'app': did you mean"),
    ("app = 5\n", "faulty:app is a int, which cannot be called"),
])
def test_other_ways_not_to_load(tmp_path, text, words):
    with Master("faulty:app", directory=write(tmp_path, text)) as master:
        assert words in master.load_error()


def test_a_server_that_is_not_installed_is_named_with_the_command_that_installs_it(tmp_path):
    folder = write(tmp_path, "async def app(scope, receive, send): pass\n")
    write(tmp_path, "raise ModuleNotFoundError(\"No module named 'uvicorn'\", name='uvicorn')\n", "uvicorn.py")
    with Master("faulty:app", directory=folder) as master:
        assert "-m pip install uvicorn" in master.load_error()


@pytest.mark.parametrize("option, words", [
    ("tiemout_notify", "has no such option"), ("htpt", "did you mean 'http'?"), ("port", "moult does this itself: -b"),
])
def test_a_server_option_that_does_not_exist_or_is_moults_fails_the_load(option, words):
    with Master("asgi_app:app", server_options={option: "1"}) as master:
        assert words in master.load_error()


def test_live_threads_and_connections_are_named_or_refused(tmp_path):
    folder = write(tmp_path, """
import socket, threading
threading.Thread(target=threading.Event().wait, name="poller", daemon=True).start()
door = socket.create_server(("127.0.0.1", 0))
connection = socket.create_connection(door.getsockname())
async def app(scope, receive, send): pass
""")
    with Master("faulty:app", directory=folder) as master:
        warning = master.loaded()["WARNING"]
        assert "the thread 'poller'" in warning and "a connection to 127.0.0.1:" in warning
    with Master("faulty:app", directory=folder, preload="strict") as master:
        assert "--preload strict: the app, once loaded, has the thread 'poller'" in master.load_error()


def test_threads_for_an_asgi_app_are_said_to_have_no_effect():
    words = "--threads has no effect: uvicorn, which serves this ASGI app, has one loop a worker"
    with Master("asgi_app:app", threads=4) as master:
        assert contract.unescape(master.loaded()["WARNING"]).startswith(words)
    for nothing_new in ({"threads": 1}, {"threads": None}, {"threads": 4, "worker_class": "uvicorn"}):
        with Master("asgi_app:app", **nothing_new) as master:
            assert "WARNING" not in master.loaded()


def test_what_has_no_effect_is_said_by_the_first_worker_where_no_app_is_preloaded():
    with Master("asgi_app:app", threads=4, preload="off") as master:
        master.loaded()
        for slot in (1, 0):
            master.worker(slot)
        assert master.log().count("moult: warning: --threads has no effect: uvicorn") == 1


def test_a_warning_of_ours_and_one_of_the_app_are_both_told(tmp_path):
    folder = write(tmp_path, """
import threading
threading.Thread(target=threading.Event().wait, name="poller", daemon=True).start()
async def app(scope, receive, send): pass
""")
    with Master("faulty:app", directory=folder, threads=2) as master:
        first, second = contract.unescape(master.loaded()["WARNING"]).split("\n")
    assert "--threads" in first and "the thread 'poller'" in second


def test_end_of_the_channel_ends_the_fork_server_at_once_whatever_the_app_registered(tmp_path):
    folder = write(tmp_path, "import atexit, time\natexit.register(time.sleep, 60)\nfrom asgi_app import app\n")
    with Master("faulty:app", directory=folder, environment={"PYTHONPATH": APPS}) as master:
        master.loaded()
        worker = master.worker()
        master.channel.close()
        assert master.process.wait(5) == 0
        with Connection(master.port) as client:  # workers live on
            assert client.get("/").status == 200
        worker.channel.close()
        assert worker.gone(5) == 0


def test_a_worker_sees_the_death_of_the_fork_server_no_more_than_the_fork_server_that_of_a_worker():
    with Master("asgi_app:app") as master:
        master.loaded()
        worker = master.worker()
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.gone() == -signal.SIGKILL
        assert worker.next_message() is None  # nobody else holds its end of the channel
        say(master.channel, ("EXITED", worker.pid), ("SLOT", 0))
        assert master.worker().pid != worker.pid
        master.process.kill()
        master.process.wait()
        assert master.said() is None


def test_a_fork_request_without_its_descriptors_is_answered():
    with Master("asgi_app:app") as master:
        master.loaded()
        say(master.channel, ("FORK", 7), ("SLOT", 0))
        assert master.said() == {"FORK_FAILED": "7", "STAGE": "recvmsg", "ERRNO": "24"}
        master.channel.send(b"this is no message")
        assert master.worker().pid


def test_a_fork_that_the_system_refuses_is_answered_with_stage_and_errno(tmp_path):
    folder = write(tmp_path, """
import os
from asgi_app import app
def refuse(): raise OSError(11, "as if there were too many processes")
os.fork = refuse
""")
    with Master("faulty:app", directory=folder, environment={"PYTHONPATH": APPS}) as master:
        master.loaded()
        worker = master.fork(3)
        refused = {"FORK_FAILED": str(worker.id), "STAGE": "fork", "ERRNO": "11"}
        assert receive(master.channel) == (refused, master.process.pid), "the master hears the fork server alone"


def test_the_fork_server_says_whom_it_forked():
    with Master("asgi_app:app") as master:
        master.loaded()
        for slot in (0, 1):
            worker = master.fork(slot).hello()
            forked = {"FORKED": str(worker.id), "PID": str(worker.pid)}
            assert receive(master.channel) == (forked, master.process.pid)


def test_a_worker_whose_first_steps_fail_says_so_with_its_hello():
    with Master("asgi_app:app", master_pid=1) as master:
        master.loaded()
        message, worker = receive(master.fork().channel)
        assert message["HELLO"] == "1" and "the worker could not start: " in message["ERROR"]
        assert receive(master.channel)[0] == {"FORKED": "1", "PID": str(worker)}
        os.waitpid(worker, 0)


def test_output_goes_where_the_master_says():
    with Master("asgi_app:app") as master:
        master.loaded()
        reader, writer = os.pipe()
        master.fork(output=writer).hello().ready()
        os.close(writer)
        assert b"Application startup complete" in os.read(reader, 65536)
        os.close(reader)


@pytest.mark.parametrize("app, worker_class", [("asgi_app:app", "uvicorn"), ("wsgi_app:app", "gthread")])
def test_a_worker_forked_after_the_access_log_was_moved_writes_to_the_new_file(tmp_path, app, worker_class):
    path = str(tmp_path / "access.log")
    with Master(app, worker_class=worker_class, access_logfile=path) as master:
        master.loaded()
        os.rename(path, path + ".1")
        master.worker()
        with Connection(master.port) as client:
            client.get("/after")
        until(lambda: os.path.exists(path) and "/after" in open(path).read(), "the line")


def test_descendants_keep_a_worker_that_does_not_lead_its_group_yet():
    known = Descendants()
    with subprocess.Popen(["sleep", "60"]) as first, subprocess.Popen(["sleep", "60"]) as second:
        known.add(first.pid)  # in our group still
        known.add(second.pid)
        assert known._groups == {first.pid, second.pid}
        for process in (first, second):
            process.kill()


def test_without_preload_the_app_is_loaded_in_each_worker(tmp_path):
    folder = write(tmp_path, "import os\nprint('imported in', os.getpid(), flush=True)\nfrom asgi_app import app\n")
    with Master("faulty:app", directory=folder, environment={"PYTHONPATH": APPS}, preload="off") as master:
        assert master.said() == {"LOADED": "1"}
        one, two = master.worker(0), master.worker(1)
        assert "imported in %d" % one.pid in master.log() and "imported in %d" % two.pid in master.log()
        with Connection(master.port) as client:
            assert client.get("/").status == 200


def test_without_preload_an_error_at_import_is_a_failed_boot_with_its_traceback(tmp_path):
    folder = write(tmp_path, "raise KeyError('broken')\n")
    with Master("faulty:app", directory=folder, preload="off", worker_class="uvicorn") as master:
        assert master.loaded()["SERVER"].startswith("uvicorn")
        worker = master.fork().hello()
        error = contract.unescape(worker.next_message()["ERROR"])
        assert error.startswith("Traceback") and error.endswith("KeyError: 'broken'") and "app_loader" not in error
        assert worker.gone() != 0


def test_post_fork_runs_in_each_worker_and_its_error_is_a_failed_boot(tmp_path):
    with Master("asgi_app:app", post_fork="asgi_app:after_fork") as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client:
            assert "post_fork in %d" % worker.pid in client.get("/scope").text()
    folder = write(tmp_path, "from asgi_app import app\ndef hook(): raise RuntimeError('the hook failed')\n")
    with Master("faulty:app", directory=folder, environment={"PYTHONPATH": APPS}, post_fork="faulty:hook") as master:
        master.loaded()
        assert "the hook failed" in master.fork().hello().next_message()["ERROR"]
    with Master("asgi_app:app", post_fork="asgi_app:after_frok") as master:
        assert "did you mean 'after_fork'?" in master.load_error()


def test_modules_of_the_user_are_not_shadowed_by_ours(tmp_path):
    folder = write(tmp_path, """
import json, moult, settings, channel, contract, sys
assert (moult.mine, settings.mine, channel.mine, contract.mine) == (1, 1, 1, 1)
assert sys.path[0] == __file__.rsplit("/", 1)[0], sys.path
from asgi_app import app
""")
    for name in ("moult", "settings", "channel", "contract"):
        write(tmp_path, "mine = 1\n", name + ".py")
    with Master("faulty:app", directory=folder, environment={"PYTHONPATH": APPS}) as master:
        master.loaded()
        assert master.worker().pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_boot_at_once_also_in_a_slow_start_up_hook(number):
    with Master("asgi_app:app", environment={"STARTUP_SECONDS": "30"}) as master:
        master.loaded()
        worker = master.fork().hello()
        until(lambda: "Waiting for application startup" in master.log(), "the start-up hook")
        os.kill(worker.pid, number)
        assert worker.gone(3) == 0
        assert worker.next_message() is None


def test_a_signal_ends_a_boot_that_blocks_in_python(tmp_path):
    folder = write(tmp_path, "import time\nfrom asgi_app import app\ndef hook():\n  print('in', flush=True)\n"
                             "  time.sleep(30)\n")
    with Master("faulty:app", directory=folder, environment={"PYTHONPATH": APPS}, post_fork="faulty:hook") as master:
        master.loaded()
        worker = master.fork().hello()
        until(lambda: "in\n" in master.log(), "the hook")
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.gone(3) == 0


def test_when_the_master_is_killed_nothing_is_left(tmp_path):
    program = """
import sys, time
sys.path.insert(0, %r)
from master import Master
master = Master("asgi_app:app")
master.loaded()
print(master.process.pid, master.worker(0).pid, master.worker(1).pid, flush=True)
time.sleep(60)
""" % os.path.dirname(os.path.abspath(__file__))
    other = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in other.stdout.readline().split()]
    assert len(pids) == 3
    other.kill()
    other.wait()
    other.stdout.close()
    began = time.monotonic()
    until(lambda: all(is_gone(pid) for pid in pids), "the end of fork server and workers", 5)
    assert time.monotonic() - began < 1


def is_gone(pid):
    """Reaped, or a zombie that waits for us: orphans of that master fall to us, the next subreaper."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return not os.path.exists("/proc/%d" % pid)
