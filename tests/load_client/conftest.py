import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

from hostile import Hostile  # noqa: E402


@pytest.fixture(params=["tcp", "unix"])
def hostile(request, tmp_path):
    """hostile(talk): a server whose every connection is treated by talk(peer); its `url` is the client's."""
    started = []

    def start(talk) -> Hostile:
        started.append(Hostile(talk, None if request.param == "tcp" else str(tmp_path / "socket")))
        return started[-1]
    yield start
    for server in started:
        server.stop()
    for server in started:
        assert not server.errors, server.errors
