"""A stop under load: whoever honours `Connection: close` meets nothing but shut doors."""
import signal

import pytest

from harness import DEBIAN_PYTHON, NEWEST_PYTHON, ROOT
from strict_load import SERVERS, StrictLoad

CELLS = {"uvicorn-old": ("uvicorn", DEBIAN_PYTHON), "uvicorn-newest": ("uvicorn", NEWEST_PYTHON),
         "gthread-old": ("gthread", DEBIAN_PYTHON), "gthread-newest": ("gthread", NEWEST_PYTHON)}


@pytest.fixture(params=list(CELLS))
def serve(start, request):
    """As start(), with the app that the load client asks."""
    server, python = CELLS[request.param]
    return lambda *flags, **more: start("--python", python, *flags, *SERVERS[server], chdir=ROOT, **more)


@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_only_who_comes_after_the_doors_are_shut_is_not_answered(serve, scratch, transport: str):
    # Longer than a turn of a worker's loop, after which uvicorn has made its default headers anew.
    moult = serve("-w", "3", "--stop-delay", "2s",
                  bind=f"unix:{scratch / 'run' / 'app.sock'}" if transport == "unix" else True)
    moult.wait_serving(3)
    with StrictLoad(moult, connections=12, fresh=2) as load:
        moult.signal(signal.SIGTERM)
        assert moult.wait_exit() == 0
    refused = load.seen["failures"].pop("refused")
    assert load.seen["kinds"].get("connect", 0) == refused > 0, "nobody is served any more"
    load.seen["examples"] = [example for example in load.seen["examples"] if example["failure"] != "refused"]
    assert load.failures() == []
    assert load.seen["announced_closes"] >= 12
