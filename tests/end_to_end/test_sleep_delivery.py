"""No app sleeps before its answers have arrived, and none is kept awake for ever by a client that takes nothing."""
import os
import subprocess
import time

import pytest

from events import Events
from harness import BINARY, holds_for
from sleeping import IDLE, idle, wait_asleep, wait_served
from test_delivery import (LARGE, MIB, RATE, SMALL, WITHOUT_THE_RIGHT, as_root, asking, early, linger, python,  # noqa
                           sums)

SOME = 50 * 1024  # bytes a second: SMALL takes 8 seconds


def blocked_by(moult, why: str) -> bool:
    return idle(moult).get("blocked_by") == why


@pytest.mark.parametrize("sends_on", [False, True], ids=["silent", "sending"])
def test_it_does_not_sleep_before_a_slow_reader_has_all_of_16_mib(start, python, sends_on):  # noqa: F811
    moult = start(*IDLE, *python, "large:app")
    wait_served(moult)
    with (early if sends_on else asking)(moult.address, LARGE, "Connection: close") as client:
        if sends_on:
            client.send_on()
        for received in range(MIB, LARGE, MIB):
            client.read(received, RATE)
            assert idle(moult)["state"] == "active", "it is awake, while something is on its way"
        assert client.read(2 * LARGE, RATE) == LARGE and client.ended
    wait_asleep(moult)
    assert sums(linger(moult))


def test_a_client_that_keeps_its_connection_has_all_and_is_answered_after_the_sleep(start):
    moult = start(*IDLE, "large:app")
    wait_served(moult)
    with asking(moult.address, LARGE) as client:
        assert client.read(LARGE, 2 * RATE) == LARGE
        wait_asleep(moult)
        client.ask("/?bytes=10", "Content-Length: 0")
        moult.wait_for(lambda: idle(moult)["state"] == "active", "it wakes")
        assert client.read(LARGE + 10) >= LARGE + 10


def test_what_is_in_the_kernel_only_keeps_it_awake_and_status_says_so(start):
    moult = start(*IDLE, "large:app")
    wait_served(moult)
    with asking(moult.address, SMALL) as client:
        moult.wait_for(lambda: blocked_by(moult, "undelivered"), "status says so")
        holds_for(lambda: idle(moult)["state"] == "active", 3, "it is awake")
        assert client.read(SMALL) == SMALL
        wait_asleep(moult)


def test_an_operators_sleep_waits_for_it_too(start):
    moult = start("large:app")
    moult.wait_serving()
    with asking(moult.address, SMALL) as client:
        moult.wait_for(lambda: moult.workers()[0]["requests"] == 1, "its answer is with the kernel")
        sleep = subprocess.Popen([BINARY, "sleep", "--control", moult.control], env=moult.environment,
                                 stdout=subprocess.DEVNULL)
        moult.wait_for(lambda: moult.status()["workers"] == [], "no worker is left")
        holds_for(lambda: idle(moult)["state"] == "stopping", 2, "it waits")
        assert client.read(SMALL) == SMALL
        assert sleep.wait(60) == 0
    assert idle(moult)["state"] == "asleep"


def test_an_answer_that_takes_longer_than_the_timeout_is_not_cut_off_while_something_is_taken(start, scratch):
    events = Events(scratch / "events.jsonl")
    moult = start(*IDLE, "--linger-timeout", "3s", *events.flags, "large:app")
    wait_served(moult)
    with asking(moult.address, SMALL) as client:
        assert client.read(SMALL, SOME) == SMALL
    wait_asleep(moult)
    assert not events.all("linger_aborted")


@as_root
def test_who_takes_nothing_is_cut_off_after_the_timeout_and_it_sleeps(start, scratch):
    events = Events(scratch / "events.jsonl")
    moult = start(*IDLE, "--linger-timeout", "2s", *events.flags, "large:app")
    wait_served(moult)
    began = time.monotonic()
    with asking(moult.address, SMALL) as client:
        moult.wait_for(lambda: blocked_by(moult, "undelivered"), "status says so")
        wait_asleep(moult)
        assert time.monotonic() - began >= 2
        aborted = moult.wait_for(lambda: events.all("linger_aborted"), "it is told")
        assert [(event["during"], event["connections"]) for event in aborted] == [("sleep", 1)]
        assert client.read(LARGE) < SMALL
        assert sums(linger(moult)) and linger(moult)["outcomes"]["aborted"] == 1


def test_a_peers_reset_releases_at_once(start, scratch):
    events = Events(scratch / "events.jsonl")
    moult = start(*IDLE, "--linger-timeout", "10m", *events.flags, "large:app")
    wait_served(moult)
    client = asking(moult.address, SMALL)
    moult.wait_for(lambda: blocked_by(moult, "undelivered"), "status says so")
    client.reset()
    wait_asleep(moult)
    assert not events.all("linger_aborted") and not events.all("fail_closed")


def test_where_aborting_is_not_permitted_it_stays_awake_and_says_so_once(start, scratch):
    events = Events(scratch / "events.jsonl")
    moult = start(*IDLE, "--linger-timeout", "1s", *events.flags, "large:app",
                  wrapper=WITHOUT_THE_RIGHT if os.getuid() == 0 else None)
    wait_served(moult)
    with asking(moult.address, SMALL) as client:
        failed = moult.wait_for(lambda: events.all("fail_closed"), "it is told")
        assert [(each["during"], each["connections"], each["cause"]) for each in failed] == [("sleep", 1,
                                                                                            "not_permitted")]
        holds_for(lambda: idle(moult)["state"] == "active", 4, "it is awake")
        assert linger(moult)["fail_closed"] == 1 and blocked_by(moult, "undelivered")
        assert len(events.all("fail_closed")) == 1
        assert client.read(SMALL) == SMALL, "nothing of it was lost"
        wait_asleep(moult)
    assert linger(moult)["fail_closed"] == 0
