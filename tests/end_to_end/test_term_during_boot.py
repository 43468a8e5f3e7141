"""TERM at any moment of a boot: everything is gone soon, and nothing is left (the fixture looks)."""
import random
import signal
import time

import pytest

SEED = 4711


def term_at(start, seconds: float, *arguments: str, grace: float = 15, **more) -> None:
    moult = start("-w", "2", *arguments, **more)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.001)
    moult.signal(signal.SIGTERM)
    # -15: it came before moult could arrange to hear it; then there is nothing yet to tidy up.
    assert moult.wait_exit(grace) in (0, -signal.SIGTERM), moult.log()


@pytest.mark.parametrize("batch", range(8))
def test_term_at_random_moments_of_a_fast_boot(start, batch: int):
    moments = random.Random(SEED + batch)
    for _ in range(25):
        term_at(start, moments.uniform(0, 0.5), "hello:app")


@pytest.mark.parametrize("batch", range(2))
def test_term_at_random_moments_of_a_slow_start_up_hook(start, batch: int):
    moments = random.Random(SEED * 2 + batch)
    for _ in range(6):
        term_at(start, moments.uniform(0, 1.5), "--graceful-timeout", "2s", "--kill-after", "1s", "hello:app",
                env={"STARTUP_SECONDS": "60"})


def test_term_during_a_slow_import(start):
    for seconds in (0.1, 0.4, 0.8):
        term_at(start, seconds, "--kill-after", "1s", "hello:app", env={"IMPORT_SECONDS": "60"})


def test_two_terms_and_an_int_are_no_more_than_a_quick_stop(start):
    moult = start("hello:app", env={"STARTUP_SECONDS": "60"})
    moult.wait_for(lambda: moult.workers("booting"), "a worker boots")
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
        moult.signal(number)
    assert moult.wait_exit(15) == 0


def test_hup_and_ttin_during_boot_are_not_lost(start):
    moult = start("-w", "1", "hello:app", env={"STARTUP_SECONDS": "0.5"})
    moult.wait_for(lambda: moult.workers("booting"), "a worker boots")
    moult.signal(signal.SIGTTIN)
    moult.wait_serving(2)
