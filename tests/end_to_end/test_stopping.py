"""Stopping: gracefully, quickly, by signal and by command."""
import signal
import time

import pytest

from harness import start_request, wait_until
from processes import exists


def test_term_lets_a_request_in_flight_finish(start):
    moult = start("-w", "2", "hello:app")
    moult.wait_serving(2)
    request = start_request(moult.address, "/slow?seconds=1")
    moult.wait_for(lambda: any(w["in_flight"] for w in moult.workers()), "the request is in flight")
    moult.signal(signal.SIGTERM)
    assert request.getresponse().status == 200
    assert moult.wait_exit() == 0


def test_term_runs_the_apps_shutdown_hook_in_each_worker(start, scratch):
    moult = start("-w", "2", "hello:app", env={"SHUTDOWN_FILE": str(scratch / "ended")})
    workers = moult.wait_serving(2)
    assert moult.stop() == 0
    assert sorted(map(int, (scratch / "ended").read_text().split())) == workers


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_int_and_quit_do_not_wait_for_a_request_in_flight(start, number):
    moult = start("hello:app")
    moult.wait_serving(1)
    request = start_request(moult.address, "/slow?seconds=25")
    moult.wait_for(lambda: any(w["in_flight"] for w in moult.workers()), "the request is in flight")
    began = time.monotonic()
    assert moult.stop(number) == 0
    assert time.monotonic() - began < 12
    request.close()


def test_int_after_term_makes_a_graceful_stop_quick(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    request = start_request(moult.address, "/slow?seconds=25")
    moult.wait_for(lambda: any(w["in_flight"] for w in moult.workers()), "the request is in flight")
    began = time.monotonic()
    moult.signal(signal.SIGTERM)
    moult.wait_for(lambda: not moult.workers(), "the stop has begun")
    assert moult.stop(signal.SIGINT) == 0
    assert time.monotonic() - began < 12
    request.close()


def test_a_second_int_kills_a_worker_that_does_not_go(start, write_app):
    folder = write_app("import time\n"
                       "async def app(scope, receive, send):\n"
                       "    if scope['type'] == 'http': time.sleep(60)\n")
    moult = start("--kill-after", "50s", "app:app", chdir=folder)
    moult.wait_serving(1)
    request = start_request(moult.address, "/")
    moult.wait_for(lambda: any(w["in_flight"] for w in moult.workers()), "the request is in flight")
    began = time.monotonic()
    moult.signal(signal.SIGINT)
    moult.wait_for(lambda: moult.workers("terminating"), "the quick stop has begun")
    assert moult.stop(signal.SIGINT) == 0
    assert time.monotonic() - began < 20
    request.close()


def test_a_request_that_outlives_the_graceful_timeout_is_cut_off(start):
    moult = start("--graceful-timeout", "1s", "--kill-after", "2s", "hello:app")
    moult.wait_serving(1)
    request = start_request(moult.address, "/slow?seconds=60")
    moult.wait_for(lambda: any(w["in_flight"] for w in moult.workers()), "the request is in flight")
    began = time.monotonic()
    assert moult.stop() == 0
    assert time.monotonic() - began < 10
    request.close()


def test_a_stop_has_one_graceful_timeout_however_many_workers_need_all_of_it(start):
    moult = start("-w", "2", "--graceful-timeout", "8s", "hello:app")
    moult.wait_serving(2)
    requests = []

    def both_have_one() -> bool:
        requests.append(start_request(moult.address, "/slow?seconds=60"))
        return all(worker["in_flight"] for worker in moult.workers())
    moult.wait_for(both_have_one, "both are busy")
    began = time.monotonic()
    assert moult.stop() == 0
    assert time.monotonic() - began < 12, "one after the other they would take 16 s"
    for request in requests:
        request.close()


def test_a_worker_that_ignores_term_is_killed_after_kill_after(start, write_app):
    folder = write_app("import signal, time\n"
                       "async def app(scope, receive, send):\n"
                       "    if scope['type'] != 'http': return\n"
                       "    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
                       "    while True: time.sleep(1)\n")
    moult = start("--graceful-timeout", "1s", "--kill-after", "1s", "app:app", chdir=folder)
    worker = moult.wait_serving(1)[0]
    request = start_request(moult.address, "/")
    moult.wait_for(lambda: any(w["in_flight"] for w in moult.workers()), "the request is in flight")
    assert moult.stop(deadline=15) == 0
    assert not exists(worker)
    request.close()


def test_moult_stop_wait_ends_when_moult_has_ended(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    stop = moult.client("stop", "--wait")
    assert stop.returncode == 0, stop.stderr
    assert moult.wait_exit(5) == 0


def test_an_idle_connection_does_not_hold_up_a_stop(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    idle = start_request(moult.address, "/")
    idle.getresponse().read()
    began = time.monotonic()
    assert moult.stop() == 0
    assert time.monotonic() - began < 5
    idle.close()


def test_nobody_is_accepted_after_the_stop(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    assert moult.stop() == 0
    assert moult.answers() is None


def test_the_stop_delay_serves_on_for_that_long(start):
    moult = start("--stop-delay", "1s", "hello:app")
    moult.wait_serving(1)
    began = time.monotonic()
    moult.signal(signal.SIGTERM)
    while time.monotonic() - began < 0.7:
        assert moult.fetch().status == 200
    assert moult.wait_exit() == 0
    assert time.monotonic() - began >= 1


def test_a_unix_path_is_gone_after_the_stop(start, scratch):
    path = scratch / "run" / "app.sock"
    moult = start("hello:app", bind=f"unix:{path}")
    moult.wait_serving(1)
    assert moult.fetch().status == 200
    assert moult.stop() == 0
    wait_until(lambda: not path.exists(), "the path is gone", 1)
