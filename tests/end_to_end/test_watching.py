"""`moult status --watch` and `moult events`: what a terminal is shown of what happens."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from typing import List

import pytest

from harness import BINARY, Moult, wait_until
from recycling import Run


class Following:
    """`moult COMMAND...` that goes on; what it has printed so far."""

    def __init__(self, moult: Moult, *arguments: str, terminal: bool = False) -> None:
        ours, theirs = pty.openpty() if terminal else os.pipe()
        if terminal:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))  # rows, columns
        # Whoever runs the tests in the background of a shell script ignores SIGINT, and so would all that they start.
        self.process = subprocess.Popen(["env", "--default-signal=INT", BINARY, arguments[0], "--control",
                                         moult.control, *arguments[1:]],
                                        stdout=theirs, stderr=subprocess.PIPE, env=moult.environment)
        os.close(theirs)
        self.text = ""
        self.reader = threading.Thread(target=self.read, args=(ours,), daemon=True)
        self.reader.start()

    def read(self, descriptor: int) -> None:
        with open(descriptor, "rb", buffering=0) as output:
            while True:
                try:
                    part = output.read(65536)
                except OSError:  # a terminal whose program is gone
                    return
                if not part:
                    return
                self.text += part.decode(errors="replace")

    def lines(self) -> List[str]:
        return self.text.split("\n")[:-1]

    def wait(self, text: str, times: int = 1) -> str:
        wait_until(lambda: self.text.count(text) >= times, f"{text!r}, {times} times, in {self.text[-2000:]!r}")
        return self.text

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(30)
        self.reader.join(30)
        self.process.stderr.close()
        return code


@pytest.fixture
def follow():
    started = []

    def begin(*arguments, **more) -> Following:
        started.append(Following(*arguments, **more))
        return started[-1]
    yield begin
    for each in started:
        if each.process.poll() is None:
            each.end()


def names(text: str) -> List[str]:
    return [json.loads(line)["event"] for line in text.splitlines()]


def test_events_are_kept_without_a_file_and_told_as_sentences(start):
    moult = start("hello:app")
    pid = moult.wait_serving(1)[0]
    said = moult.client("events").stdout.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  moult \S+ starts", said[0])
    assert said[-1].endswith(f"worker 0 (pid {pid}) serves, generation 1")
    assert names(moult.client("events", "--json").stdout) == ["master_started", "worker_ready"]


def test_what_is_told_is_what_the_file_has(start, scratch):
    run = Run(start, scratch, "-w", "2")
    run.serve(2)
    run.moult.client("recycle")
    run.recycled(2)
    told = [json.loads(line) for line in run.moult.client("events", "--json").stdout.splitlines()]
    assert told == run.events.all()
    sentences = run.moult.client("events", "--event", "worker_recycled").stdout.splitlines()
    assert len(sentences) == 2
    for line in sentences:
        assert re.search(r"worker [01] \(pid \d+\) was replaced: asked for after 0 requests in \d+\.\d", line), line


def test_filters_show_what_has_all_that_is_asked_for(start):
    moult = start("-w", "3", "hello:app")
    pids = moult.wait_serving(3)
    ready = moult.client("events", "--event", "worker_ready", "--slot", "1", "--json").stdout
    assert [json.loads(line)["slot"] for line in ready.splitlines()] == [1]
    assert names(moult.client("events", "--pid", str(pids[0]), "--json").stdout) == ["worker_ready"]
    assert moult.client("events", "--reason", "no_tokens").stdout == ""
    assert len(moult.client("events", "--last", "2").stdout.splitlines()) == 2
    both = moult.client("events", "--event", "master_started", "--event", "worker_ready", "--json").stdout
    assert names(both).count("worker_ready") == 3 and "master_started" in names(both)


def test_an_event_that_there_is_not_is_refused_with_those_that_there_are(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    asked = moult.client("events", "--event", "worker_recycle")
    assert asked.returncode == 2
    assert "worker_recycle" in asked.stderr and "worker_recycled" in asked.stderr
    assert moult.client("events", "--slot", "first").returncode == 2


def test_f_goes_on_with_what_happens_until_moult_stops(start, follow):
    moult = start("hello:app")
    pid = moult.wait_serving(1)[0]
    following = follow(moult, "events", "-f", "--json")
    following.wait("worker_ready")
    os.kill(pid, signal.SIGKILL)
    following.wait("worker_exited")
    following.wait("worker_ready", 2)
    assert moult.stop() == 0
    assert following.ended() == 0
    told = names(following.text)
    assert told[:4] == ["master_started", "worker_ready", "worker_exited", "worker_ready"]
    assert told[-1] == "master_stopped"


def test_f_begins_with_the_last_ten_and_filters_what_comes(start, follow):
    moult = start("-w", "12", "hello:app")
    pids = moult.wait_serving(12)
    all_of_them = follow(moult, "events", "-f", "--json")
    all_of_them.wait("worker_ready", 10)
    exits = follow(moult, "events", "-f", "--event", "worker_exited", "--json")
    for pid in pids[:2]:
        os.kill(pid, signal.SIGKILL)
    exits.wait("worker_exited", 2)
    all_of_them.wait("worker_ready", 12)
    assert names(all_of_them.text)[:10] == ["worker_ready"] * 10
    assert names(exits.text) == ["worker_exited"] * 2


def test_f_ends_when_nobody_reads_it_any_more_though_nothing_happens(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    following = subprocess.Popen([BINARY, "events", "--control", moult.control, "-f"], stdout=subprocess.PIPE,
                                 env=moult.environment)
    assert b"starts" in following.stdout.readline()
    following.stdout.close()  # as `head -1` does
    following.wait(30)


def test_who_follows_and_is_interrupted_leaves_nothing_behind(start, follow):
    moult = start("hello:app")
    moult.wait_serving(1)
    for _ in range(80):  # more than the control socket has clients
        following = follow(moult, "events", "-f", "--json")
        following.wait("worker_ready")
        following.process.kill()
        following.ended()
    assert moult.client("status").returncode == 0


def test_watch_shows_a_json_line_each_second(start, follow):
    moult = start("hello:app")
    moult.wait_serving(1)
    watching = follow(moult, "status", "--watch", "--json")
    watching.wait("\n", 3)
    pictures = [json.loads(line) for line in watching.lines()[:3]]
    assert all(picture["pid"] == moult.pid for picture in pictures)
    assert pictures[0]["uptime_seconds"] < pictures[1]["uptime_seconds"] < pictures[2]["uptime_seconds"]


def test_watch_draws_over_the_last_picture_on_a_terminal_only(start, follow):
    moult = start("hello:app")
    pid = moult.wait_serving(1)[0]
    on_terminal = follow(moult, "status", "--watch", terminal=True)
    in_file = follow(moult, "status", "--watch")
    on_terminal.wait("\x1b[H", 2)
    in_file.wait("SLOT", 2)
    os.kill(pid, signal.SIGKILL)
    new = moult.wait_for(lambda: moult.worker_pids() not in ([], [pid]) and moult.worker_pids()[0], "a replacement")
    on_terminal.wait(str(new))
    in_file.wait(str(new))
    assert "\x1b" not in in_file.text
    assert in_file.end() == -signal.SIGINT


def test_watch_shows_the_last_recycles_and_how_long_a_hold_lasts(start, scratch, follow):
    run = Run(start, scratch, "-w", "2", "--cooldown", "1h")
    run.serve(2)
    watching = follow(run.moult, "status", "--watch")
    run.moult.client("recycle")
    run.wait_events("worker_recycled")
    run.wait_events("hold_started", reason="cooldown")
    watching.wait("was replaced: asked for")
    assert re.search(r"cooldown (1h00m|59m\d\ds)", watching.wait("cooldown "))


def test_watch_ends_when_moult_does_and_says_so(start, follow):
    moult = start("hello:app")
    moult.wait_serving(1)
    watching = follow(moult, "status", "--watch")
    watching.wait("SLOT")
    moult.stop()
    stderr = watching.process.stderr
    wait_until(lambda: watching.process.poll() is not None, "the watch ends")
    assert moult.control in stderr.read().decode()
    assert watching.ended() == 3
