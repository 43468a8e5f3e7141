"""Real workers of each server whose connections can move, and the master's side of it. Fixtures, for tests."""
import pytest
from master import Master
from parking import Parking

CELLS = [("uvicorn", loop, http) for loop in ("asyncio", "uvloop") for http in ("httptools", "h11")] + [
    ("uvicorn.workers.UvicornWorker",), ("gthread",)]


@pytest.fixture(scope="module", params=CELLS, ids="-".join)
def server(request):
    kind, *rest = request.param
    more = {"server_options": dict(zip(("loop", "http"), rest))} if rest else {"worker_class": kind, "threads": 16}
    with Master("plain_wsgi:app" if kind == "gthread" else "asgi_app:app", unix=True, **more) as master:
        master.loaded()
        master.kind = kind
        yield master
        for bad in ("bad message", "was destroyed", "never retrieved", "AssertionError"):
            assert bad not in master.log()


@pytest.fixture
def parking():
    with Parking() as one:
        yield one


@pytest.fixture
def worker(server, parking):
    one = parking.add(server.worker())
    assert one.drain == "handover"
    yield one
    one.kill()


@pytest.fixture
def retire(server, parking):
    """As the master does: the successor first. Not sooner, for it accepts too. Gives the successor."""
    made = []

    def successor():
        made.append(parking.add(server.worker(1)))
        return made[-1]

    def replace(old, seconds=10.0):
        new = successor()
        parking.retire(old, seconds)
        return new

    replace.successor = successor
    yield replace
    for one in made:
        one.kill()


@pytest.fixture
def alone(server):
    """A worker whose channel is read by the test."""
    one = server.worker()
    yield one
    one.kill()


def asgi_only(server):
    if server.kind == "gthread":
        pytest.skip("WSGI")


def pid_of(answer):
    assert answer.status == 200 and "close" not in answer.headers.get("connection", ""), answer.headers
    return int(answer.text().rsplit(" ", 1)[1])
