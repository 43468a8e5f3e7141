"""Any command on the listener it inherits: programs that speak sd_notify, and programs that speak nothing."""
import os
import signal

from harness import APPS, DEBIAN_PYTHON, fetch

MUTE = ("--", DEBIAN_PYTHON, str(APPS / "mute_server.py"))
NOTIFY = ("--", DEBIAN_PYTHON, str(APPS / "notify_server.py"))


def test_a_node_server_serves_on_the_inherited_listener(start):
    moult = start("-w", "2", "--ready-delay", "100ms", "--", "node", str(APPS / "node_server.js"))
    workers = moult.wait_serving(2)
    answer = moult.wait_for(moult.answers, "node answers").json()
    assert answer["language"] == "javascript"
    assert answer["pid"] in workers
    assert moult.stop() == 0


def test_uvicorn_itself_serves_on_the_inherited_listener(start):
    moult = start("-w", "2", "--ready-delay", "100ms", "--", DEBIAN_PYTHON, "-m", "uvicorn", "--fd", "3", "hello:app")
    workers = moult.wait_serving(2)
    assert moult.wait_for(moult.answers, "uvicorn answers").json()["pid"] in workers
    assert moult.stop() == 0


def test_a_program_that_speaks_no_protocol_is_ready_after_the_ready_delay(start):
    moult = start("--ready-delay", "300ms", *MUTE)
    workers = moult.wait_serving(1)
    assert moult.wait_for(moult.answers, "it answers").json() == {"language": "mute", "pid": workers[0]}
    assert moult.stop() == 0


def test_a_program_that_says_ready_is_ready_then_and_not_after_the_delay(start):
    moult = start("--ready-delay", "60s", *NOTIFY)
    moult.wait_serving(1)
    assert moult.fetch().json()["language"] == "notify"
    assert moult.stop() == 0


def test_a_program_that_is_silent_for_longer_than_timeout_after_its_watchdog_is_replaced(start):
    moult = start("-t", "1s", "--kill-after", "1s", *NOTIFY)
    before = moult.wait_serving(1)
    moult.answers("/hang")
    moult.wait_for(lambda: moult.worker_pids() not in ([], before), "it is replaced")
    assert moult.fetch().json()["pid"] != before[0]


def test_a_silent_program_that_never_promised_a_watchdog_is_left_alone(start):
    moult = start("-t", "1s", "--ready-delay", "100ms", *MUTE)
    before = moult.wait_serving(1)
    moult.signal(signal.SIGTTIN)  # something happens, and time passes
    moult.wait_for(lambda: any(w["uptime_seconds"] > 2.5 for w in moult.workers()), "two timeouts have passed")
    assert before[0] in moult.worker_pids()


def test_a_killed_program_is_replaced(start):
    moult = start("-w", "2", "--ready-delay", "100ms", *MUTE)
    before = moult.wait_serving(2)
    os.kill(before[0], signal.SIGKILL)
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and before[0] not in moult.worker_pids(), "a replacement")
    assert before[1] in moult.worker_pids()


def test_a_program_that_goes_into_the_background_is_told_to_stay(start):
    moult = start("--boot-attempts", "2", "--ready-delay", "5s", *MUTE, "exit", "0")
    assert moult.wait_exit() == 3
    assert "foreground" in moult.log()


def test_a_program_that_does_not_exist_is_named(start):
    moult = start("--boot-attempts", "2", "--", "/no/such/program")
    assert moult.wait_exit() in (1, 2, 3)
    assert "/no/such/program" in moult.log()
    assert "No such file" in moult.log() or "not found" in moult.log()


def test_a_command_is_reloaded_one_by_one(start):
    moult = start("-w", "2", "--ready-delay", "100ms", "--graceful-timeout", "2s", *NOTIFY)
    before = moult.wait_serving(2)
    assert moult.client("reload", "--wait").returncode == 0
    after = moult.wait_serving(2)
    assert not set(before) & set(after)
    assert fetch(moult.address).status == 200
