"""tools.load_client in a process of its own: no request is repeated, each answer is checked whole, each failure has a
class. What it asks must be answered by tools.load_client.echo_app."""
import http.client
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Optional

from harness import ROOT, Address, Moult, connection

sys.path.append(str(ROOT))
from tools.load_client.echo_app import pattern  # noqa: E402

ECHO = "tools.load_client.echo_app"
SERVERS = {"uvicorn": [f"{ECHO}:asgi"], "gthread": ["-k", "gthread", "--threads", "8", f"{ECHO}:wsgi"]}


def url_of(address: Address) -> str:
    return f"http://127.0.0.1:{address}" if isinstance(address, int) else f"unix:{address}"


class StrictLoad:
    """`with StrictLoad(moult, ...) as load:` clients that never read before they write, half of whose requests are
    POST, ask until the block ends; then `seen` is what they saw. `how` are more words for tools.load_client."""

    def __init__(self, moult: Moult, *how: str, connections: int = 16, fresh: int = 0, blind: bool = True) -> None:
        self.moult, self.clients = moult, connections + fresh
        self.folder = tempfile.TemporaryDirectory(prefix="moult-load-")
        self.end = Path(self.folder.name) / "end"
        self.command = [sys.executable, "-m", "tools.load_client", url_of(moult.address), "--connections",
                        str(connections), "--fresh", str(fresh), *(["--blind"] if blind else []), "--until-file",
                        str(self.end), "--json", *how]
        self.process: Optional[subprocess.Popen] = None
        self.seen: dict = {}

    def __enter__(self) -> "StrictLoad":
        def answered() -> int:
            return sum(worker["requests"] for worker in self.moult.workers())
        enough = answered() + 3 * self.clients
        self.process = subprocess.Popen(self.command, cwd=ROOT, stdout=subprocess.PIPE)
        try:
            self.moult.wait_for(lambda: answered() >= enough, "the load has begun")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end.touch()
        said = self.process.communicate(timeout=60)[0]
        self.folder.cleanup()
        assert said, "the load client could not go on"
        self.seen = json.loads(said)

    def failures(self) -> List[str]:
        """What did not go as it should, in words: nothing may, but for closes that an answer announced."""
        found = [f"{count} {name}" for name, count in self.seen["failures"].items() if count]
        found += [f"{self.seen['idle_closes']} idle closes"] if self.seen["idle_closes"] else []
        found += [] if self.seen["answered"] else ["nothing was asked"]
        return found + [str(example) for example in self.seen["examples"]] if found else []


def replace_all(moult: Moult, count: int) -> None:
    """Each of `count` workers once, to the end of the last one that goes."""
    before = set(moult.wait_serving(count))
    assert moult.client("recycle").returncode == 0
    moult.wait_for(lambda: not before & {worker["pid"] for worker in moult.status().get("workers", [])},
                   "each worker is replaced")
    moult.wait_serving(count)


def who_answers(client: http.client.HTTPConnection) -> int:
    client.request("GET", "/")
    answer = client.getresponse()
    assert (answer.status, answer.read()) == (200, b"ready")
    return int(answer.headers["X-Worker"])


class Unread:
    """An answer of which only the head is read: its worker cannot end it before finish()."""
    BYTES = 8 * 1024 * 1024  # more than the kernel takes for us

    def __init__(self, client: http.client.HTTPConnection) -> None:
        self.client = client
        self.client.request("GET", f"/echo/{self.BYTES}/unread")
        self.response = self.client.getresponse()
        self.worker = int(self.response.headers["X-Worker"])

    def finish(self) -> None:
        """Its connection is kept alive."""
        assert self.response.read() == pattern("unread", self.BYTES)
        self.client.auto_open = 0

    def again(self) -> int:
        """Who answers on that connection now."""
        worker = who_answers(self.client)
        self.client.close()
        return worker


def hold_each(moult: Moult, count: int) -> List[Unread]:
    """One for each of so many workers."""
    held: Dict[int, Unread] = {}

    def all_are_held() -> bool:
        client = connection(moult.address)
        worker = who_answers(client)
        if worker in held:
            client.close()
        else:
            held[worker] = Unread(client)
        return len(held) == count
    moult.wait_for(all_are_held, "each worker has an answer in hand")
    return list(held.values())
