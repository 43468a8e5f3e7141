"""New code, code that does not work, slow code and short lives, under clients that never look before they write."""
import pytest

from events import Events
from harness import DEBIAN_PYTHON, NEWEST_PYTHON, ROOT
from recycling import UNHURRIED
from strict_load import ECHO, SERVERS, StrictLoad

RELOADS = 10
TIMES = 5  # that each kind of broken code is tried

# What the load client asks, under a version that each answer names.
_ASGI = """
import asyncio
from {echo} import asgi
{top}
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        {startup}
    async def named(message):
        if message["type"] == "http.response.start":
            message["headers"].append((b"x-version", b"{name}"))
        await send(message)
    await asgi(scope, receive, named)
"""
_WSGI = """
from {echo} import wsgi
{top}
def app(environ, start_response):
    return wsgi(environ, lambda status, headers: start_response(status, [*headers, ("X-Version", "{name}")]))
"""


def echo_app(server: str, name: str, top: str = "", startup: str = "pass") -> str:
    """`top` runs at import, `startup` (ASGI only) in each worker."""
    return {"uvicorn": _ASGI, "gthread": _WSGI}[server].format(echo=ECHO, name=name, top=top, startup=startup)


BROKEN_IMPORT = {"top": "raise ValueError('the shelf is empty')"}
# It loads, and cannot boot: in a worker, and not in the fork server that loads it.
BROKEN_BOOT = {"uvicorn": {"startup": """
        await receive()
        return await send({"type": "lifespan.startup.failed", "message": "the cupboard is bare"})"""},
               "gthread": {"top": "import os; os.register_at_fork(after_in_child=lambda: os._exit(7))"}}


class Code:
    """One moult whose app is rewritten."""

    def __init__(self, moult, server: str, write_app) -> None:
        self.moult, self.server, self.write_app = moult, server, write_app

    def become(self, name: str, **broken: str) -> int:
        """What `moult reload --wait` exits with."""
        self.write_app(echo_app(self.server, name, **broken))
        return self.moult.client("reload", "--wait").returncode

    def version(self) -> str:
        return self.moult.fetch().headers["X-Version"]


@pytest.fixture(params=[("uvicorn", DEBIAN_PYTHON), ("gthread", NEWEST_PYTHON)], ids=["uvicorn-old", "gthread-newest"])
def code(start, write_app, request):
    """Two workers of version old; failed boots are given up at once."""
    server, python = request.param
    kind = [word for word in SERVERS[server] if ECHO not in word]
    moult = start("-w", "2", "--python", python, *UNHURRIED, "--boot-attempts", "1", *kind, "app:app",
                  chdir=write_app(echo_app(server, "old")), env={"PYTHONPATH": str(ROOT)})
    moult.wait_serving(2)
    return Code(moult, server, write_app)


def test_reload_after_reload_fails_no_request(code):
    with StrictLoad(code.moult) as load:
        for number in range(RELOADS):
            assert code.become(f"new-{number}") == 0
            assert code.version() == f"new-{number}"
    assert load.failures() == []
    assert load.seen["announced_closes"] == 0
    assert load.seen["moved"] >= RELOADS


def test_code_that_cannot_be_loaded_or_booted_fails_no_request_and_the_old_code_serves(code):
    before = code.moult.worker_pids()
    with StrictLoad(code.moult) as load:
        for _ in range(TIMES):
            for broken in (BROKEN_IMPORT, BROKEN_BOOT[code.server]):
                assert code.become("broken", **broken) != 0
                assert code.version() == "old"
    assert load.failures() == []
    assert code.moult.wait_serving(2) == before


def test_the_only_worker_is_recycled_though_its_app_boots_slowly(start, scratch, write_app):
    events, waits = Events(scratch / "moult.jsonl"), scratch / "waits"
    slow = echo_app("uvicorn", "slow", top="import os",
                    startup=f"while os.path.exists({str(waits)!r}): await asyncio.sleep(0.02)")
    moult = start(*events.flags, *UNHURRIED, "app:app", chdir=write_app(slow), env={"PYTHONPATH": str(ROOT)})
    moult.wait_serving(1)
    with StrictLoad(moult, "--think", "10", connections=2) as load:
        for number in range(3):
            waits.touch()
            assert moult.client("recycle").returncode == 0
            moult.wait_for(lambda: moult.workers("booting"), "the next one boots")
            answered = moult.workers()[0]["requests"]
            moult.wait_for(lambda: moult.workers()[0]["requests"] >= answered + 100, "the old one serves meanwhile")
            assert moult.workers("booting")
            waits.unlink()
            moult.wait_for(lambda: len(events.all("worker_recycled")) > number, "it is replaced")
    assert load.failures() == []


@pytest.mark.parametrize("server", SERVERS)
def test_fresh_connections_flat_out_to_workers_that_serve_ten_requests(start, scratch, server: str):
    events = Events(scratch / "moult.jsonl")
    moult = start("-w", "2", *events.flags, *UNHURRIED, "--max-requests", "10", *SERVERS[server], chdir=ROOT)
    moult.wait_serving(2)
    with StrictLoad(moult, connections=0, fresh=4) as load:
        moult.wait_for(lambda: len(events.all("worker_recycled")) >= 20, "twenty recycles")
    assert load.failures() == []
    assert {each["reason"] for each in events.all("worker_recycled")} == {"max_requests"}
