"""What lasts longer than a request: WebSockets are told 1012 and come back, streams run to the deadline."""
import asyncio
import http.client
import time
from typing import List, NamedTuple

import pytest
import websockets

from events import Events
from harness import DEBIAN_PYTHON, NEWEST_PYTHON, connection
from processes import exists
from recycling import UNHURRIED

SERVICE_RESTART = 1012
CLIENTS = 20
LEAST_SPREAD_SECONDS = 1.0  # two, but the machine may have more to do


@pytest.fixture(params=[DEBIAN_PYTHON, NEWEST_PYTHON], ids=["old", "newest"])
def serve(start, scratch, request):
    """moult and its events, with one worker."""
    def begin(*flags: str):
        events = Events(scratch / "moult.jsonl")
        moult = start("--python", request.param, *events.flags, *UNHURRIED, *flags, "live:app")
        moult.wait_serving(1)
        return moult, events
    return begin


class Restart(NamedTuple):
    code: int
    at: float
    before: str  # who answered first, and who after the client came back
    after: str


async def chat_over_a_restart(url: str, ready: asyncio.Semaphore) -> Restart:
    async with websockets.connect(url) as first:
        await first.send("who are you?")
        before = await first.recv()
        ready.release()
        await first.wait_closed()
        code, at = first.close_code, time.monotonic()
    async with websockets.connect(url) as second:
        await second.send("and you?")
        return Restart(code, at, before, await second.recv())


async def chats_over(moult) -> List[Restart]:
    ready = asyncio.Semaphore(0)
    url = f"ws://127.0.0.1:{moult.address}/"
    chats = [asyncio.create_task(chat_over_a_restart(url, ready)) for _ in range(CLIENTS)]
    for _ in chats:
        await ready.acquire()
    assert moult.client("recycle").returncode == 0
    return await asyncio.wait_for(asyncio.gather(*chats), 60)


def test_websockets_are_told_1012_one_after_the_other_and_their_clients_come_back(serve):
    moult, events = serve()
    old = moult.worker_pids()[0]
    restarts = asyncio.run(chats_over(moult))
    assert [each.code for each in restarts] == [SERVICE_RESTART] * CLIENTS
    assert {each.before for each in restarts} == {str(old)}
    assert {each.after for each in restarts} == {str(moult.wait_serving(1)[0])}
    times = sorted(each.at for each in restarts)
    assert times[-1] - times[0] >= LEAST_SPREAD_SECONDS, [at - times[0] for at in times]
    recycled = moult.wait_for(lambda: events.all("worker_recycled"), "the recycle is over")
    assert [each["drain_outcome"] for each in recycled] == ["clean"]


def begin_stream(moult, path: str) -> http.client.HTTPResponse:
    client = connection(moult.address)
    client.request("GET", path)
    response = client.getresponse()
    assert response.readline() == b"data: 0\n"
    return response


def test_a_stream_that_ends_before_the_deadline_is_whole(serve):
    moult, events = serve()
    stream = begin_stream(moult, "/events?count=20")
    assert moult.client("recycle").returncode == 0
    lines = stream.read().split(b"\n\n")
    assert [line.strip() for line in lines if line.strip()] == [b"data: %d" % number for number in range(1, 20)]
    recycled = moult.wait_for(lambda: events.all("worker_recycled"), "the recycle is over")
    assert [each["drain_outcome"] for each in recycled] == ["clean"]


def test_a_stream_without_an_end_is_cut_at_the_deadline_and_counted(serve):
    moult, events = serve("--graceful-timeout", "2s")
    old = moult.worker_pids()[0]
    stream = begin_stream(moult, "/events")
    assert moult.client("recycle").returncode == 0
    moult.wait_for(lambda: moult.workers("retiring"), "it retires")
    began = time.monotonic()
    with pytest.raises(http.client.IncompleteRead) as cut:
        stream.read()
    assert b"data: 5\n" in cut.value.partial, "it ran on while its worker retired"
    assert time.monotonic() - began < 10
    moult.wait_for(lambda: not exists(old), "its worker is gone")
    recycled = moult.wait_for(lambda: events.all("worker_recycled"), "the recycle is over")
    assert [each["drain_outcome"] for each in recycled] == ["deadline"]
    (exited,) = moult.wait_for(lambda: [each for each in events.all("worker_exited") if each["pid"] == old],
                               "its exit is told")
    assert exited["exit_status"] == 75
    moult.wait_log("1 requests were still in flight")
