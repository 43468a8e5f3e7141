"""The apps under measurement: small, so that what is measured is the server around them."""

import gc
import os

from fastapi import FastAPI

HEAP_BYTES = int(os.environ.get("BENCH_HEAP_BYTES", "0"))  # preloaded, touched
HEAP_OBJECTS = int(os.environ.get("BENCH_HEAP_OBJECTS", "0"))  # preloaded, tracked by the garbage collector

heap = bytearray(b"x") * HEAP_BYTES
objects = [{"number": [n]} for n in range(HEAP_OBJECTS // 2)]  # a dict and a list each

app = FastAPI()


@app.get("/")
async def hello() -> dict:
    return {"hello": "world"}


@app.get("/pid")
async def pid() -> dict:
    return {"pid": os.getpid()}


@app.get("/collect")
async def collect() -> dict:
    return {"collected": gc.collect()}


async def bare(scope, receive, send):
    """Hello without a framework: the server's own cost is the largest share here."""
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})
