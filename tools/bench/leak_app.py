"""An app of 150 MB that leaks when it is told to, or from its start: `tools.bench.leaks` and `memory_cgroup` use it."""

import asyncio
import os
import random
import threading
import time

from fastapi import FastAPI
from fastapi.responses import JSONResponse, StreamingResponse

HEAP_BYTES = int(os.environ.get("BENCH_HEAP_BYTES", "150000000"))
HOOK_SECONDS = float(os.environ.get("BENCH_HOOK_SECONDS", "1"))
LEAK_AT_START = float(os.environ.get("BENCH_LEAK_AT_START", "0"))  # bytes a second
LONGEST_REQUEST = 0.1
FAIL_FILE = os.environ.get("BENCH_FAIL_FILE", "")  # while it exists, no worker can boot
STEP_SECONDS = 0.01
OBJECT_BYTES = 150
TOUCHED_A_REQUEST = int(os.environ.get("BENCH_TOUCHED_A_REQUEST", "20000"))

# Many small objects: who looks at one writes its count of references, so that the page it is on is copied.
heap = [bytes(OBJECT_BYTES - 41) for _ in range(HEAP_BYTES // OBJECT_BYTES)]
kept = []  # what leaks
app = FastAPI()


def leak(bytes_per_second: float) -> None:
    """Never ends: a worker that drains leaks on."""
    began, taken = time.monotonic(), 0
    while True:
        time.sleep(STEP_SECONDS)
        due = int((time.monotonic() - began) * bytes_per_second)
        kept.append(bytearray(b"x") * (due - taken))
        taken = due


def begin_to_leak(bytes_per_second: float) -> None:
    threading.Thread(target=leak, args=(bytes_per_second,), daemon=True).start()


@app.on_event("startup")
async def start() -> None:
    await asyncio.sleep(HOOK_SECONDS)
    if FAIL_FILE and os.path.exists(FAIL_FILE):
        raise RuntimeError("the file says that no worker can boot")
    if LEAK_AT_START:
        begin_to_leak(LEAK_AT_START)


@app.get("/")
async def work() -> dict:
    """Up to 100 ms, and it reads objects that it shares with the other workers."""
    first = random.randrange(max(len(heap) - TOUCHED_A_REQUEST, 1))
    touched = len(heap[first:first + TOUCHED_A_REQUEST])
    await asyncio.sleep(random.uniform(0, LONGEST_REQUEST * 0.9))
    return {"pid": os.getpid(), "touched": touched}


# Those below are for one worker: the others answer 409, and the caller tries again.


def not_meant(pid: int) -> "JSONResponse | None":
    return None if pid == os.getpid() else JSONResponse({"pid": os.getpid()}, status_code=409)


@app.get("/grow")
async def grow(pid: int, count: int):
    """Takes so many bytes at once."""
    refused = not_meant(pid)
    if not refused:
        kept.append(bytearray(b"x") * count)
    return refused or {"pid": pid}


@app.get("/leak")
async def leak_from_now(pid: int, count: int, rate: float):
    """Takes so many bytes at once, and then so many a second until the process ends."""
    refused = not_meant(pid)
    if not refused:
        kept.append(bytearray(b"x") * count)
        begin_to_leak(rate)
    return refused or {"pid": pid}


@app.get("/hold")
async def hold(pid: int, seconds: float):
    """A slow request: one line at once, one at the end."""
    refused = not_meant(pid)

    async def lines():
        yield b"begun\n"
        await asyncio.sleep(seconds)
        yield b"done\n"
    return refused or StreamingResponse(lines())
