"""Pid file, log lines, events, the output of workers."""
import json
import re
import signal

from events import Events


def test_the_pid_file_has_the_masters_pid_and_goes_with_it(start, scratch):
    file = scratch / "run" / "moult.pid"
    moult = start("--pid", file, "hello:app")
    moult.wait_serving(1)
    assert int(file.read_text()) == moult.pid
    assert moult.stop() == 0
    assert not file.exists()


def test_a_pid_file_of_a_running_moult_is_refused(start, scratch):
    file = scratch / "run" / "moult.pid"
    first = start("--pid", file, "hello:app")
    first.wait_serving(1)
    second = start("--pid", file, "hello:app", name="second")
    assert second.wait_exit() == 1
    assert str(first.pid) in second.log()
    assert int(file.read_text()) == first.pid


def test_json_logs_are_one_object_a_line(start):
    moult = start("--log-format", "json", "-k", "gthread", "--log-level", "info", "flasky:app")
    moult.wait_serving(1)
    assert moult.stop() == 0
    ours = [line for line in moult.err.read_text().splitlines() if line.startswith("{")]
    assert ours
    for line in ours:
        assert isinstance(json.loads(line), dict)


def test_what_a_worker_prints_comes_out_unchanged(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    moult.fetch("/print?text=a+line+of+its+own")
    moult.wait_for(lambda: "a line of its own" in moult.out.read_text().splitlines(), "the line comes out")


def test_worker_prefix_puts_the_slot_before_each_line(start):
    moult = start("--worker-prefix", "hello:app")
    moult.wait_serving(1)
    moult.fetch("/print?text=a+line+of+its+own")
    moult.wait_for(lambda: "a line of its own" in moult.out.read_text(), "the line comes out")
    line = next(line for line in moult.out.read_text().splitlines() if "a line of its own" in line)
    assert re.match(rf"\[0\b.*\] a line", line), line


def test_the_access_log_has_a_line_a_request(start, scratch):
    for arguments in (("hello:app",), ("-k", "gthread", "flasky:app")):
        moult = start("--access-logfile", "-", *arguments)
        moult.wait_serving(1)
        moult.fetch("/?seen=yes")
        moult.wait_for(lambda: "GET /?seen=yes" in moult.log(), "the request is in the log")
        assert moult.stop() == 0
        moult.out.unlink()


def test_the_access_log_is_off_by_default(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    moult.fetch("/?seen=yes")
    assert moult.stop() == 0
    assert "seen=yes" not in moult.log()


def test_events_tell_the_story_of_a_life(start, scratch):
    events = Events(scratch / "events")
    moult = start(*events.flags, "-w", "2", "hello:app")
    workers = moult.wait_serving(2)
    moult.answers("/exit?code=3")
    moult.wait_for(lambda: events.all("worker_exited"), "the exit is told")
    moult.wait_serving(2)
    assert moult.client("reload", "--wait").returncode == 0
    assert moult.stop() == 0
    names = [event["event"] for event in events.all()]
    assert names[0] == "master_started" and names[-1] == "master_stopped"
    exited = events.all("worker_exited")[0]
    assert exited["pid"] in workers and exited["exit_status"] == 3
    assert {"instance", "slot", "generation", "at"} <= set(exited)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)", exited["at"])
    assert "reload_started" in names and events.all("reload_finished")[0]["outcome"]
    assert len(events.all("worker_ready")) >= 5


def test_events_go_to_stdout_if_the_file_is_a_dash(start):
    moult = start("--events", "-", "hello:app")
    moult.wait_serving(1)
    moult.wait_for(lambda: '{"event":"worker_ready"' in moult.out.read_text(), "the event is on stdout")


def test_usr1_opens_the_event_file_anew(start, scratch):
    events = Events(scratch / "events")
    moult = start(*events.flags, "hello:app")
    moult.wait_serving(1)
    events.path.rename(scratch / "events.1")
    moult.signal(signal.SIGUSR1)
    moult.wait_for(events.path.exists, "there is a new file")
    moult.client("scale", "2")
    moult.wait_for(lambda: events.all("worker_ready"), "events go to the new file")
