"""gunicorn's worker classes without its arbiter, with the gunicorn of this interpreter."""
import json
import os
import signal
import subprocess
import time

import gunicorn.workers
import pytest
from handover_fixtures import alone as worker  # noqa: F401
from http_client import Connection
from master import APPS, Master, say, until
from moult import contract
from parking import Parking

UVICORN_WORKER = "uvicorn.workers.UvicornWorker"
CLASSES = ["sync", "gthread", UVICORN_WORKER] + (["asgi"] if "asgi" in gunicorn.workers.SUPPORTED_WORKERS else [])
KEEPS_ALIVE = [name for name in CLASSES if name != "sync"]
WSGI = ("sync", "gthread")


def app_for(worker_class):
    return "wsgi_app:app" if worker_class in WSGI else "asgi_app:app"


def small_app_for(worker_class):
    """Where it is not the app that is looked at: Flask takes half a second to import."""
    return "plain_wsgi:app" if worker_class in WSGI else "asgi_app:app"


@pytest.fixture(scope="module", params=CLASSES)
def server(request):
    threads = None if request.param == "sync" else 4  # with several it is gthread
    with Master(app_for(request.param), worker_class=request.param, unix=True, threads=threads) as master:
        master.loaded()
        master.worker_class = request.param
        yield master


def get(where, path, **more):
    with Connection(where) as client:
        return client.get(path, **more)


def test_serves_on_every_listener(server, worker):
    for where in (server.port, server.unix_path, server.internal_path):
        assert get(where, "/").text() == "hello from %d" % worker.pid


def test_the_scoreboard_counts_exactly(server, worker):
    for _ in range(10):
        get(server.port, "/")
    for status in (200, 404, 500, 503):
        get(server.port, "/status?%d" % status)
    for _ in range(3):
        get(server.internal_path, "/")
    assert get(server.port, "/raise").status == 500
    assert worker.shows(REQUESTS_STARTED=15, REQUESTS_FINISHED=15, CALLS_STARTED=3, CALLS_FINISHED=3,
                        RESPONSES_5XX=3, OLDEST_PLAIN_REQUEST_NS=0)
    assert worker.read("LAST_VISITOR_ACTIVITY_NS") and worker.read("HEARTBEAT_NS")


def test_the_oldest_plain_request_and_a_stream(server, worker):
    with Connection(server.port) as client:
        before = time.monotonic_ns()
        client.send("/sleep?0.3")
        worker.shows(REQUESTS_STARTED=1)
        assert before < worker.read("OLDEST_PLAIN_REQUEST_NS") < time.monotonic_ns()
        client.answer()
    assert worker.shows(OLDEST_PLAIN_REQUEST_NS=0)
    with Connection(server.port) as client:
        client.send("/stream?2").read_until(b"first")
        assert worker.shows(OLDEST_PLAIN_REQUEST_NS=0, REQUESTS_STARTED=2, REQUESTS_FINISHED=1)
        client.read_until(b"last")
    assert worker.shows(REQUESTS_FINISHED=2)


@pytest.mark.parametrize("worker_class", CLASSES)
def test_without_a_request_timeout_nobody_is_asked_how_old_a_request_is(worker_class):
    with Master(small_app_for(worker_class), worker_class=worker_class, request_timeout_seconds=0) as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client:
            client.send("/sleep?0.3")
            assert worker.shows(REQUESTS_STARTED=1, OLDEST_PLAIN_REQUEST_NS=0)
            assert worker.read("LAST_VISITOR_ACTIVITY_NS") > 0
            client.answer()
        assert worker.shows(REQUESTS_FINISHED=1, OLDEST_PLAIN_REQUEST_NS=0)


def test_only_the_internal_door_marks_a_call(server, worker):
    sent = [("X-Moult-Schedule-Name", "nightly"), ("X-Moult-Schedule-At", "noon")]
    path = "/environ" if server.worker_class in WSGI else "/scope"
    seen = json.loads(get(server.port, path, headers=sent).text())
    assert seen["call"] is None and not [name for name in seen["headers"] if "moult" in str(name).lower()]
    seen = json.loads(get(server.internal_path, path, headers=sent).text())
    assert seen["call"] == {"name": "nightly", "at": "noon"}


def test_retire_answers_a_request_of_one_second_and_says_close_where_its_connection_ends(server, worker):
    with Connection(server.port) as client, Parking() as parking:
        client.send("/sleep?1")
        worker.shows(REQUESTS_STARTED=1)
        parking.retire(parking.add(worker))
        answer = client.answer()
        assert answer.status == 200 and (answer.headers.get("connection") == "close") == (worker.drain == "close")
        assert worker.gone(5) == 0 and worker.shows(REQUESTS_FINISHED=1)
        assert parking.said["STOPPING"] == 1


def test_what_can_move_says_so(server, worker):
    assert worker.drain == ("handover" if server.worker_class in ("gthread", UVICORN_WORKER) else "close")


def test_an_idle_connection_does_not_hold_a_retiring_worker(server, worker):
    if worker.drain == "handover":
        return  # test_handover
    with Connection(server.port) as client:
        client.get("/")
        began = time.monotonic()
        os.kill(worker.pid, signal.SIGTERM)
        assert client.is_closed()
        assert worker.gone(5) == 0
        assert time.monotonic() - began < 3.5  # newer gthread waits two seconds for a request on the way
    other = server.worker()
    assert get(server.unix_path, "/").status == 200
    other.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_int_and_quit_are_quick(server, worker, number):
    with Connection(server.port) as client:
        client.send("/sleep?10")
        worker.shows(REQUESTS_STARTED=1)
        os.kill(worker.pid, number)
        assert worker.gone(4) == 0


def test_end_of_the_channel_ends_the_worker_at_once(server, worker):
    worker.channel.close()
    assert worker.gone(2) == 0


def test_sigabrt_prints_every_stack_and_kills(server, worker):
    with Connection(server.port) as client:
        with server.logs_once_more("held"):
            client.send("/block?30" if server.worker_class not in WSGI else "/sleep?30")
        os.kill(worker.pid, signal.SIGABRT)
        assert worker.gone(2) == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in server.log() and "_app.py\", line" in server.log()


@pytest.mark.parametrize("worker_class", [name for name in CLASSES if name not in WSGI])
def test_a_start_up_that_fails_is_a_failed_boot(worker_class, tmp_path):
    (tmp_path / "faulty.py").write_text(
        "async def app(scope, receive, send):\n  await receive()\n"
        "  await send({'type': 'lifespan.startup.failed', 'message': 'no database'})\n")
    with Master("faulty:app", worker_class=worker_class, directory=str(tmp_path)) as master:
        master.loaded()
        worker = master.fork().hello()
        message = worker.next_message()
        assert message is None or "no database" in contract.unescape(message["ERROR"]) or "SystemExit" in str(message)
        assert worker.gone() != 0 and "no database" in master.log()


@pytest.mark.parametrize("worker_class", CLASSES)
def test_a_signal_ends_a_boot_at_once(worker_class, tmp_path):
    (tmp_path / "gunicorn.conf.py").write_text(
        "import time\ndef post_fork(server, worker):\n  print('in', flush=True)\n  time.sleep(30)\n")
    with Master(small_app_for(worker_class), worker_class=worker_class, directory=str(tmp_path),
                environment={"PYTHONPATH": APPS}) as master:
        master.loaded()
        worker = master.fork().hello()
        until(lambda: "in\n" in master.log(), "the hook")
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.gone(3) == 0


HOOKS = """
import os
def say(word, worker):
    print("hook %s %s in %d" % (word, worker.pid if worker else "-", os.getpid()), flush=True)
def on_starting(server): say("on_starting", None)
def when_ready(server): say("when_ready", None); assert server.LISTENERS and server.cfg and server.log
def pre_fork(server, worker): say("pre_fork", worker)
def post_fork(server, worker): say("post_fork", worker)
def post_worker_init(worker): say("post_worker_init", worker)
def worker_exit(server, worker): say("worker_exit", worker)
def child_exit(server, worker): say("child_exit", worker)
raw_env = ["FROM_CONF=1"]
keepalive = 3
"""


@pytest.mark.parametrize("worker_class", CLASSES)
@pytest.mark.parametrize("how", ["file", "option"])
def test_hooks_of_a_configuration_file_are_called(worker_class, how, tmp_path):
    name = "gunicorn.conf.py" if how == "file" else "other.py"
    (tmp_path / name).write_text(HOOKS)
    options = {"config": str(tmp_path / name)} if how == "option" else {}
    with Master(small_app_for(worker_class), worker_class=worker_class, directory=str(tmp_path), server_options=options,
                environment={"PYTHONPATH": APPS}) as master:
        master.loaded()
        worker = master.worker()
        worker.retire()
        assert worker.gone(5) == 0
        say(master.channel, ("EXITED", worker.pid), ("SLOT", 0))
        until(lambda: "hook child_exit" in master.log(), "the hook child_exit")
        pid, parent = worker.pid, master.process.pid
        lines = [line for line in master.log().splitlines() if line.startswith("hook")]
        assert lines == [
            "hook on_starting - in %d" % parent, "hook when_ready - in %d" % parent,
            "hook pre_fork [booting] in %d" % parent, "hook post_fork %d in %d" % (pid, pid),
            "hook post_worker_init %d in %d" % (pid, pid), "hook worker_exit %d in %d" % (pid, pid),
            "hook child_exit %d in %d" % (pid, parent)]


def test_moults_flags_win_over_options_over_the_environment_over_the_file(tmp_path):
    (tmp_path / "gunicorn.conf.py").write_text("keepalive = 3\nlimit_request_line = 100\nlimit_request_fields = 10\n"
                                               "threads = 3\ndef when_ready(server):\n  print(*[getattr(server.cfg, n)"
                                               " for n in ('keepalive', 'limit_request_line', 'limit_request_fields',"
                                               " 'limit_request_field_size', 'threads')], flush=True)\n")
    with Master("plain_wsgi:app", directory=str(tmp_path), keep_alive_seconds=60,
                server_options={"limit_request_field_size": "400", "limit-request-fields": "30"},
                environment={"PYTHONPATH": APPS,
                             "GUNICORN_CMD_ARGS": "--limit-request-line 200 --limit-request-fields 20"}) as master:
        master.loaded()
        until(lambda: "60 200 30 400 3\n" in master.log(), "the settings: %s" % master.log(), 3)


@pytest.mark.parametrize("options, environment, words", [
    ({"limit_request_lin": "1"}, {}, "did you mean 'limit_request_line'?"),
    ({"limit_request_line": "many"}, {}, "--server-option limit_request_line=many"),
    ({"bind": ":80"}, {}, "moult does this itself: -b"),
    ({"config": "/nowhere.py"}, {}, "doesn't exist"),
    ({}, {"GUNICORN_CMD_ARGS": "--no-such-flag"}, "--no-such-flag"),
    ({"certfile": "x"}, {}, "--certfile"),
])
def test_a_bad_configuration_fails_the_load(options, environment, words):
    with Master("plain_wsgi:app", server_options=options, environment=environment) as master:
        assert words in master.load_error()


@pytest.mark.parametrize("worker_class, words", [
    ("gthreed", "did you mean 'gthread'?"), ("no_such.module.Worker", "cannot be imported"),
])
def test_a_worker_class_that_does_not_exist_fails_the_load(worker_class, words):
    with Master("plain_wsgi:app", worker_class=worker_class) as master:
        assert words in master.load_error()


@pytest.mark.parametrize("worker_class, words", [
    ("collections.OrderedDict", "this is the class collections.OrderedDict, no worker class of gunicorn"),
    ("os.path", "this is a module, no worker class of gunicorn"),
    ("os.path.join", "this is a function, no worker class of gunicorn"),
    ("sys.argv", "this is a list, no worker class of gunicorn"),
])
def test_a_name_that_is_no_worker_class_fails_the_load_in_one_sentence(worker_class, words):
    with Master("plain_wsgi:app", worker_class=worker_class) as master:
        error = master.load_error()
    assert error.startswith("-k %s: %s" % (worker_class, words)) and "\n" not in error
    assert "say auto, sync, gthread, or package.module.Class of one" in error


@pytest.mark.parametrize("worker_class", ["auto"] + CLASSES)
def test_threads_are_said_to_have_no_effect_by_the_classes_that_have_none(worker_class):
    warned = worker_class not in ("auto",) + WSGI
    with Master(small_app_for(worker_class) if warned else "plain_wsgi:app", worker_class=worker_class,
                threads=4) as master:
        warning = contract.unescape(master.loaded().get("WARNING", ""))
    assert ("--threads has no effect" in warning and "has none" in warning) == warned, warning


def test_threads_of_a_class_that_is_not_gunicorns_are_its_own_affair(tmp_path):
    (tmp_path / "own.py").write_text("from gunicorn.workers.sync import SyncWorker\nclass Own(SyncWorker):\n    pass\n")
    with Master("plain_wsgi:app", directory=str(tmp_path), worker_class="own.Own", threads=4,
                environment={"PYTHONPATH": APPS}) as master:
        assert "WARNING" not in master.loaded()


def test_a_broken_configuration_file_fails_the_load_with_its_traceback(tmp_path):
    (tmp_path / "gunicorn.conf.py").write_text("raise ValueError('broken conf')\n")
    with Master("plain_wsgi:app", directory=str(tmp_path), environment={"PYTHONPATH": APPS}) as master:
        assert "ValueError: broken conf" in master.load_error()


@pytest.mark.parametrize("worker_class", CLASSES)
def test_tls_ends_in_the_worker_but_for_the_internal_door(worker_class, certificate):
    path = "/environ" if worker_class in WSGI else "/scope"
    with Master(small_app_for(worker_class), worker_class=worker_class, **certificate) as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port, tls=True) as client:
            assert json.loads(client.get(path).text())["scheme"] == "https"
        assert json.loads(get(master.internal_path, path).text())["scheme"] == "http"
        assert worker.shows(REQUESTS_FINISHED=1, CALLS_FINISHED=1)


def test_a_certificate_that_is_not_there_fails_the_load():
    with Master("plain_wsgi:app", certfile="/nowhere.pem") as master:
        assert "/nowhere.pem" in master.load_error()


def test_the_access_log_is_reopened_at_usr1(tmp_path):
    for worker_class in CLASSES:
        path = str(tmp_path / worker_class)
        with Master(small_app_for(worker_class), worker_class=worker_class, access_logfile=path) as master:
            master.loaded()
            worker = master.worker()
            get(master.port, "/first")
            until(lambda: "/first" in open(path).read(), "the line")
            os.rename(path, path + ".1")
            os.kill(worker.pid, signal.SIGUSR1)
            until(lambda: os.path.exists(path), "the new file")
            get(master.port, "/second")
            until(lambda: "/second" in open(path).read(), "the line")


def test_a_root_path_is_the_script_name():
    with Master("plain_wsgi:app", root_path="/base") as master:
        master.loaded()
        master.worker()
        for path in ("/environ", "/base/environ"):
            assert json.loads(get(master.port, path).text())["script_name"] == "/base"


@pytest.mark.parametrize("worker_class", CLASSES)
def test_an_empty_list_of_proxies_trusts_nobody_and_none_is_the_servers_default(worker_class):
    path = "/environ" if worker_class in WSGI else "/scope"
    for allowed, scheme in (("", "http"), (None, "https")):
        with Master(small_app_for(worker_class), worker_class=worker_class, forwarded_allow_ips=allowed) as master:
            master.loaded()
            master.worker()
            answer = get(master.port, path, headers=[("X-Forwarded-Proto", "https")])
            assert json.loads(answer.text())["scheme"] == scheme


def test_an_empty_root_path_wins_over_that_of_a_configuration_file(tmp_path):
    (tmp_path / "own.py").write_text("from uvicorn.workers import UvicornWorker\nclass Own(UvicornWorker):\n"
                                     "    CONFIG_KWARGS = {'root_path': '/base'}\n")
    for told in ("", None):
        with Master("asgi_app:app", worker_class="own.Own", directory=str(tmp_path), root_path=told,
                    environment={"PYTHONPATH": APPS}) as master:
            master.loaded()
            master.worker()
            answer = get(master.port, "/scope").text()  # later versions put root_path into path, where the app has none
            assert ('"root_path": ""' in answer) == (told == "")


def test_no_file_is_left_by_a_worker():
    with Master("plain_wsgi:app") as master:
        master.loaded()
        worker = master.worker()
        links = subprocess.run(["ls", "-l", "/proc/%d/fd" % worker.pid], capture_output=True, text=True).stdout
        assert "wgunicorn" not in links
