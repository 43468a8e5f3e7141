"""What --check-config asks the user's server: whether it takes its options; the app is not loaded."""
import json
import os
import subprocess

import pytest
from master import APPS, PROGRAM, PYTHON, contract


def answer(directory=APPS, app="no_such_module:app", **told):
    everything = dict(
        version=1, release=contract.RELEASE, master_pid=os.getpid(), app=app, preload="on", post_fork=None,
        worker_class="auto", server_options={}, listeners=[], internal_fd=None, sidecar_fd=None,
        keep_alive_seconds=75.0, graceful_timeout_seconds=10.0, timeout_seconds=30.0,
        request_timeout_seconds=0.0, backlog=128, threads=None, log_level="info", access_logfile=None,
        forwarded_allow_ips=None, root_path=None, certfile=None, keyfile=None, idle_ignore=[],
        spares=False)
    everything.update(told)
    memory = os.memfd_create("settings")
    os.write(memory, json.dumps(everything).encode())
    reader, writer = os.pipe()
    command = [PYTHON, PROGRAM, "--check-settings", "--settings-fd", str(memory), "--answer-fd", str(writer)]
    checked = subprocess.run(command, cwd=str(directory), pass_fds=[memory, writer], timeout=30)
    os.close(memory)
    os.close(writer)
    with os.fdopen(reader) as file:
        assert checked.returncode == 0
        return file.read()


@pytest.mark.parametrize("worker_class, option", [
    ("uvicorn", "ws_max_size"), ("gthread", "limit_request_line"), ("sync", "limit_request_line"),
    ("auto", "ws_max_size"), ("auto", "limit_request_line"),
])
def test_what_the_chosen_server_knows_is_taken_without_an_app(worker_class, option):
    assert answer(worker_class=worker_class, server_options={option: "100"}) == "OK"


@pytest.mark.parametrize("worker_class, options, words", [
    ("uvicorn", {"htpt": "h11"}, "did you mean 'http'?"),
    ("uvicorn", {"limit_request_line": "100"}, "has no such option"),
    ("gthread", {"limit_request_lin": "1"}, "did you mean 'limit_request_line'?"),
    ("gthread", {"bind": ":80"}, "moult does this itself: -b"),
    ("gthreed", {}, "did you mean 'gthread'?"),
    ("os.path", {}, "this is a module, no worker class of gunicorn"),
])
def test_what_it_does_not_know_is_refused_as_at_start(worker_class, options, words):
    assert words in answer(worker_class=worker_class, server_options=options)


def test_while_the_app_is_to_choose_only_what_neither_knows_is_refused():
    said = answer(server_options={"no_such_thing": "1"})
    assert "uvicorn" in said and "gunicorn" in said and said.count("has no such option") == 2


def test_a_configuration_file_that_fails_is_told_with_its_traceback(tmp_path):
    (tmp_path / "gunicorn.conf.py").write_text("raise ValueError('broken conf')\n")
    assert "ValueError: broken conf" in answer(tmp_path, worker_class="sync")
