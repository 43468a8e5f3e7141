"""Spares: started, parked and silent until they are given a slot; then they serve. With every kind of server."""
import os
import select
import signal
import subprocess
import time

import pytest
from http_client import Connection
from master import PYTHON, Master, say, until

KINDS = ["uvicorn", "sync", "gthread", "uvicorn.workers.UvicornWorker", "asgi"]


def app_of(kind):
    return "spare_asgi:app" if "vicorn" in kind or kind == "asgi" else "plain_wsgi:app"


@pytest.fixture(params=KINDS)
def master(request, tmp_path):
    kind = request.param
    module = {"asgi": "gunicorn.workers.gasgi", "uvicorn.workers.UvicornWorker": "uvicorn.workers"}.get(kind, "os")
    if subprocess.run([PYTHON, "-c", "import " + module], capture_output=True).returncode:
        pytest.skip("its version has no %s" % module)
    notes = tmp_path / "notes"
    notes.touch()
    with Master(app_of(kind), worker_class=kind, spares=True, environment={"SPARE_NOTES": str(notes)}) as made:
        made.kind, made.notes = kind, notes
        made.loaded()
        yield made


def notes(master):
    return master.notes.read_text().split("\n")[:-1]


def switches(pid):
    with open("/proc/%d/status" % pid) as file:
        return sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)


def settled(pid):
    """Its context switches, once it has come to rest."""
    seen = [switches(pid), -1]

    def rests():
        time.sleep(0.2)
        seen.append(switches(pid))
        return seen[-1] == seen[-2]
    until(rests, "the spare comes to rest")
    return seen[-1]


def test_a_spare_has_started_and_does_nothing(master):
    spare = master.spare()
    if app_of(master.kind).startswith("spare"):
        assert notes(master) == ["startup %d" % spare.pid]
    before = settled(spare.pid)
    time.sleep(1)
    assert switches(spare.pid) == before
    assert spare.read("HEARTBEAT_NS") == 0


def test_it_touches_no_listener_until_it_is_told_to_go(master):
    spare = master.spare()
    with Connection(master.port) as client:
        client.send("/")
        assert not select.select([client.socket], [], [], 0.3)[0]
        spare.go(3).ready()
        assert client.answer().status == 200


def test_with_its_slot_it_is_a_worker_like_others(master):
    spare = master.spare().go(1).ready()
    with Connection(master.port) as client:
        assert client.get("/").status == 200
    assert spare.shows(REQUESTS_STARTED=1, REQUESTS_FINISHED=1)
    assert spare.read("HEARTBEAT_NS") > 0
    spare.retire()
    assert spare.gone() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_waits(master, number):
    spare = master.spare()
    os.kill(spare.pid, number)
    assert spare.gone() == 0
    if master.kind == "uvicorn":
        assert notes(master) == ["startup %d" % spare.pid, "shutdown %d" % spare.pid]


def test_the_end_of_its_channel_ends_it(master):
    spare = master.spare()
    spare.channel.close()
    assert spare.gone() == 0


def test_log_files_are_opened_anew_while_it_waits(master):
    spare = master.spare()
    os.kill(spare.pid, signal.SIGUSR1)
    assert spare.go(0).ready()


def test_pages_that_requests_write_to_are_a_spares_own_before_its_first(master):
    first = master.worker()  # when no spare has been there yet
    waiting = master.spare()
    before = own_pages(waiting.pid)
    for _ in range(5):
        with Connection(master.port) as client:
            assert client.get("/").status == 200
    assert first.shows(REQUESTS_FINISHED=5)
    until(lambda: own_pages(waiting.pid) > before + 50, "the waiting spare has got pages of its own")
    got = own_pages(waiting.pid)
    late = master.spare()
    assert own_pages(late.pid) > before + 50
    assert got < 32 * 256, "no more than requests write to"


def own_pages(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_Dirty")) // 4


def test_without_preload_a_spare_has_loaded_the_app_before_it_waits():
    with Master("asgi_app:app", preload="off") as master:
        master.loaded()
        spare = master.spare()
        spare.go(0).ready()
        with Connection(master.port) as client:
            assert client.get("/").status == 200


def test_a_spare_whose_start_up_fails_says_why(tmp_path):
    (tmp_path / "faulty.py").write_text("async def app(scope, receive, send):\n    raise ValueError('no table')\n")
    with Master("faulty:app", directory=str(tmp_path), server_options={"lifespan": "on"}) as master:
        master.loaded()
        spare = master.fork(None).hello()
        assert "no table" in spare.next_message()["ERROR"]
        assert spare.gone() == 3


def test_hooks_see_no_number_of_a_spare_and_then_its_slots(tmp_path):
    (tmp_path / "conf.py").write_text(
        "import os\n"
        "def say(*words): os.write(2, (' '.join(map(str, words)) + chr(10)).encode())\n"
        "def pre_fork(server, worker): say('pre_fork', worker.age)\n"
        "def pre_request(worker, request): say('pre_request', worker.age)\n"
        "def child_exit(server, worker): say('child_exit', worker.age)\n")
    with Master("plain_wsgi:app", worker_class="sync", server_options={"config": str(tmp_path / "conf.py")}) as master:
        master.loaded()
        spare = master.spare().go(4).ready()
        with Connection(master.port) as client:
            assert client.get("/").status == 200
        assert "pre_fork 0\n" in master.log() and "pre_request 5\n" in master.log()
        say(master.channel, ("EXITED", spare.pid), ("SLOT", 4))
        until(lambda: "child_exit 5\n" in master.log(), "the hook child_exit")
