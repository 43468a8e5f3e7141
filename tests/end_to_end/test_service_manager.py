"""What moult tells a service manager above it, on the socket that one gives it."""
import os
import signal
import socket
from pathlib import Path

import pytest


class Manager:
    """Our own stand-in for systemd: a datagram socket that notes what it hears."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.heard: list = []

    def lines(self) -> list:
        while True:
            try:
                self.heard += self.socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return self.heard


@pytest.fixture
def manager(scratch):
    manager = Manager(scratch)
    yield manager
    manager.socket.close()


def test_ready_is_said_once_workers_serve_and_stopping_at_the_end(start, manager):
    moult = start("-w", "2", "hello:app", env={"NOTIFY_SOCKET": manager.path, "STARTUP_SECONDS": "0.5"})
    moult.wait_for(lambda: moult.workers("booting"), "workers boot")
    assert "READY=1" not in manager.lines()
    moult.wait_for(lambda: "READY=1" in manager.lines(), "READY=1 is said")
    assert f"MAINPID={moult.pid}" in manager.lines()
    assert moult.workers()
    assert "STOPPING=1" not in manager.lines()
    assert moult.stop() == 0
    assert "STOPPING=1" in manager.lines()


def test_the_watchdog_is_fed_at_least_twice_an_interval(start, manager):
    moult = start("hello:app", env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"})
    moult.wait_for(lambda: manager.lines().count("WATCHDOG=1") >= 4, "the watchdog is fed", 10)


def test_a_watchdog_for_another_process_is_not_fed(start, manager):
    moult = start("hello:app", env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"})
    moult.wait_for(lambda: "READY=1" in manager.lines(), "READY=1 is said")
    assert "WATCHDOG=1" not in manager.lines()


def test_the_managers_socket_is_not_passed_on_to_workers(start, manager):
    moult = start("hello:app", env={"NOTIFY_SOCKET": manager.path})
    moult.wait_serving(1)
    assert moult.fetch("/env?name=NOTIFY_SOCKET").json() is None


def test_a_manager_that_has_gone_does_not_matter(start, manager):
    moult = start("hello:app", env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"})
    moult.wait_for(lambda: "READY=1" in manager.lines(), "READY=1 is said")
    manager.socket.close()
    os.unlink(manager.path)
    before = moult.wait_serving(1)
    os.kill(before[0], signal.SIGKILL)
    moult.wait_for(lambda: moult.worker_pids() not in ([], before), "a replacement serves")
    assert moult.stop() == 0
