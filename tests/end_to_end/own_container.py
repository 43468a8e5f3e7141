"""A network namespace whose line is taken away when its moult has left, as a container's is, and one for its clients
beside it. Both go with the test."""
import contextlib
import ctypes
import os
import subprocess
import threading
from typing import Callable, Iterator

CLONE_NEWNET = 0x40000000
HOST, PORT = "10.87.0.2", 8000
_LINK = """
while ! ip link show inside >/dev/null 2>&1; do sleep 0.02; done
ip addr add 10.87.0.2/24 dev inside && ip link set inside up && ip link set lo up && exec "$@"
"""
WRAPPER = ["unshare", "--net", "sh", "-c", _LINK, "sh"]


def in_a_network_of_its_own(test: Callable[[], None]) -> None:
    """Runs it in a thread that sees nothing else; raises what it raises."""
    failures = []

    def run() -> None:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.unshare(CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "cannot make a network namespace")
            test()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def connect(pid: int) -> None:
    """Lays the line to the moult that was started with WRAPPER."""
    for command in (f"ip link add outside type veth peer name inside netns {pid}",
                    "ip addr add 10.87.0.1/24 dev outside", "ip link set outside up"):
        subprocess.run(command.split(), check=True)


@contextlib.contextmanager
def goes_with(process: subprocess.Popen) -> Iterator[None]:
    """What a container's runtime does when the first process is gone, whatever the kernel has still to send."""
    def cut() -> None:
        process.wait()
        subprocess.run("ip link delete outside".split(), stderr=subprocess.DEVNULL)  # it may be gone with it
    waiting = threading.Thread(target=cut)
    waiting.start()
    yield
    waiting.join()


def is_apart(pid: int) -> bool:
    """It has left our network."""
    try:
        return os.readlink(f"/proc/{pid}/ns/net") != os.readlink(f"/proc/thread-self/ns/net")
    except OSError:
        return False
