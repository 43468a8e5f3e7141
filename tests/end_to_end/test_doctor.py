"""`moult doctor` and `moult correlate`: the commands, on the incident's files, on hostile ones, and on what a real
moult wrote a moment ago."""
import json
import os
import resource
import subprocess
from pathlib import Path
from typing import List

import pytest

from harness import BINARY
from recycling import LIMIT, OVER_LIMIT, Run

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
EVENTS, CANARY = str(FIXTURES / "incident-events.jsonl"), str(FIXTURES / "incident-canary.jsonl")
FOUR = ["runway", "cooldown", "rate", "escalations"]
PATIENCE = 600  # seconds; for what takes less than one on a calm machine
MOST_MEMORY = 1 << 30  # bytes of address space; a file that is read whole does not fit


def run(*arguments: str, **more) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=PATIENCE, **more)


def document(*arguments: str) -> dict:
    ran = run(*arguments, "--json")
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def one_error(ran: subprocess.CompletedProcess, code: int) -> str:
    assert ran.returncode == code, (ran.returncode, ran.stderr)
    assert ran.stdout == ""
    assert ran.stderr.startswith("moult: ") and ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr


def test_doctor_names_the_incidents_four_faults():
    assert document("doctor", EVENTS)["findings"] == FOUR
    text = run("doctor", EVENTS).stdout
    assert text.count("FINDING") == 4 and text.count("Next:") >= 4
    assert max(map(len, text.splitlines())) <= 120


def test_doctor_reads_several_files_and_stdin_but_none_twice(scratch):
    lines = Path(EVENTS).read_text()
    by_stdin = run("doctor", "--json", "-", input=lines)
    assert by_stdin.stdout == run("doctor", "--json", EVENTS).stdout
    other = scratch / "events.jsonl"
    other.write_text(lines)
    assert document("doctor", EVENTS, str(other))["recycles"] == 180
    twice = run("doctor", EVENTS, EVENTS)
    assert twice.returncode == 1 and twice.stderr == f"moult: {EVENTS} is given twice: give each file once\n"


def test_correlate_says_that_the_incidents_errors_come_near_recycles():
    found = document("correlate", EVENTS, "--canary", CANARY)
    assert found["p"] < 0.01 and found["significant"] and found["lift"] > 1
    assert "one random time" in found["null"] and found["window_seconds"] == 60
    text = run("correlate", EVENTS, "--canary", CANARY).stdout
    assert "Null:" in text and "+-60 s" in text and "p = " in text


def test_correlate_takes_a_canary_of_text(scratch):
    errors = [json.loads(line)["at"] for line in Path(CANARY).read_text().splitlines()]
    text = scratch / "canary.log"
    text.write_text("".join(f"{at.replace('T', ' ').rstrip('Z')} ERROR reset by peer\nTraceback:\n" for at in errors))
    found = document("correlate", EVENTS, "--canary", str(text))
    as_json = document("correlate", EVENTS, "--canary", CANARY)
    assert (found["p"], found["within"]) == (as_json["p"], as_json["within"])
    assert found["canary_lines_without_time"] == found["canary_times_without_zone"] == 20


def test_correlate_says_when_there_is_too_little(scratch):
    few, errors = scratch / "events", scratch / "errors"
    few.write_text("".join(Path(EVENTS).read_text().splitlines(True)[-3:]))
    errors.write_text("".join(Path(CANARY).read_text().splitlines(True)[:2]))
    ran = run("correlate", str(few), "--canary", str(errors))
    assert ran.returncode == 0 and "too few to say" in ran.stdout
    empty = scratch / "empty"
    empty.write_text("")
    assert document("correlate", EVENTS, "--canary", str(empty))["p"] is None


@pytest.mark.parametrize("arguments, named", [
    (("doctor",), "moult doctor FILE"),
    (("doctor", "--jsno", EVENTS), "moult doctor --help"),
    (("doctor", "-" + "x" * 100_000), "moult doctor --help"),
    (("correlate", EVENTS), "--canary FILE"),
    (("correlate", "--canary", CANARY), "--canary FILE"),
    (("correlate", "-", "--canary", "-"), "stdin"),
    (("correlate", EVENTS, "--canary", CANARY, "--window", "5 lightyears"), "--window '5 lightyears'"),
    (("correlate", EVENTS, "--canary", CANARY, "--permutations", "10"), "at least 999"),
    (("correlate", EVENTS, "--canary", CANARY, "--seed", "x"), "--seed 'x'"),
], ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "")
def test_bad_usage_is_exit_2_and_one_error(arguments, named: str):
    assert named in one_error(run(*arguments), 2)


@pytest.mark.parametrize("command", ["doctor", "correlate"])
def test_help_is_on_stdout(command: str):
    ran = run(command, "--help")
    assert ran.returncode == 0 and f"moult {command}" in ran.stdout and "EVENTS" in ran.stdout


EVENT = '{"event":"worker_recycled","at":"%s","instance":"web","slot":0,"reason":"limit","urgency":"routine"%s}\n'
DAY = EVENT % ("2026-08-29T00:00:00Z", "%s")
HOSTILE = {  # made when they are needed: some are large
    "binary": lambda: os.urandom(300_000),
    "zeros": lambda: b"\0" * 300_000,
    "nested": lambda: b"[" * 900_000 + b"\n" + b'{"a":' * 150_000,
    "huge-line": lambda: b'{"event":"' + b"x" * 40_000_000,
    "no-number": lambda: (DAY % ',"rss_bytes":NaN').encode(),
    "wrong-types": lambda: b'7\n"text"\nnull\n[]\n{"event":[],"at":{}}\n',
}
STRANGE = {
    "wild-clock": lambda: "".join(EVENT % (at, "") for at in ("2199-12-31T23:59:59Z", "1970-01-01T00:00:00Z") * 9),
    "wild-figures": lambda: DAY % (',"rss_bytes":1e18,"limit_bytes":0,"boot_rss_bytes":1000000000000000000,'
                                   '"gap_seconds":0,"cooldown_seconds":0,"lifetime_seconds":1e10,"requests":0') * 20,
    "one-moment": lambda: DAY % ',"gap_seconds":0,"cooldown_seconds":0' * 20,
    "many-instances": lambda: "".join((DAY % "").replace("web", f"web-{n}") for n in range(20_000)),
    "torn-end": lambda: (DAY % "")[:-20] + "\n" + DAY % "" + (DAY % "")[:30],
    "empty": lambda: "",
}


def bounded() -> None:
    if b"__sanitizer" not in Path(BINARY).read_bytes():  # which wants terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


@pytest.mark.parametrize("name", [*HOSTILE, *STRANGE])
def test_no_file_crashes_them(scratch, name: str):
    path = scratch / name
    path.write_bytes(HOSTILE[name]() if name in HOSTILE else STRANGE[name]().encode())
    for arguments in (("doctor", path), ("doctor", "--json", path), ("correlate", path, "--canary", CANARY),
                      ("correlate", EVENTS, "--canary", path), ("correlate", path, "--canary", path, "--json")):
        ran = run(*map(str, arguments), preexec_fn=bounded)
        assert ran.returncode in (0, 1), (arguments, ran.returncode, ran.stderr[-2000:])
        if ran.returncode == 1:
            one_error(ran, 1)
        if arguments[0] == "doctor":
            assert (ran.returncode == 0) == (name in STRANGE), ran.stderr


@pytest.mark.parametrize("arguments", [("doctor", "{}"), ("correlate", "{}", "--canary", CANARY),
                                       ("correlate", EVENTS, "--canary", "{}")], ids=["doctor", "events", "canary"])
def test_what_cannot_be_read_is_exit_1_and_named(scratch, arguments):
    for path, why in ((str(scratch), "Is a directory"), (str(scratch / "nothing"), "No such file")):
        error = one_error(run(*(argument.format(path) for argument in arguments)), 1)
        assert path in error and why in error


def test_a_file_of_another_user_is_exit_1_and_named(scratch):
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    secret = scratch / "secret"
    secret.write_text("")
    secret.chmod(0)
    ran = run("doctor", str(secret), preexec_fn=lambda: os.setuid(65534))
    if "missing" in ran.stderr or "cannot run" in ran.stderr:
        pytest.skip("the build folder is closed to others")
    assert "Permission denied" in one_error(ran, 1)


def test_what_cannot_be_printed_is_exit_1_and_said():
    with open("/dev/full", "w") as full:
        ran = subprocess.run([BINARY, "doctor", EVENTS], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ran.returncode == 1 and "cannot write to stdout" in ran.stderr


def test_ten_thousand_malformed_lines_are_counted_and_change_nothing(scratch):
    lines: List[str] = []
    for number, line in enumerate(Path(EVENTS).read_text().splitlines()):
        lines += [line, *[line[:-1 - number]] * 111]
    lines += ["{}"] * 10
    (scratch / "events").write_text("\n".join(lines))
    found = document("doctor", str(scratch / "events"))
    assert found["malformed_lines"] == 10_000
    assert (found["recycles"], found["findings"]) == (90, FOUR)


def test_rotated_files_may_come_in_the_order_of_the_shell(scratch):
    lines = Path(EVENTS).read_text().splitlines(True)
    (scratch / "events.jsonl").write_text("".join(lines[45:]))
    (scratch / "events.jsonl.1").write_text("".join(lines[:45]))
    rotated = sorted(map(str, scratch.glob("events.jsonl*")))
    assert run("doctor", *rotated).stdout == run("doctor", EVENTS).stdout


def test_one_line_of_a_clock_that_was_not_set_yet_makes_no_errors_significant(scratch):
    started = '{"event":"master_started","at":"1970-01-01T00:00:07Z","instance":"web-A"}\n'
    (scratch / "events").write_text(started + Path(EVENTS).read_text())
    errors = "".join(json.dumps({"at": f"2026-08-29T{hour:02}:00:00Z"}) + "\n" for hour in range(23))
    (scratch / "errors").write_text(errors)
    assert not document("correlate", EVENTS, "--canary", str(scratch / "errors"))["significant"]
    found = document("correlate", str(scratch / "events"), "--canary", str(scratch / "errors"))
    assert found["p"] is None and "a clock was wrong" in found["verdict"]


def test_what_moult_events_prints_is_read_as_its_file_is(start, scratch):
    run_of_moult = Run(start, scratch, *LIMIT)
    run_of_moult.serve()
    run_of_moult.grow(run_of_moult.pid_of(0), OVER_LIMIT)
    run_of_moult.recycled()
    run_of_moult.serve()
    run_of_moult.wait_events("worker_exited")
    printed = run_of_moult.moult.client("events", "--json").stdout
    by_stdin = run("doctor", "--json", "-", input=printed).stdout
    assert json.loads(by_stdin)["recycles"] == 1
    assert by_stdin == run("doctor", "--json", str(run_of_moult.events.path)).stdout


def test_what_a_real_moult_writes_is_read_and_names_nothing(start, scratch):
    run_of_moult = Run(start, scratch, *LIMIT, "-w", "2")
    run_of_moult.serve(2)
    pid = run_of_moult.pid_of(0)
    run_of_moult.grow(pid, OVER_LIMIT)
    run_of_moult.recycled()
    run_of_moult.serve(2)
    assert run_of_moult.moult.stop() == 0
    path, lines = str(run_of_moult.events.path), run_of_moult.events.all()
    found = document("doctor", path)
    assert (found["malformed_lines"], found["lines"], found["recycles"]) == (0, len(lines), 1)
    assert (found["findings"], found["workers"], found["instances"]) == ([], 2, 1)
    margins = next(check for check in found["checks"] if check["name"] == "margins")
    assert margins["figures"]["recycles"] == 1
    correlated = document("correlate", path, "--canary", CANARY)
    assert correlated["recycles"] == 1 and "too few" in correlated["verdict"]
