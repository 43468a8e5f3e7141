"""What a first start says and exits with when it cannot be."""
import json
import re
import subprocess

import pytest

from harness import BINARY, DEBIAN_PYTHON
from versions import BROKEN_IMPORT, BROKEN_STARTUP, HANGING_STARTUP

FEW = ("--boot-attempts", "2", "--boot-timeout", "1s")


def test_an_app_that_raises_at_import_is_exit_4_with_the_traceback(start, write_app):
    moult = start("app:app", chdir=write_app(BROKEN_IMPORT))
    assert moult.wait_exit() == 4
    assert "Traceback (most recent call last)" in moult.log()
    assert "ValueError: the shelf is empty" in moult.log()
    assert 'app.py", line' in moult.log()


def test_an_app_that_is_not_there_is_exit_4_and_named(start, scratch):
    moult = start("nowhere:app", chdir=scratch)
    assert moult.wait_exit() == 4
    assert "nowhere" in moult.log()


def test_a_traceback_is_shown_once(start, write_app):
    moult = start("app:app", chdir=write_app(BROKEN_IMPORT))
    assert moult.wait_exit() == 4
    assert moult.log().count("ValueError: the shelf is empty") == 1


def test_what_an_app_printed_before_it_failed_to_load_is_shown(start, write_app):
    moult = start("app:app", chdir=write_app("print('looking at the shelf')\n" + BROKEN_IMPORT))
    assert moult.wait_exit() == 4
    assert "looking at the shelf" in moult.log()


def test_a_program_that_is_no_python_is_exit_4_and_said_to_be_none(start):
    moult = start("--python", "/bin/true", "hello:app")
    assert moult.wait_exit() == 4
    assert "/bin/true exited with status 0 before moult's part ran in it: is it a Python 3 interpreter?" in moult.log()


@pytest.mark.parametrize("text", [HANGING_STARTUP, HANGING_STARTUP.replace("except Exception", "except BaseException")],
                         ids=["plainly", "as-Starlette"])
def test_a_start_up_that_hangs_is_said_to_be_late_and_nothing_else(start, write_app, text: str):
    moult = start(*FEW, "app:app", chdir=write_app(text))
    assert moult.wait_exit() == 3
    assert "it was not ready within --boot-timeout (1s)" in moult.log()
    assert "status 0" not in moult.log()
    assert "Traceback" not in moult.log() and "LeaveBoot" not in moult.log()


def test_an_attribute_that_is_not_there_is_exit_4_and_named(start):
    moult = start("hello:nothing")
    assert moult.wait_exit() == 4
    assert "nothing" in moult.log()


def test_an_app_that_ends_its_process_at_import_is_exit_4(start):
    moult = start("hello:app", env={"IMPORT_EXIT": "0"})
    assert moult.wait_exit() == 4


@pytest.mark.parametrize("text, cause", [(BROKEN_STARTUP, "the cupboard is bare"), (HANGING_STARTUP, "READY")],
                         ids=["raises", "hangs"])
def test_an_app_that_never_gets_ready_is_exit_3_with_the_cause(start, write_app, text: str, cause: str):
    moult = start(*FEW, "app:app", chdir=write_app(text))
    assert moult.wait_exit() == 3
    assert cause.lower() in moult.log().lower()


def test_without_preload_an_app_that_raises_at_import_ends_it_too(start, write_app):
    moult = start(*FEW, "--no-preload", "app:app", chdir=write_app(BROKEN_IMPORT))
    assert moult.wait_exit() in (3, 4)
    assert "the shelf is empty" in moult.log()


def test_an_address_in_use_is_exit_1_and_names_who_has_it(start):
    first = start("hello:app")
    first.wait_serving(1)
    second = start("hello:app", name="second", bind=f"127.0.0.1:{first.address}")
    assert second.wait_exit() == 1
    assert f"cannot bind 127.0.0.1:{first.address}: Address already in use" in second.log()
    assert "listens there" in second.log()
    assert first.fetch().status == 200


def without_comments(printed: str) -> dict:
    return json.loads(re.sub(r"\s// .*$", "", printed, flags=re.MULTILINE))


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("arguments, named", [
    (("--wokers", "3", "hello:app"), "workers"),
    (("-w", "none", "hello:app"), "none"),
    (("-b", "8000", "hello:app"), "127.0.0.1:8000"),
    (("-t", "5 lightyears", "hello:app"), "lightyears"),
    ((), "MODULE:ATTR"),
    (("--sidecar-bind", "fd://9", "hello:app"), "is neither HOST:PORT nor unix:PATH"),
    (("--sidecar-bind", ":9", "--", "sleep", "1000"), "a command does not know this door"),
    (("-b", ":9", "--sidecar-bind", ":9", "hello:app"), "is taken by --bind already"),
    (("--idle", "5m", "--", "sleep", "1000"), "does not see whether a command is idle"),
    (("--check-config", "--state-dir", "/nowhere/at/all", "hello:app"), "there is no folder /nowhere/at/all"),
    (("--reload", "hello:app"), "moult reload"),
    (("--", "no-such-program-anywhere"), "no-such-program-anywhere"),
    (("--check-config", "--", "no-such-program-anywhere"), "no-such-program-anywhere"),
    (("--control", "/nowhere/at/all.sock", "hello:app"), "/nowhere/at"),
    (("--check-config", "--python", "/bin/true", "-k", "uvicorn", "hello:app"), "is it a Python 3 interpreter?"),
    (("--check-config", "--python", "/bin/true", "hello:app"), "is it a Python 3 interpreter?"),
    (("--check-config", "--pid", "/nowhere/at/all.pid", "hello:app"), "there is no folder /nowhere/at"),
    (("--check-config", "--memory-limit", "auto", "--hard-limit", "40MB", "hello:app"), "is too low for any worker"),
    (("--check-config", "--memory-limit", "auto", "--hard-limit", "70MB", "--min-runway", "80MB", "hello:app"),
     "leaves it 80 MB to grow"),
])
def test_bad_usage_is_exit_2_and_says_what_to_write(arguments, named: str):
    refused = run("run", *arguments)
    assert refused.returncode == 2, refused.stderr
    assert named in refused.stderr


@pytest.mark.parametrize("arguments", [("help",), ("version",), ("--version",), ("run", "--print-config", "hello:app")],
                         ids=" ".join)
def test_what_cannot_be_printed_is_exit_1_and_said(arguments):
    with open("/dev/full", "w") as full:
        printed = subprocess.run([BINARY, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=30)
    assert printed.returncode == 1
    assert "cannot write to stdout" in printed.stderr


def test_check_config_starts_nothing():
    checked = run("run", "--check-config", "--python", DEBIAN_PYTHON, "-w", "3", "hello:app")
    assert checked.returncode == 0, checked.stderr


def check_of_an_app_that_must_not_be_loaded(scratch, flags):
    (scratch / "app" / "loud.py").write_text("raise RuntimeError('it was loaded')\n")
    checked = run("run", "--check-config", "--chdir", str(scratch / "app"), "--python", DEBIAN_PYTHON, *flags,
                  "loud:app")
    assert "it was loaded" not in checked.stderr
    return checked


@pytest.mark.parametrize("flags", [("-k", "uvicorn", "--server-option", "http=h11"),
                                   ("-k", "gthread", "--server-option", "limit_request_line=100"),
                                   ("--server-option", "ws_max_size=1000")], ids=" ".join)
def test_check_config_asks_the_server_for_its_options_and_loads_no_app(flags, scratch):
    checked = check_of_an_app_that_must_not_be_loaded(scratch, flags)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith("the configuration is good\n")


@pytest.mark.parametrize("flags, named", [
    (("-k", "uvicorn", "--server-option", "htpt=h11"), "did you mean 'http'?"),
    (("-k", "gthread", "--server-option", "limit_request_lin=1"), "did you mean 'limit_request_line'?"),
    (("-k", "os.path"), "no worker class of gunicorn"),
    (("--server-option", "no_such_thing=1"), "has no such option"),
])
def test_check_config_refuses_what_the_server_does_not_know(flags, named: str, scratch):
    checked = check_of_an_app_that_must_not_be_loaded(scratch, flags)
    assert checked.returncode == 2 and checked.stdout == ""
    assert named in checked.stderr


@pytest.mark.parametrize("arguments, named", [
    (("--fleet", "redis://127.0.0.1?password-file=/nope"), "--fleet: cannot read the store's password from /nope"),
    (("--fleet", "rediss://127.0.0.1", "--fleet-ca", "/etc/hostname"), "moult: --fleet-ca /etc/hostname: no cert"),
])
def test_check_config_reads_the_files_that_a_start_reads(arguments, named: str):
    for purpose in ("--check-config",), ():
        refused = run("run", *purpose, "--python", DEBIAN_PYTHON, "--fleet-name", "web", *arguments, "hello:app")
        assert refused.returncode == 1, refused.stdout + refused.stderr
        assert named in refused.stderr


def test_print_config_is_a_config_file_that_can_be_read_again(scratch):
    printed = run("run", "--print-config", "-w", "3", "-b", "127.0.0.1:4711", "hello:app")
    assert printed.returncode == 0, printed.stderr
    file = scratch / "moult.json"
    file.write_text(printed.stdout)
    again = run("run", "--print-config", "-c", str(file))
    assert without_comments(again.stdout) == without_comments(printed.stdout)
    assert without_comments(printed.stdout)["workers"] == 3


def test_a_flag_goes_before_the_environment_and_the_environment_before_the_file(start, scratch):
    file = scratch / "moult.json"
    file.write_text('{"workers": 1, /* three is plenty */ "keep-alive": "5s"}')
    by_file = start("-c", file, "hello:app")
    by_file.wait_serving(1)
    by_file.stop()
    by_environment = start("-c", file, "hello:app", env={"WEB_CONCURRENCY": "2"})
    by_environment.wait_serving(2)
    by_environment.stop()
    start("-c", file, "-w", "3", "hello:app", env={"MOULT_WORKERS": "2"}).wait_serving(3)


def test_port_in_the_environment_is_where_it_listens(start, free_port):
    port = free_port()
    moult = start("hello:app", bind=False, env={"PORT": str(port)})
    moult.address = port
    moult.wait_serving(1)
    assert moult.fetch().status == 200
