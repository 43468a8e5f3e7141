"""`python3 -m tools.load_client` as a user meets it."""
import json
import subprocess
import sys
import time

import pytest

from paths import ROOT
from hostile import Hostile, Peer
from test_classes import everybody


def command(*arguments: str, before: "tuple[str, ...]" = (), **more) -> subprocess.CompletedProcess:
    return subprocess.run([*before, sys.executable, "-m", "tools.load_client", *arguments], cwd=ROOT,
                          capture_output=True, text=True, timeout=120, **more)


@pytest.fixture
def good():
    server = Hostile(everybody(Peer.answer))
    yield server
    server.stop()


def test_json_has_every_class_and_exit_0_says_that_nothing_failed(good):
    done = command(good.url, "--connections", "2", "--exchanges", "3", "--blind", "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["requests"], seen["answered"], seen["failed"], seen["idle_closes"]) == (6, 6, 0, 0)
    assert set(seen["failures"]) == {"refused", "reset_before_first_byte", "reset_in_the_middle", "empty_reply", "cut",
                                     "wrong_answer", "timeout", "server_error", "unanswered"}
    assert set(seen["latency_seconds"]) == {"p50", "p99", "p99.9"}
    assert seen["latency_seconds"]["p50"] > 0


def test_failures_are_told_in_words_with_examples_and_exit_1():
    server = Hostile(everybody(lambda peer, body: peer.socket.close()))
    done = command(server.url, "--connections", "2", "--exchanges", "3")
    assert done.returncode == 1
    assert "6 failed: empty_reply 6" in done.stdout
    assert done.stdout.count("'failure': 'empty_reply'") == 6
    server.stop()


def test_an_idle_close_alone_is_exit_1():
    server = Hostile(everybody(Peer.answer_and_close))
    done = command(server.url, "--connections", "1", "--exchanges", "3", "--watching", "--json")
    assert (done.returncode, json.loads(done.stdout)["failed"], json.loads(done.stdout)["idle_closes"]) == (1, 0, 2)
    server.stop()


def test_it_goes_on_until_the_file_is_there_and_what_is_in_flight_is_waited_for(good, tmp_path):
    end = tmp_path / "end"
    with subprocess.Popen([sys.executable, "-m", "tools.load_client", good.url, "--connections", "4", "--until-file",
                           str(end), "--json", "--processes", "2"], cwd=ROOT, stdout=subprocess.PIPE) as running:
        deadline = time.monotonic() + 60
        while len(good.threads) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert running.poll() is None
        end.touch()
        seen = json.loads(running.communicate(timeout=60)[0])
    assert running.returncode == 0
    assert seen["failed"] == 0 and seen["connections"] == 4


def test_the_dice_are_the_same_for_the_same_seed(good):
    kinds = [json.loads(command(good.url, "--connections", "2", "--exchanges", "20", "--mix", "all", "--think", "0",
                                "--json", "--seed", seed).stdout)["kinds"] for seed in ("1", "1", "2")]
    assert kinds[0] == kinds[1] != kinds[2]


def test_nothing_asked_is_no_success(good):
    done = command(good.url, "--connections", "1", "--seconds", "0.01", "--think", "500")
    assert done.returncode == 1 and done.stdout.startswith("0 requests")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_its_own_lack_of_descriptors_ends_it_and_is_not_the_servers_failure(good, processes):
    done = command(good.url, "--connections", "80", "--seconds", "3600", "--processes", processes,
                   before=("prlimit", "--nofile=30:30"))
    assert done.returncode == 3 and "Too many open files" in done.stderr and not done.stdout


@pytest.mark.parametrize("arguments, said", [
    (["http://x:1/path", "--seconds", "1"], "neither http://HOST:PORT nor unix:PATH"),
    (["http://localhost:99999", "--seconds", "1"], "Port out of range"),
    (["http://localhost:1"], "when does it end?"),
    (["http://localhost:1", "--seconds", "0"], "0 is not a number of seconds"),
    (["http://localhost:1", "--seconds", "1", "--connections", "0"], "nobody would ask"),
    (["http://localhost:1", "--seconds", "1", "--blind", "--watching"], "not allowed with"),
    (["http://localhost:1", "--seconds", "1", "--mix", "gets=1"], "no kind 'gets'"),
    (["http://localhost:1", "--seconds", "1", "--mix", "get=x"], "'get=x': the weight is to be a number"),
    (["http://localhost:1", "--seconds", "1", "--mix", "get=0"], "one weight at least"),
    (["http://localhost:1", "--seconds", "1", "--think", "9-5"], "9-5 is not LOW-HIGH")])
def test_bad_usage_is_exit_2_and_says_what_is_wrong(arguments, said):
    done = command(*arguments)
    assert done.returncode == 2 and said in done.stderr
