"""The uvicorn adapter over both loops and both HTTP implementations, with the uvicorn of this interpreter."""
import json
import os
import signal
import time

import pytest
from handover_fixtures import alone as worker  # noqa: F401
from http_client import Connection
from master import APPS, Master, receive, until
from moult import contract
from parking import Parking

COMBINATIONS = [(loop, http) for loop in ("asyncio", "uvloop") for http in ("httptools", "h11")]
GOING_AWAY_FOR_A_RESTART = 1012


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def server(request):
    loop, http = request.param
    with Master("asgi_app:app", unix=True, server_options={"loop": loop, "http": http}) as master:
        master.loaded()
        yield master


def test_serves_on_every_listener(server, worker):
    for where in (server.port, server.unix_path, server.internal_path):
        with Connection(where) as client:
            assert client.get("/").text() == "hello from %d" % worker.pid
            assert client.get("/").status == 200  # kept alive


def test_the_scoreboard_counts_exactly(server, worker):
    with Connection(server.port) as one, Connection(server.port) as two, Connection(server.internal_path) as inside:
        for _ in range(20):
            one.get("/")
        for _ in range(7):
            two.send("/body", "POST", body=b"x" * 100000).answer()
        for status in (200, 404, 500, 503):
            one.get("/status?%d" % status)
        for _ in range(3):
            inside.get("/")
        assert worker.shows(REQUESTS_STARTED=31, REQUESTS_FINISHED=31, CALLS_STARTED=3, CALLS_FINISHED=3,
                            RESPONSES_5XX=2, OPEN_CONNECTIONS=3, UPGRADED_CONNECTIONS=0, OLDEST_PLAIN_REQUEST_NS=0)
    assert worker.shows(OPEN_CONNECTIONS=0)


def test_pipelined_requests_count_one_by_one_and_are_answered_in_order(server, worker):
    with Connection(server.port) as client:
        for size in (1, 2, 3):
            client.send("/big?%d" % size)
        assert [len(client.answer().body) for _ in range(3)] == [1, 2, 3]
        assert worker.shows(REQUESTS_STARTED=3, REQUESTS_FINISHED=3, OLDEST_PLAIN_REQUEST_NS=0)


def test_an_app_that_raises_is_a_5xx_and_finished(server, worker):
    with Connection(server.port) as client:
        assert client.get("/raise").status == 500
    assert worker.shows(REQUESTS_STARTED=1, REQUESTS_FINISHED=1, RESPONSES_5XX=1)


def test_the_oldest_plain_request_and_activity(server, worker):
    before = time.monotonic_ns()
    with Connection(server.port) as one, Connection(server.port) as two:
        one.send("/sleep?0.6")
        worker.shows(REQUESTS_STARTED=1)
        oldest = worker.read("OLDEST_PLAIN_REQUEST_NS")
        assert before < oldest <= worker.read("LAST_VISITOR_ACTIVITY_NS") < time.monotonic_ns()
        two.get("/")
        assert worker.read("OLDEST_PLAIN_REQUEST_NS") == oldest
        two.send("/sleep?0.9")
        one.answer()
        until(lambda: worker.read("OLDEST_PLAIN_REQUEST_NS") > oldest, "the second oldest", 5)
        before = time.monotonic_ns()
        two.answer()
        assert worker.shows(OLDEST_PLAIN_REQUEST_NS=0)
        assert worker.read("LAST_VISITOR_ACTIVITY_NS") > before


def test_calls_are_no_activity_and_no_plain_requests(server, worker):
    with Connection(server.internal_path) as inside:
        inside.send("/sleep?0.2")
        worker.shows(CALLS_STARTED=1)
        assert worker.read("OLDEST_PLAIN_REQUEST_NS") == 0 and worker.read("LAST_VISITOR_ACTIVITY_NS") == 0
        inside.answer()
    assert worker.shows(CALLS_FINISHED=1, LAST_VISITOR_ACTIVITY_NS=0)


def test_a_stream_is_exempt_within_a_second_of_its_first_chunk(server, worker):
    with Connection(server.port) as client:
        client.send("/stream?1.5")
        client.read_until(b"first")
        assert worker.shows(OLDEST_PLAIN_REQUEST_NS=0, REQUESTS_STARTED=1, REQUESTS_FINISHED=0)
        client.read_until(b"last")
        assert worker.shows(REQUESTS_FINISHED=1)


def test_finished_waits_until_a_slow_client_has_taken_its_answer(server, worker):
    with Connection(server.port) as client:
        client.send("/big?8000000")
        client.more()
        assert worker.shows(REQUESTS_STARTED=1)
        time.sleep(0.15)
        assert worker.read("REQUESTS_FINISHED") == 0
        assert len(client.answer().body) == 8000000
        assert worker.shows(REQUESTS_FINISHED=1)


def test_a_lost_connection_finishes_its_request(server, worker):
    with Connection(server.port) as client:
        client.send("/sleep?5")
        worker.shows(REQUESTS_STARTED=1)
    assert worker.shows(REQUESTS_FINISHED=1, OPEN_CONNECTIONS=0, OLDEST_PLAIN_REQUEST_NS=0)


def test_a_websocket_is_in_flight_while_it_is_open(server, worker):
    with Connection(server.port) as client:
        client.upgrade("/ws").send_text("hi")
        assert client.frame() == (1, b"hi")
        assert worker.shows(REQUESTS_STARTED=1, REQUESTS_FINISHED=0, UPGRADED_CONNECTIONS=1, OPEN_CONNECTIONS=1,
                            OLDEST_PLAIN_REQUEST_NS=0)
    assert worker.shows(REQUESTS_FINISHED=1, UPGRADED_CONNECTIONS=0, OPEN_CONNECTIONS=0)


def test_only_the_internal_door_marks_a_call(server, worker):
    sent = [("X-Moult-Schedule-Name", "nightly"), ("X-MOULT-Schedule-At", "2026-01-01T00:00:00Z"), ("X-Other", "1"),
            ("X_Moult_Schedule_At", "2026-01-01T00:00:00Z")]
    with Connection(server.port) as client:
        seen = json.loads(client.get("/scope", headers=sent).text())
        assert seen["call"] is None and [name for name, _ in seen["headers"]] == ["host", "x-other"]
        client.upgrade("/ws", headers=sent).send_text("headers")
        assert b"x-moult" not in client.frame()[1]
    with Connection(server.internal_path) as inside:
        seen = json.loads(inside.get("/scope", headers=sent).text())
        assert seen["call"] == {"name": "nightly", "at": "2026-01-01T00:00:00Z"}


def test_what_a_proxy_says_of_its_client_is_heard_among_requests_that_no_proxy_sent(server, worker):
    said, direct, proxied = [("X-Forwarded-For", "192.0.2.7")], "127.0.0.1", "192.0.2.7"
    with Connection(server.port) as client:
        for headers, expected in (([], direct), (said, proxied), ([*said, ("X-Moult-N", "1")], proxied), ([], direct)):
            assert json.loads(client.get("/scope", headers=headers).text())["client"] == expected, headers


def test_the_heart_beats_every_second(server, worker):
    first = worker.read("HEARTBEAT_NS")
    assert time.monotonic_ns() - first < 1e9
    until(lambda: worker.read("HEARTBEAT_NS") > first, "a heartbeat", 2)


def test_a_connection_that_is_idle_for_too_long_is_closed():
    with Master("asgi_app:app", keep_alive_seconds=1) as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client, Connection(master.port) as busy:
            client.get("/")
            busy.send("/sleep?3.5")
            began = time.monotonic()
            assert client.is_closed() and 0.9 < time.monotonic() - began < 3.5
            assert busy.answer().status == 200
            assert worker.read("OPEN_CONNECTIONS") == 1


def test_after_one_has_retired_the_others_serve_on(server, worker):
    other = server.worker(1)
    worker.retire()
    assert worker.gone(5) == 0
    assert os.path.exists(server.unix_path)
    for where in (server.port, server.unix_path, server.internal_path):
        with Connection(where) as client:
            assert client.get("/").text() == "hello from %d" % other.pid
    other.kill()


def test_a_websocket_is_told_of_the_restart(server, worker):
    with Connection(server.port) as client:
        client.upgrade("/ws").send_text("hi")
        client.frame()
        worker.retire()
        assert client.close_code() == GOING_AWAY_FOR_A_RESTART
    assert worker.gone(5) == 0


def test_the_deadline_ends_what_does_not(server, worker):
    with Connection(server.port) as client:
        client.send("/sleep?30")
        worker.shows(REQUESTS_STARTED=1)
        began = time.monotonic()
        worker.retire(1.0)
        assert worker.gone(3) == 75, "its request was cut"
        assert time.monotonic() - began < 1.0


def test_term_is_as_retire_and_int_and_quit_are_quick(server, worker):
    with Connection(server.port) as client, Parking() as parking:
        parking.add(worker)
        client.send("/sleep?0.5")
        worker.shows(REQUESTS_STARTED=1)
        os.kill(worker.pid, signal.SIGTERM)
        assert client.answer().status == 200
        assert worker.gone(5) == 0 and parking.counts["stored"] == 1
    for number in (signal.SIGINT, signal.SIGQUIT):
        quick = server.worker()
        with Connection(server.port) as client:
            client.send("/sleep?30")
            quick.shows(REQUESTS_STARTED=1)
            os.kill(quick.pid, number)
            assert quick.gone(3) == 0


def test_end_of_the_channel_ends_the_worker_at_once(server, worker):
    with Connection(server.port) as client:
        client.send("/sleep?30")
        worker.shows(REQUESTS_STARTED=1)
        worker.channel.close()
        assert worker.gone(2) == 0


@pytest.mark.parametrize("path", ["/stuck", "/block?30"])
def test_sigabrt_prints_every_stack_and_kills(server, worker, path):
    with Connection(server.port) as client:
        with server.logs_once_more("held"):
            client.send(path)
        os.kill(worker.pid, signal.SIGABRT)
        assert worker.gone(2) == -signal.SIGABRT
    log = server.log()
    assert "Fatal Python error: Aborted" in log and "asgi_app.py\", line" in log


def test_a_start_up_that_fails_is_a_failed_boot_with_its_traceback(tmp_path):
    (tmp_path / "faulty.py").write_text("""
import contextlib, fastapi
@contextlib.asynccontextmanager
async def lifespan(app):
    raise LookupError("no database")
    yield
app = fastapi.FastAPI(lifespan=lifespan)
app.router.lifespan_context = lifespan
""")
    with Master("faulty:app", directory=str(tmp_path)) as master:
        master.loaded()
        worker = master.fork().hello()
        error = contract.unescape(worker.next_message()["ERROR"])
        assert "Traceback" in error and error.strip().endswith("LookupError: no database")
        assert worker.next_message() is None and worker.gone() != 0


def test_a_start_up_that_raises_with_lifespan_on_is_a_failed_boot(tmp_path):
    (tmp_path / "faulty.py").write_text("async def app(scope, receive, send): raise LookupError('no lifespan')\n")
    with Master("faulty:app", directory=str(tmp_path), server_options={"lifespan": "on"}) as master:
        master.loaded()
        worker = master.fork().hello()
        assert "LookupError: no lifespan" in contract.unescape(worker.next_message()["ERROR"])
        assert worker.gone() != 0
    with Master("faulty:app", directory=str(tmp_path)) as master:  # auto: it has none, and serves
        master.loaded()
        master.worker()


def test_the_access_log_is_off_unless_asked_for_and_reopened_at_usr1(tmp_path):
    path = str(tmp_path / "access.log")
    with Master("asgi_app:app", access_logfile=path) as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client:
            client.get("/first")
            until(lambda: "/first" in open(path).read(), "the line")
            os.rename(path, path + ".1")
            os.kill(worker.pid, signal.SIGUSR1)
            until(lambda: os.path.exists(path), "the new file")
            client.get("/second")
            until(lambda: "/second" in open(path).read(), "the line")
            assert "/second" not in open(path + ".1").read()
    with Master("asgi_app:app", access_logfile="-") as master:
        master.loaded()
        master.worker()
        with Connection(master.port) as client:
            client.get("/to-stdout")
        until(lambda: "GET /to-stdout" in master.log(), "the line")
    with Master("asgi_app:app") as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client:
            client.get("/unseen")
        worker.retire()
        assert worker.gone(5) == 0 and "/unseen" not in master.log()
    with Master("asgi_app:app", access_logfile="/nowhere/at/all") as master:
        assert "--access-logfile /nowhere/at/all: No such file" in master.load_error()


def test_settings_by_name_reach_uvicorn():
    with Master("asgi_app:app", root_path="/base", forwarded_allow_ips="*", log_level="warning",
                server_options={"header": "X-From:moult", "server-header": "false"}) as master:
        master.loaded()
        master.worker()
        with Connection(master.port) as client:
            answer = client.get("/scope", headers=[("X-Forwarded-Proto", "https")])
            if answer.text().startswith("{"):  # later versions put root_path into path
                assert '"root_path": "/base", "scheme": "https"' in answer.text()
            assert answer.headers["x-from"] == "moult" and "server" not in answer.headers
        assert "Started server process" not in master.log()


def test_an_app_that_is_no_asgi_goes_to_gunicorn_and_an_option_of_uvicorns_is_refused_there():
    with Master("plain_wsgi:create()") as master:
        assert "ThreadWorker" in master.loaded()["SERVER"]
    with Master("plain_wsgi:app", server_options={"loop": "uvloop"}) as master:
        assert "gunicorn" in master.load_error()


def test_many_workers_share_what_was_loaded(tmp_path):
    (tmp_path / "faulty.py").write_text(
        "import gc\nheap = [{'number': i} for i in range(200000)]\nfrom asgi_app import app as inner\n"
        "async def app(scope, receive, send):\n"
        "  if scope.get('path') == '/collect': gc.collect()\n"
        "  await inner(scope, receive, send)\n")
    with Master("faulty:app", directory=str(tmp_path), environment={"PYTHONPATH": APPS}) as master:
        master.loaded()
        worker = master.worker()
        with Connection(master.port) as client:
            client.get("/collect")
        with open("/proc/%d/smaps_rollup" % worker.pid) as file:
            private = sum(int(line.split()[1]) for line in file if line.startswith("Private_"))
        assert private < 15000, "%d kB are the worker's own" % private


def test_messages_to_a_booting_worker_wait_for_it():
    with Master("asgi_app:app", environment={"STARTUP_SECONDS": "0.3"}) as master:
        master.loaded()
        worker = master.fork().hello()
        worker.retire()
        assert receive(worker.channel)[0] == {"READY": "1", "DRAIN": "handover"}
        assert worker.gone(5) == 0


BUSY_APP = """
import asyncio, atexit, time
def note(): print("an atexit function ran", flush=True)
atexit.register(note)
async def app(scope, receive, send):
    assert scope["type"] == "http"
    print("held", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)
"""


def test_a_worker_whose_requests_are_cut_leaves_its_busy_threads_and_runs_the_atexit_functions(tmp_path):
    (tmp_path / "busy.py").write_text(BUSY_APP)
    for loop in ("asyncio", "uvloop"):
        with Master("busy:app", directory=str(tmp_path), server_options={"loop": loop}) as server:
            server.loaded()
            worker = server.worker()
            with Connection(server.port) as client:
                client.send("/")
                until(lambda: "held" in server.log(), "it is in the app")
                began = time.monotonic()
                worker.retire(3.0)
                assert worker.gone() == 75
                assert time.monotonic() - began < 4 and "an atexit function ran" in server.log()
