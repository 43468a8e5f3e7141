"""The number of workers follows what is asked for."""
import signal

import pytest

from load import Load


def test_scale_adds_and_removes_workers_and_keeps_the_others(start):
    moult = start("-w", "2", "hello:app")
    first = moult.wait_serving(2)
    assert moult.client("scale", "4").returncode == 0
    four = moult.wait_serving(4)
    assert set(first) < set(four)
    assert moult.client("scale", "1").returncode == 0
    assert moult.wait_serving(1)[0] in four
    assert moult.status()["wanted"] == 1


def test_ttin_and_ttou_change_the_number_by_one(start):
    moult = start("-w", "2", "hello:app")
    moult.wait_serving(2)
    moult.signal(signal.SIGTTIN)
    moult.wait_serving(3)
    moult.signal(signal.SIGTTOU)
    moult.wait_serving(2)


def test_ttou_never_takes_the_last_worker(start):
    moult = start("-w", "2", "hello:app")
    moult.wait_serving(2)
    for wanted in (1, 1):
        moult.signal(signal.SIGTTOU)
        moult.wait_serving(wanted)
    moult.wait_for(lambda: moult.status()["wanted"] == 1, "one is still wanted")
    assert moult.fetch().status == 200


def test_no_request_fails_while_workers_come_and_go(start):
    moult = start("-w", "2", "hello:app")
    moult.wait_serving(2)
    with Load(moult.address) as load:
        for wanted in (4, 1, 3, 2):
            assert moult.client("scale", str(wanted)).returncode == 0
            moult.wait_serving(wanted)
    assert load.failures == []


@pytest.mark.parametrize("nonsense", ["many", "-1", "99999999999", "1.5"])
def test_a_number_that_is_none_is_refused_and_nothing_changes(start, nonsense: str):
    moult = start("-w", "2", "hello:app")
    workers = moult.wait_serving(2)
    assert moult.client("scale", nonsense).returncode != 0
    assert moult.wait_serving(2) == workers
