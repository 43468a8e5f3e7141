"""Thirty recycles for max requests, memory and the operator under clients that never look before they write, with
each server, age, loop, parser and transport: no request fails. Each pair of these is in a cell; tools/bench has all."""
import os
import subprocess
import sys

import pytest

from harness import BINARY, ROOT

CELLS = ["uvicorn-old-asyncio-httptools-tcp", "uvicorn-old-uvloop-h11-unix", "uvicorn-new-asyncio-h11-unix",
         "uvicorn-new-uvloop-httptools-unix", "uvicorn-new-uvloop-h11-tcp", "gthread-old-unix", "gthread-new-tcp"]


@pytest.mark.parametrize("cell", CELLS)
def test_no_recycle_fails_a_request_or_closes_an_idle_connection(environment, cell: str):
    # Fewer workers and clients than in the bench, and fewer requests a worker: the machine runs other tests too.
    done = subprocess.run([sys.executable, "-m", "tools.bench.recycles", BINARY, "--cell", cell, "--recycles", "30",
                           "--workers", "2", "--connections", "16", "--max-requests", "200"], cwd=ROOT,
                          env={**environment, "PATH": os.environ["PATH"]}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
