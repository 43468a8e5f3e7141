"""A door is shut when its last copy is: a worker that gives its last answers must have none that it looks at no more:
whoever came there would wait, and be reset."""
import signal
import socket

import pytest

from harness import DEBIAN_PYTHON, NEWEST_PYTHON, ROOT, connection
from processes import exists
from strict_load import ECHO, SERVERS, Unread


def is_let_in(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(0.2)  # whoever is not let in may be not answered at all, until the last copy is closed
        try:
            client.connect(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    """Whether any process has a listener at this port."""
    with open("/proc/net/tcp") as table:
        next(table)
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in table)


@pytest.mark.parametrize("flags", [SERVERS["uvicorn"], SERVERS["gthread"],
                                   ["-k", "uvicorn.workers.UvicornWorker", f"{ECHO}:asgi"]],
                         ids=["uvicorn", "gthread", "UvicornWorker"])
@pytest.mark.parametrize("python", [DEBIAN_PYTHON, NEWEST_PYTHON], ids=["old", "newest"])
def test_nobody_waits_at_the_door_of_a_worker_that_gives_its_last_answers(start, flags, python: str):
    moult = start("--python", python, *flags, chdir=ROOT)
    worker = moult.wait_serving(1)[0]
    held = Unread(connection(moult.address))
    moult.signal(signal.SIGTERM)
    moult.wait_for(lambda: moult.workers("retiring"), "it retires")
    moult.wait_for(lambda: not listens(moult.address), "its copies of the listener are closed", 10)
    assert exists(worker) and not is_let_in(moult.address)
    held.finish()
    held.client.close()
    assert moult.wait_exit() == 0
