"""Clients that ask all the time and note whatever goes wrong."""
import http.client
import threading
from collections import Counter
from typing import List

from harness import Address, fetch


class Load:
    """`with Load(address) as load:` each client opens a connection a request, so that it is moult, and not a keep-alive
    that expires, which is looked at."""

    def __init__(self, address: Address, clients: int = 4, path: str = "/") -> None:
        self.address, self.path = address, path
        self.answers: Counter = Counter()
        self.failures: List[str] = []
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(clients)]

    def ask(self) -> None:
        while not self.ending.is_set():
            try:
                answer = fetch(self.address, self.path, headers={"Connection": "close"})
                if answer.status != 200:
                    self.failures.append(f"status {answer.status}")
                self.answers[answer.text] += 1
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.ending.set()
        for thread in self.threads:
            thread.join(60)
