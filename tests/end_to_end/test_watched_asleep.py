"""Who looks on while the app falls asleep and wakes, over and over: the admin threads read pictures that nobody changes
any more. Meant for the thread sanitizer above all."""
import json
import threading
import time
from typing import Callable, List, Set

from prometheus_client.parser import text_string_to_metric_families

from calls import NEVER, entry
from harness import fetch
from sleeping import put_to_sleep, wait_asleep
from test_admin_safety import view

ROUNDS = 12
STATES = {"booting", "serving", "reloading", "asleep", "waking"}


class Onlookers:
    """Threads that each ask one thing again and again, or follow the events, until they are told to go. What one of
    them does not like ends it, and is raised at the end."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked = 0
        self.errors: List[BaseException] = []
        self.seen: List[Set[str]] = []  # the states that each follower was told
        self.threads: List[threading.Thread] = []

    def begin(self, look: Callable[[], None]) -> None:
        def work() -> None:
            try:
                while not self.over.is_set():
                    look()
                    self.asked += 1
            except BaseException as error:
                self.errors.append(error)
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def __enter__(self) -> "Onlookers":
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()


def ask(port: int, path: str, onlookers: Onlookers):
    """None: too much was asked in this second."""
    answer = fetch(port, path)
    if answer.status != 503:
        assert answer.status == 200, (path, answer.status)
        return answer
    assert answer.headers["Retry-After"] == "1", answer.text
    onlookers.over.wait(1)
    return None


def look_at_status(port: int, onlookers: Onlookers) -> None:
    answer = ask(port, "/status.json", onlookers)
    if answer:
        status = answer.json()
        assert status["state"] in STATES and status["idle"]["state"] in {"active", "stopping", "asleep", "waking"}
    onlookers.over.wait(0.1)


def look_at_metrics(port: int, onlookers: Onlookers) -> None:
    answer = ask(port, "/metrics", onlookers)
    if answer:
        families = {family.name: family for family in text_string_to_metric_families(answer.text)}
        assert sum(sample.value for sample in families["moult_idle_state"].samples) == 1
    onlookers.over.wait(0.1)


def look_at_health(port: int, onlookers: Onlookers) -> None:
    """Whoever calls is answered at any moment: it serves, or is asleep, or wakes."""
    for path in ("/readyz", "/healthz", "/livez"):
        answer = fetch(port, path)
        assert answer.status == 200, (path, answer.text)
    onlookers.over.wait(0.05)


def follow(port: int, onlookers: Onlookers) -> None:
    seen: Set[str] = set()
    onlookers.seen.append(seen)
    with view(port) as events:
        assert events.status == 200
        while not onlookers.over.is_set():
            line = events.readline()
            if line.startswith(b"data: "):
                seen.add(json.loads(line[6:]).get("state"))


def test_admin_threads_look_on_while_the_app_sleeps_and_wakes(start, scratch, free_port):
    config, admin, health = scratch / "schedule.json", free_port(), free_port()
    config.write_text(json.dumps({"schedule": [entry("byhand", **NEVER)]}))
    moult = start("-w", "2", "--spares", "1", "--idle", "1h", "-c", str(config), "--events", str(scratch / "events"),
                  "--admin", f"127.0.0.1:{admin}", "--health-bind", f"127.0.0.1:{health}", "hello:app")
    moult.wait_for(lambda: len(moult.workers()) == 2, "both serve")
    moult.wait_for(lambda: fetch(health, "/readyz").status == 200, "there is a picture")
    with Onlookers() as onlookers:
        for _ in range(2):
            onlookers.begin(lambda: look_at_status(admin, onlookers))
            onlookers.begin(lambda: look_at_metrics(admin, onlookers))
            onlookers.begin(lambda: look_at_metrics(health, onlookers))
            onlookers.begin(lambda: look_at_health(health, onlookers))
            onlookers.begin(lambda: follow(admin, onlookers))
        for turn in range(ROUNDS):
            put_to_sleep(moult)
            wait_asleep(moult)
            time.sleep(0.05 * (turn % 3))  # so that pictures fall into each moment of it; nothing waits for this
            if turn % 4 == 3:
                assert moult.client("reload").returncode == 0
            if turn % 2:
                assert moult.client("schedule", "run", "byhand").returncode == 0
            else:
                assert moult.fetch().status == 200
            if onlookers.errors:
                break
        put_to_sleep(moult)
        for state in "asleep", "serving":  # which lasts, until each of them has seen it
            moult.wait_for(lambda: onlookers.errors or all(state in seen for seen in onlookers.seen), f"it is {state}")
            assert moult.fetch().status == 200
    if onlookers.errors:
        raise onlookers.errors[0]
    assert onlookers.asked > ROUNDS
    assert moult.stop() == 0
