"""What the master itself costs while it watches three workers that nobody calls."""
import os
import time

import pytest

from harness import BINARY

with open(BINARY, "rb") as binary:
    SANITIZED = b"__sanitizer" in binary.read()
pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer costs more than moult does")


def test_the_master_takes_at_most_12_megabytes(start):
    moult = start("-w", "3", "hello:app")
    moult.wait_serving(3)
    with open(f"/proc/{moult.pid}/smaps_rollup") as rollup:
        pss_kilobytes = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    assert pss_kilobytes * 1024 <= 12_000_000


def cpu_ns(pid: int) -> int:
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def test_the_master_takes_at_most_3_thousandths_of_a_core(start):
    moult = start("-w", "3", "hello:app")
    moult.wait_serving(3)
    shares = []
    for _ in range(3):
        began, spent = time.monotonic(), cpu_ns(moult.pid)
        time.sleep(2)  # what is measured is time that passes
        shares.append((cpu_ns(moult.pid) - spent) / 1e9 / (time.monotonic() - began))
    assert min(shares) <= 0.003, shares
