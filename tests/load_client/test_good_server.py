"""Against servers that do well nothing fails, whatever is asked: what fails elsewhere is not the client's doing."""
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ROOT
from tools.load_client.client import Plan
from tools.load_client.connection import Endpoint
from tools.load_client.crowd import run
from tools.load_client.exchanges import KINDS, mix_of

NEWEST_PYTHON = ROOT / "build/venv-newest/bin/python"
PYTHONS = [sys.executable, *([str(NEWEST_PYTHON)] if NEWEST_PYTHON.exists() else [])]
SINGLY = {**mix_of("all"), "pipelined": 0}


def bound(path: "str | None") -> socket.socket:
    """Listens already, so that nobody has to wait until the server does."""
    listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen(128)
    return listener


@pytest.fixture(params=PYTHONS, ids=lambda python: "newest" if python == str(NEWEST_PYTHON) else "debian")
def python(request) -> str:
    return request.param


@pytest.fixture(params=["tcp", "unix"])
def serve(request, python, tmp_path):
    """serve("uvicorn", ...): that server has echo_app.py; the Endpoint to ask."""
    started = []

    def start(*command: str) -> Endpoint:
        with bound(str(tmp_path / "socket") if request.param == "unix" else None) as listener:
            given = [word.format(fd=listener.fileno()) for word in command]
            started.append(subprocess.Popen([python, "-m", *given], cwd=ROOT,
                                            pass_fds=[listener.fileno()],
                                            stdout=subprocess.DEVNULL, stderr=open(tmp_path / "stderr", "wb")))
            address = listener.getsockname()
        return Endpoint(listener.family, address, "localhost")
    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def assert_clean(tally) -> None:
    assert tally.clean and tally.requests == tally.answered, (tally.as_json())


@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_uvicorn_alone(serve, parser):
    server = serve("uvicorn", "--fd", "{fd}", "--http", parser, "--no-access-log", "tools.load_client.echo_app:asgi")
    for blind in (True, False):
        tally = run(Plan(server, mix_of("all"), connections=16, fresh=2, exchanges=30, blind=blind))
        assert_clean(tally)
        assert tally.connections == 16 + 2 * 30 and tally.announced_closes == 0 == tally.moved
    tally = run(Plan(server, {kind: 1 for kind in KINDS}, connections=8, exchanges=8, blind=True, processes=2))
    assert_clean(tally)
    assert set(tally.kinds) == set(KINDS)


def test_gthread_alone(serve, python):
    mix = mix_of("all") if python == str(NEWEST_PYTHON) else SINGLY  # gunicorn 20.1 forgets the second of a pair
    server = serve("gunicorn", "-b", "fd://{fd}", "-k", "gthread", "--threads", "8", "--keep-alive", "75",
                   "tools.load_client.echo_app:wsgi")
    for blind in (True, False):
        assert_clean(run(Plan(server, mix, connections=8, fresh=2, exchanges=30, blind=blind)))
