"""A worker that is killed when it was passed a connection, and has not said that it has it, costs nobody anything."""
import ctypes
import fcntl
import os
import signal
import socket
import termios
from typing import Dict, List

import pytest

from harness import connection
from processes import exists
from recycling import UNHURRIED
from versions import version

WORKERS = 25
CHAINS = 2  # with 1 and with 16 connections: 100 killed workers in all
PIDFD_GETFD = 438


@pytest.fixture
def held_boots(start, scratch, write_app):
    """One worker; while the file is there, none that boots gets ready."""
    waits = scratch / "waits"
    moult = start(*UNHURRIED, "app:app", chdir=write_app(version("hello", startup=f"""
            while os.path.exists({str(waits)!r}):
                await asyncio.sleep(0.02)""")))
    moult.wait_serving(1)
    return moult, waits


def channel_of(pid: int) -> socket.socket:
    """A copy of the socket by which a worker hears the master: the only one of its kind."""
    pidfd = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                fd = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, pidfd, int(name), 0)
                assert fd >= 0, os.strerror(ctypes.get_errno())
                copy = socket.socket(fileno=fd)
                if copy.type == socket.SOCK_SEQPACKET:
                    return copy
                copy.close()
    finally:
        os.close(pidfd)
    raise AssertionError(f"{pid} has no channel")


def has_unread(channel: socket.socket) -> bool:
    return int.from_bytes(fcntl.ioctl(channel, termios.FIONREAD, b"\0" * 4), "little") > 0


def parking(moult) -> dict:
    return moult.status()["parking"]


def park(moult, clients: List) -> None:
    """All of them, with nobody left who has one; then there are all the workers."""
    assert moult.client("scale", "1").returncode == 0
    old = moult.wait_serving(1)
    assert moult.client("recycle").returncode == 0
    moult.wait_for(lambda: moult.wait_serving(1) != old, "the last one who had some is replaced")
    assert parking(moult)["held"] == len(clients)
    assert moult.client("scale", str(WORKERS)).returncode == 0
    moult.wait_serving(WORKERS)


def kill_each_with_a_connection_in_hand(moult, stopped: List[int], count: int) -> None:
    """One after the other, as the connections come to them."""
    channels: Dict[int, socket.socket] = {pid: channel_of(pid) for pid in stopped}
    while channels:
        moult.wait_for(lambda: parking(moult)["offered"] == count, "each is offered to somebody")
        victim = next(pid for pid, channel in channels.items() if has_unread(channel))
        channels.pop(victim).close()
        os.kill(victim, signal.SIGKILL)
        moult.wait_for(lambda: victim not in {worker["pid"] for worker in moult.status().get("workers", [])},
                       "it is gone")


@pytest.mark.parametrize("count", [1, 16])
def test_a_worker_killed_between_adopt_and_adopted_costs_nobody_anything(held_boots, count: int):
    moult, waits = held_boots
    clients = [connection(moult.address) for _ in range(count)]

    def ask() -> None:
        for client in clients:
            client.request("GET", "/")

    def all_are_answered() -> bool:
        answers = [client.getresponse() for client in clients]
        return [(answer.status, answer.read()) for answer in answers] == [(200, b"hello")] * count
    ask()
    assert all_are_answered()
    for client in clients:
        client.auto_open = 0
    for _ in range(CHAINS):
        park(moult, clients)
        stopped = moult.worker_pids()
        waits.touch()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        ask()
        kill_each_with_a_connection_in_hand(moult, stopped, count)
        assert not any(map(exists, stopped))
        waits.unlink()
        assert all_are_answered()
        moult.wait_serving(WORKERS)
    assert parking(moult)["handed_over"] == count * CHAINS
    assert parking(moult)["refused"] == 0
    for client in clients:
        client.close()
