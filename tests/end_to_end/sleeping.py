"""An app that sleeps and wakes, as its tests look at it."""
import http.client
import socket
import threading
import time
from typing import List, NamedTuple

from harness import Moult, fetch

IDLE = ["--idle", "300ms"]


def idle(moult: Moult) -> dict:
    return moult.status().get("idle", {})


def wait_served(moult: Moult) -> None:
    """A worker has served once. With a short --idle it may sleep again before anybody has looked."""
    moult.wait_log(" serves\n")


def wait_asleep(moult: Moult) -> None:
    moult.wait_for(lambda: idle(moult).get("state") == "asleep", "it sleeps")


def wait_awake(moult: Moult) -> None:
    moult.wait_for(lambda: idle(moult).get("state") == "active", "it is awake")


def put_to_sleep(moult: Moult) -> None:
    said = moult.client("sleep")
    assert said.returncode == 0, said.stderr


class Refusal(NamedTuple):
    status: int
    retry_after: int
    body: str
    seconds: float


def ask_once(moult: Moult) -> Refusal:
    began = time.monotonic()
    answer = fetch(moult.address)
    return Refusal(answer.status, int(answer.headers.get("Retry-After", 0)), answer.text, time.monotonic() - began)


def ask_at_once(moult: Moult, count: int, path: str = "/") -> List[int]:
    """The statuses of so many requests that all come together; 0: none."""
    statuses: List[int] = []
    together = threading.Barrier(count)

    def ask() -> None:
        together.wait()
        try:
            statuses.append(fetch(moult.address, path).status)
        except (OSError, http.client.HTTPException):
            statuses.append(0)
    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses


def bare_connect(moult: Moult) -> socket.socket:
    return socket.create_connection(("127.0.0.1", moult.address), timeout=10)
