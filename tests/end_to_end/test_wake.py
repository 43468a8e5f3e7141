"""Who wakes a sleeping app, how often, and what callers hear when it cannot be woken."""
import os
import signal
import subprocess
import time

import pytest

from events import Events
from harness import BINARY, fetch, holds_for, wait_until
from sleeping import ask_at_once, ask_once, bare_connect, idle, put_to_sleep
from versions import version


def serve_asleep(start, *flags: str, **more):
    moult = start(*flags, **more)
    moult.wait_serving()
    put_to_sleep(moult)
    return moult


def test_fifty_who_call_together_wake_it_once_and_are_all_answered(start, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = serve_asleep(start, *events.flags, "hello:app")
    for cycle in range(1, 4):
        assert ask_at_once(moult, 50) == [200] * 50
        put_to_sleep(moult)
        moult.wait_for(lambda: len(events.all("slept")) == cycle + 1, "it is told")
        assert len(events.all("woke")) == cycle


def test_a_bare_connect_wakes_nobody_but_its_first_word_does(start):
    moult = serve_asleep(start, "hello:app")
    client = bare_connect(moult)
    holds_for(lambda: idle(moult)["state"] == "asleep", 0.5, "nobody is woken")
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert client.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
    assert idle(moult)["state"] == "active"
    client.close()


def test_callers_while_it_falls_asleep_are_answered(start):
    moult = start("hello:app")
    moult.wait_serving()
    for _ in range(10):
        sleep = subprocess.Popen([BINARY, "sleep", "--control", moult.control], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        assert ask_at_once(moult, 5) == [200] * 5
        said = sleep.communicate(timeout=60)[1]
        assert sleep.returncode == 0 or "somebody calls" in said
        assert fetch(moult.address).status == 200


class Shelf:
    """An app whose workers start while its file is there; without it the wake fails."""

    def __init__(self, scratch, write_app) -> None:
        self.file = scratch / "shelf"
        self.file.touch()
        self.folder = write_app(version("good", startup=f"open({str(self.file)!r}).close()"))


@pytest.fixture
def shelf(scratch, write_app) -> Shelf:
    return Shelf(scratch, write_app)


def serve_failing(start, scratch, shelf, *flags: str):
    """Asleep, and cannot be woken. Its events, too."""
    events = Events(scratch / "moult.jsonl")
    moult = serve_asleep(start, "--wake-timeout", "1s", *events.flags, *flags, "app:app", chdir=shelf.folder)
    shelf.file.unlink()
    return moult, events


def fail_three_times(moult, events) -> None:
    """Callers are refused for 4 s then."""
    moult.wait_for(lambda: ask_once(moult).status == 503 and len(events.all("wake_failed")) == 3, "three attempts")


def ask_in_window(moult) -> list:
    """The answers of callers who come while others are refused for a second yet."""
    answers = []
    while (idle(moult)["refuses_for_seconds"] or 0) > 1 and len(answers) < 20:
        answers.append(ask_once(moult))
    assert answers
    return answers


def test_a_wake_that_fails_is_refused_politely_to_all_who_wait(start, scratch, shelf):
    moult, events = serve_failing(start, scratch, shelf)
    assert ask_at_once(moult, 20) == [503] * 20
    failed = moult.wait_for(lambda: events.all("wake_failed"), "it is told")
    assert "No such file or directory" in failed[0]["cause"]
    assert failed[0]["caller"] == "caller" and failed[0]["latency_seconds"] >= 1
    assert "No such file or directory" in idle(moult)["failure"]
    shelf.file.touch()
    moult.wait_for(lambda: moult.fetch("/").status == 200, "it recovers")
    assert moult.fetch("/").text == "good"
    assert idle(moult)["failure"] is None


def test_within_a_window_callers_are_refused_at_once_and_nothing_is_tried(start, scratch, shelf):
    moult, events = serve_failing(start, scratch, shelf)
    fail_three_times(moult, events)
    answers = ask_in_window(moult)
    assert {each.status for each in answers} == {503} and all(1 <= each.retry_after <= 4 for each in answers)
    assert not any("Traceback" in each.body or "shelf" in each.body for each in answers)
    assert min(each.seconds for each in answers) < 0.05, "or as long as this machine takes for anything"
    assert len(events.all("wake_failed")) == 3


def test_a_hundred_who_come_together_in_a_window_are_refused_and_nothing_is_tried(start, scratch, shelf):
    moult, events = serve_failing(start, scratch, shelf)
    fail_three_times(moult, events)
    assert ask_at_once(moult, 100) == [503] * 100
    assert idle(moult)["refuses_for_seconds"], "the window is open yet"
    assert len(events.all("wake_failed")) == 3


def test_failed_wakes_come_further_and_further_apart_and_end_nothing(start, scratch, shelf):
    moult, events = serve_failing(start, scratch, shelf)
    fail_three_times(moult, events)
    assert [event["retry_in_seconds"] for event in events.all("wake_failed")] == [1, 2, 4]
    assert moult.process.poll() is None


def test_an_operator_hears_why_a_wake_failed_and_may_try_again_at_once(start, scratch, shelf):
    moult, _ = serve_failing(start, scratch, shelf)
    for _ in range(2):
        said = moult.client("wake")
        assert said.returncode == 1 and "No such file or directory" in said.stderr
    shelf.file.touch()
    assert moult.client("wake").returncode == 0
    assert moult.fetch("/").text == "good"


def test_a_reload_ends_the_refusals(start, scratch, shelf, write_app):
    moult, _ = serve_failing(start, scratch, shelf)
    assert ask_once(moult).status == 503
    write_app(version("mended"))
    assert moult.client("reload").returncode == 0
    moult.wait_for(lambda: moult.log().count("the app is loaded") == 2, "it is loaded")
    assert moult.fetch("/").text == "mended"


def test_a_reload_while_it_sleeps_wakes_nobody_and_serves_the_new_code(start, write_app):
    moult = serve_asleep(start, "app:app", chdir=write_app(version("old")))
    write_app(version("new"))
    moult.signal(signal.SIGHUP)
    moult.wait_log("reloading")
    moult.wait_for(lambda: moult.log().count("the app is loaded") == 2, "it is loaded")
    assert idle(moult)["state"] == "asleep" and moult.status()["workers"] == []
    assert moult.fetch("/").text == "new"


def test_readyz_says_yes_while_it_sleeps_but_not_while_callers_are_refused(start, free_port, scratch, shelf):
    admin = free_port()

    def probe(path: str) -> int:
        return fetch(admin, path).status
    moult, _ = serve_failing(start, scratch, shelf, "--admin", f"127.0.0.1:{admin}")
    wait_until(lambda: idle(moult)["state"] == "asleep" and fetch(admin, "/status.json").json()["state"] == "asleep",
               "the admin's picture shows it asleep", 10)
    assert (probe("/livez"), probe("/readyz"), probe("/healthz")) == (200, 200, 200)
    wait_until(lambda: ask_once(moult).status == 503 and (probe("/readyz"), probe("/healthz")) == (503, 503),
               "it cannot be woken")
    assert "could not be woken" in fetch(admin, "/readyz").text and "No such file" not in fetch(admin, "/readyz").text
    shelf.file.touch()
    assert moult.client("wake").returncode == 0
    wait_until(lambda: (probe("/readyz"), probe("/healthz")) == (200, 200), "awake", 10)


def test_the_metrics_count_sleeps_and_wakes(start, free_port):
    admin = free_port()
    moult = serve_asleep(start, "--admin", f"127.0.0.1:{admin}", "hello:app")
    moult.fetch("/")
    put_to_sleep(moult)

    def metrics() -> list:
        return fetch(admin, "/metrics").text.splitlines()
    for line in ('moult_sleeps_total{outcome="asleep"} 2', 'moult_wakes_total{outcome="awake"} 1',
                 'moult_wakes_total{outcome="failed"} 0', "moult_wake_seconds_count 1",
                 'moult_idle_state{state="asleep"} 1', 'moult_idle_state{state="active"} 0'):
        wait_until(lambda: line in metrics(), line, 10)
    assert any(line.startswith("moult_awake_seconds_total ") for line in metrics())


def test_a_stop_while_it_wakes_refuses_who_waits(start):
    moult = serve_asleep(start, "hello:app", env={"STARTUP_SECONDS": "2"})
    client = bare_connect(moult)
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    moult.wait_for(lambda: idle(moult)["state"] == "waking", "it wakes")
    assert moult.status()["state"] == "waking"
    moult.signal(signal.SIGTERM)
    assert client.makefile("rb").readline().startswith(b"HTTP/1.1 503 ")
    assert moult.wait_exit(20) == 0
    client.close()


def test_a_worker_that_dies_while_it_wakes_is_followed_by_another(start, scratch):
    moult = serve_asleep(start, "hello:app", env={"STARTUP_SECONDS": "1"})
    client = bare_connect(moult)
    client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    booting = moult.wait_for(lambda: [w["pid"] for w in moult.workers("booting") if w["pid"]], "one boots")
    os.kill(booting[0], signal.SIGKILL)
    assert client.makefile("rb").readline() == b"HTTP/1.1 200 OK\r\n"
    client.close()
