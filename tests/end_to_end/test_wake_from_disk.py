"""Wakes that load the app from disk: --warmth nothing, and a master that begins asleep."""
import time

from events import Events
from sleeping import ask_once, idle, put_to_sleep, wait_asleep, wait_awake
from test_wake import serve_asleep
from versions import BROKEN_IMPORT, BROKEN_STARTUP, version


def test_an_app_whose_files_are_gone_is_refused_politely_and_recovers_with_them(start, scratch, write_app):
    events = Events(scratch / "moult.jsonl")
    moult = serve_asleep(start, "--warmth", "nothing", *events.flags, "app:app", chdir=write_app(version("good")))
    (scratch / "app" / "app.py").unlink()
    first = ask_once(moult)
    assert first.status == 503 and first.retry_after >= 1
    assert not any(said in first.body for said in ("app.py", "module", "Module", "Traceback", str(scratch)))
    failed = moult.wait_for(lambda: events.all("wake_failed"), "it is told")
    assert len(failed) == 1 and "there is no module 'app'" in failed[0]["cause"]
    assert "there is no module 'app'" in idle(moult)["failure"]
    write_app(version("mended"))
    moult.wait_for(lambda: idle(moult)["refuses_for_seconds"] is None, "the window is over")
    assert moult.fetch("/").text == "mended"


def test_failed_wakes_come_further_and_further_apart(start, scratch, write_app):
    events = Events(scratch / "moult.jsonl")
    moult = serve_asleep(start, "--warmth", "nothing", *events.flags, "app:app", chdir=write_app(version("good")))
    (scratch / "app" / "app.py").unlink()
    moult.wait_for(lambda: ask_once(moult).status == 503 and len(events.all("wake_failed")) == 3, "three attempts")
    assert [event["retry_in_seconds"] for event in events.all("wake_failed")] == [1, 2, 4]
    assert moult.process.poll() is None


def test_a_wake_ends_with_its_timeout(start, scratch, write_app):
    events = Events(scratch / "moult.jsonl")
    moult = serve_asleep(start, "--warmth", "nothing", "--wake-timeout", "2s", *events.flags, "app:app",
                         chdir=write_app(version("good")))
    write_app(BROKEN_STARTUP)
    began = time.monotonic()
    assert ask_once(moult).status == 503
    assert 1.5 < time.monotonic() - began
    # A machine that is busy may not have come as far as the app's error in the first two seconds.
    moult.wait_for(lambda: ask_once(moult).status == 503 and
                   any("the cupboard is bare" in event["cause"] for event in events.all("wake_failed")), "the cause")

    def told() -> bool:
        said = moult.client("wake")
        assert said.returncode == 1
        return "the cupboard is bare" in said.stderr
    moult.wait_for(told, "an operator reads it, too")
    assert moult.process.poll() is None


def test_an_operator_and_a_reload_end_the_refusals(start, scratch, write_app):
    moult = serve_asleep(start, "--warmth", "nothing", "app:app", chdir=write_app(version("good")))
    (scratch / "app" / "app.py").unlink()
    assert ask_once(moult).status == 503
    write_app(version("mended"))
    assert moult.client("reload").returncode == 0
    assert moult.fetch("/").text == "mended"
    put_to_sleep(moult)
    (scratch / "app" / "app.py").unlink()
    assert ask_once(moult).status == 503
    write_app(version("again"))
    assert moult.client("wake").returncode == 0
    assert moult.fetch("/").text == "again"


def test_a_reload_while_nothing_is_loaded_says_whether_the_code_loads_and_wakes_nobody(start, scratch, write_app):
    events = Events(scratch / "moult.jsonl")
    moult = serve_asleep(start, "--warmth", "nothing", *events.flags, "app:app", chdir=write_app(version("good")))
    outcomes = []
    for text, outcome in ((version("good"), "succeeded"), (BROKEN_IMPORT, "rejected"),
                          (version("mended"), "succeeded")):
        write_app(text)
        said = moult.client("reload", "--wait")
        assert said.returncode == (outcome == "rejected"), said.stderr
        assert ("the shelf is empty" in said.stderr) == (outcome == "rejected"), said.stderr
        outcomes.append(outcome)
        moult.wait_for(lambda: [each["outcome"] for each in events.all("reload_finished")] == outcomes, "it is written")
    assert ([each["generation"] for each in events.all("reload_started")]
            == [each["generation"] for each in events.all("reload_finished")])
    assert idle(moult)["state"] == "asleep" and not events.all("woke")
    assert moult.fetch("/").text == "mended"


def test_after_a_restart_asleep_a_wake_that_fails_ends_nothing(start, scratch, write_app, leaves):
    state = scratch / "state"
    state.mkdir()
    (state / "moult.idle").write_text("asleep\n")
    moult = start("--state-dir", str(state), "--wake-timeout", "3s", "--boot-attempts", "1", "app:app",
                  chdir=write_app(BROKEN_STARTUP))
    wait_asleep(moult)
    moult.wait_log("the app is loaded")
    for _ in range(2):
        assert ask_once(moult).status == 503
    assert moult.process.poll() is None, "never exit 3"
    write_app(version("mended"))
    assert moult.client("reload").returncode == 0
    moult.wait_for(lambda: moult.fetch("/").text == "mended", "it recovers")
    wait_awake(moult)
