"""Idle connections outlive their worker: they wait in the master and are served by another. Shown with the native
example, and with uvicorn and gthread, Debian's and the newest."""
import http.client
import os
import random
import signal
import threading
import time
from typing import List

import pytest

from events import Events
from harness import BINARY, DEBIAN_PYTHON, NEWEST_PYTHON, ROOT, connection, wait_until
from recycling import UNHURRIED

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "examples/native/libnative-example.so")
SERVERS = {"uvicorn": ["pids:asgi"], "gthread": ["-k", "gthread", "--threads", "8", "pids:wsgi"]}
PYTHONS = {"old": DEBIAN_PYTHON, "newest": NEWEST_PYTHON}


class KeptAlive:
    """One connection, never opened again by itself. It does not look whether it was closed before it speaks."""

    def __init__(self, address) -> None:
        self.client = connection(address)
        self.client.connect()
        self.client.auto_open = 0
        self.closes = False  # as the last answer said

    def ask(self) -> int:
        """The pid of whoever answers."""
        self.send()
        return self.answer()

    def send(self) -> None:
        self.client.request("GET", "/pid")

    def answer(self) -> int:
        response = self.client.getresponse()
        text = response.read().decode()
        assert response.status == 200, (response.status, text)
        self.closes = response.will_close
        return int(text)

    def end(self) -> bytes:
        """What still comes until the other side closes; an exception if it resets."""
        return self.client.sock.recv(1000)


@pytest.fixture(params=["native", *(f"{server}-{age}" for server in SERVERS for age in PYTHONS)])
def serve(start, request):
    """As start(), of one kind of worker: each answers with its pid."""
    server, _, age = request.param.partition("-")
    if server == "native":
        if not os.path.exists(LIBRARY):
            pytest.skip(f"{LIBRARY} is not built")
        return lambda *flags, **more: start("--app", f"native:{LIBRARY}", *flags, chdir=ROOT, **more)
    return lambda *flags, **more: start("--python", PYTHONS[age], *flags, *SERVERS[server], **more)


def idle_clients(moult, count: int) -> List[KeptAlive]:
    clients = [KeptAlive(moult.address) for _ in range(count)]
    for client in clients:
        client.ask()
    return clients


def parking(moult) -> dict:
    return moult.status()["parking"]


def replace_slowly(moult, pid: int, clients: List[KeptAlive]) -> int:
    """The same where some are declined: these are asked once more, so that the old one can go."""
    assert moult.client("reload", "--wait").returncode == 0
    moult.wait_for(lambda: parking(moult)["parked"] + parking(moult)["declined"] >= len(clients), "all are given up")
    for client in [each for each in clients if not each.closes]:
        client.ask()
    moult.wait_for(lambda: pid not in [w["pid"] for w in moult.status().get("workers", [])], "the old worker is gone")
    return moult.wait_serving(1)[0]


def replace(moult, pid: int) -> int:
    """A reload of the only worker, to the end of the old one. The pid of the new one."""
    assert moult.client("reload", "--wait").returncode == 0
    moult.wait_for(lambda: pid not in [w["pid"] for w in moult.status().get("workers", [])], "the old worker is gone")
    return moult.wait_serving(1)[0]


def test_idle_connections_live_on_in_the_next_worker(serve):
    moult = serve()
    old = moult.wait_serving(1)[0]
    clients = idle_clients(moult, 50)
    new = replace(moult, old)
    assert parking(moult)["held"] == 50
    assert [client.ask() for client in clients] == [new] * 50
    assert not any(client.closes for client in clients)
    wait_until(lambda: parking(moult)["handed_over"] == 50, "all are acknowledged")
    assert parking(moult)["held"] == 0
    assert [client.ask() for client in clients] == [new] * 50, "and stay there"


def test_one_that_never_spoke_lives_on_as_well(serve):
    moult = serve()
    old = moult.wait_serving(1)[0]
    silent = KeptAlive(moult.address)
    moult.wait_for(lambda: moult.workers()[0]["open_connections"] == 1, "it is accepted")
    new = replace(moult, old)
    assert silent.ask() == new


def test_a_recycle_and_the_metrics_count_what_was_handed_over(serve, scratch, free_port):
    events, admin = Events(scratch / "moult.jsonl"), free_port()
    moult = serve(*events.flags, *UNHURRIED, "--admin", f"127.0.0.1:{admin}")
    moult.wait_serving(1)
    clients = idle_clients(moult, 3)
    assert moult.client("recycle").returncode == 0
    recycled = moult.wait_for(lambda: events.all("worker_recycled"), "the recycle is over")
    assert [each["handed_over"] for each in recycled] == [3]
    assert [each["drain_outcome"] for each in recycled] == ["clean"]
    clients[0].ask()
    clients[1].client.close()

    def metrics() -> List[str]:
        client = http.client.HTTPConnection("127.0.0.1", admin)
        client.request("GET", "/metrics")
        return client.getresponse().read().decode().splitlines()
    for line in ("moult_connections_parked_total 3", "moult_connections_handed_over_total 1",
                 "moult_connections_held 1", 'moult_connections_parked_closed_total{why="client"} 1'):
        wait_until(lambda: line in metrics(), line, 10)


def test_what_finds_no_room_is_served_to_its_next_answer_which_says_close(serve):
    moult = serve("--parking-max", "2")
    old = moult.wait_serving(1)[0]
    clients = idle_clients(moult, 5)
    assert moult.client("reload", "--wait").returncode == 0
    moult.wait_for(lambda: parking(moult)["declined"] == 3, "three are declined")
    assert parking(moult)["held"] == 2
    answered_by_old = [client.ask() == old for client in clients]
    assert sorted(answered_by_old) == [False, False, True, True, True]
    assert [client.closes for client in clients] == answered_by_old
    moult.wait_serving(1)


def test_without_parking_a_replacement_is_not_held_up_by_idle_connections(serve):
    moult = serve("--parking-max", "0")
    old = moult.wait_serving(1)[0]
    clients = idle_clients(moult, 5)
    began = time.monotonic()
    replace(moult, old)
    assert time.monotonic() - began < 15, "--graceful-timeout is 30 s"
    assert [client.end() for client in clients] == [b""] * 5


def test_few_descriptors_park_few_connections_and_lose_none(serve):
    moult = serve(wrapper=["prlimit", "--nofile=64:64"])
    old = moult.wait_serving(1)[0]
    clients = idle_clients(moult, 12)
    assert moult.client("reload", "--wait").returncode == 0
    moult.wait_for(lambda: parking(moult)["parked"] + parking(moult)["declined"] == 12, "all are given up")
    held, declined = parking(moult)["held"], parking(moult)["declined"]
    assert 0 < held <= parking(moult)["most"] == 8, "fewer where a launch would find no room beside them"
    by_old = [client.ask() == old for client in clients]
    assert by_old.count(True) == declined == 12 - held
    assert [client.closes for client in clients] == by_old
    moult.wait_serving(1)


def test_parked_connections_leave_room_for_the_next_launch(serve):
    moult = serve("--parking-max", "60", wrapper=["prlimit", "--nofile=80:80"])
    old = moult.wait_serving(1)[0]
    cut = "--parking-max 60 is cut to 10: the limit of open files is 80"
    moult.wait_for(lambda: cut in moult.log(), "it is said")
    clients = idle_clients(moult, 30)
    for _ in range(2):  # the second finds what the first one left
        old = replace_slowly(moult, old, clients)
    assert len(moult.wait_serving(1)) == 1


def test_what_a_killed_worker_had_not_acknowledged_is_answered_by_the_next(serve):
    moult = serve()
    old = moult.wait_serving(1)[0]
    client = idle_clients(moult, 1)[0]
    stuck = replace(moult, old)
    os.kill(stuck, signal.SIGSTOP)
    client.send()
    moult.wait_for(lambda: parking(moult)["offered"] == 1, "it is offered to one that does not answer")
    os.kill(stuck, signal.SIGKILL)
    assert client.answer() == moult.wait_serving(1)[0] != stuck


def test_a_stop_is_not_held_up_by_idle_connections(serve):
    moult = serve("-w", "2")
    moult.wait_serving(2)
    clients = idle_clients(moult, 20)
    began = time.monotonic()
    assert moult.stop() == 0
    assert time.monotonic() - began < 15, "--graceful-timeout is 30 s"
    assert [client.end() for client in clients] == [b""] * 20


def test_at_a_stop_a_client_that_has_just_come_is_answered(serve):
    moult = serve()
    moult.wait_serving(1)
    client = KeptAlive(moult.address)
    moult.wait_for(lambda: moult.workers()[0]["open_connections"] == 1, "it is accepted")
    moult.signal(signal.SIGTERM)
    moult.wait_for(lambda: moult.workers("retiring"), "the stop has begun")
    client.ask()
    assert client.closes
    assert moult.wait_exit() == 0


def test_at_a_stop_who_waits_to_be_accepted_is_answered(serve):
    moult = serve()
    worker = moult.wait_serving(1)[0]
    os.kill(worker, signal.SIGSTOP)
    clients = [KeptAlive(moult.address) for _ in range(100)]
    for client in clients:
        client.send()
    moult.signal(signal.SIGTERM)
    moult.wait_for(lambda: parking(moult)["offered"] > 0, "the master has accepted some")
    os.kill(worker, signal.SIGCONT)
    assert [client.answer() for client in clients] == [worker] * 100
    assert moult.wait_exit() == 0


def test_during_the_stop_delay_each_answer_says_that_its_connection_ends(serve):
    moult = serve("-w", "2", "--stop-delay", "3s")
    moult.wait_serving(2)
    clients = idle_clients(moult, 4)
    assert not any(client.closes for client in clients)
    moult.signal(signal.SIGTERM)

    def is_told(client: KeptAlive) -> bool:
        client.ask()
        return client.closes
    moult.wait_for(lambda: is_told(KeptAlive(moult.address)), "the stop has begun", 2)
    for client in clients:  # the other worker may hear of it a moment later
        moult.wait_for(lambda: is_told(client), "each is told", 2)
    assert moult.wait_exit() == 0


def test_an_answer_that_a_stop_overtakes_says_that_its_connection_ends(serve):
    moult = serve("-w", "2")
    moult.wait_serving(2)
    clients = [KeptAlive(moult.address) for _ in range(8)]
    for client in clients:
        client.client.request("GET", "/slow")
    moult.wait_for(lambda: sum(w["in_flight"] for w in moult.workers()) == 8, "all are in flight")
    moult.signal(signal.SIGTERM)
    for client in clients:
        response = client.client.getresponse()
        assert response.read() == b"hello\n"
        client.closes = response.will_close
    assert moult.wait_exit() == 0
    assert all(client.closes for client in clients)


def test_a_worker_that_is_not_replaced_leaves_its_connections_to_the_others(serve):
    moult = serve("-w", "2")
    moult.wait_serving(2)
    clients = idle_clients(moult, 20)
    assert moult.client("scale", "1").returncode == 0
    left = moult.wait_serving(1)[0]
    assert [client.ask() for client in clients] == [left] * 20


def test_clients_that_never_look_before_they_speak_meet_no_failure(serve):
    moult = serve("-w", "2", *UNHURRIED)
    moult.wait_serving(2)
    ending, failures, answers = threading.Event(), [], []

    def talk(seed: int) -> None:
        thinks, client = random.Random(seed), KeptAlive(moult.address)
        while not ending.is_set():
            try:
                client.ask()
                answers.append(client.closes)
            except (OSError, http.client.HTTPException, AssertionError) as error:
                failures.append(repr(error))
                return
            time.sleep(thinks.uniform(0.001, 0.02))
    threads = [threading.Thread(target=talk, args=(seed,), daemon=True) for seed in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        before = set(moult.wait_serving(2))
        assert moult.client("recycle").returncode == 0
        moult.wait_for(lambda: not before & {w["pid"] for w in moult.status().get("workers", [])}, "both are replaced")
    ending.set()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert not any(answers), "nobody was told to close"
    assert parking(moult)["handed_over"] >= 10


def test_a_command_has_no_parking(start):
    moult = start("--ready-delay", "100ms", "--", "sleep", "1000", bind=False)
    moult.wait_serving(1)
    assert "parking" not in moult.status()
