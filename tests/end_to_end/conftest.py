"""Each test gets a private folder, private ports, and a mark by which everything it started is found again."""
import ctypes
import itertools
import os
import shutil
import socket
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Union

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import APPS, BINARY, DEBIAN_PYTHON, Moult, wait_until  # noqa: E402
from processes import alive, describe, kill  # noqa: E402
from stores import Store  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans of a killed moult come to us, and are reaped

# Below the kernel's own choice of ports (32768 and up); parallel runs begin at different ones.
_ports = itertools.count(12000 + os.getpid() * 61 % 18000)


def pytest_configure(config) -> None:
    if not os.access(BINARY, os.X_OK):
        pytest.exit(f"there is no {BINARY}: build it, or name another with MOULT_BINARY", returncode=2)


@pytest.fixture
def free_port() -> Callable[[], int]:
    def find() -> int:
        for port in _ports:
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    continue
        raise AssertionError("no free port")
    return find


@pytest.fixture
def scratch() -> Iterator[Path]:
    # Not pytest's tmp_path: that is too long for a unix socket's path.
    folder = Path(tempfile.mkdtemp(prefix="moult-e2e-", dir="/tmp"))
    folder.chmod(0o755)  # --user must be able to get in
    for name in ("run", "tmp", "cwd", "app"):
        (folder / name).mkdir()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def mark() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def environment(scratch: Path, mark: str) -> Dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")
            if name in os.environ}
    return {**kept, "E2E_MARK": mark, "MOULT_PYTHON": DEBIAN_PYTHON, "TMPDIR": str(scratch / "tmp"),
            "PYTHONDONTWRITEBYTECODE": "1"}


def reap_orphans() -> None:
    """Only those that no Popen object waits for: by then the test has waited for all of its own."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


@pytest.fixture
def leaves(scratch: Path) -> set:
    """Names of files under run/, tmp/ and cwd/ that this test may leave there (a kill -9 leaves sockets)."""
    return set()


@pytest.fixture(autouse=True)
def nothing_left_behind(request, scratch: Path, mark: str, leaves: set) -> Iterator[None]:
    started: List[Moult] = []
    request.node.started = started
    yield
    failures = []
    for moult in started:
        try:
            moult.stop(deadline=40)
        except AssertionError as failure:
            failures.append(str(failure))
            moult.process.kill()
            moult.process.wait()
    try:
        wait_until(lambda: not alive(mark), "all processes of the test are gone", 5)
    except AssertionError:
        left = alive(mark)
        failures.append("processes were left behind: " + "; ".join(describe(pid) for pid in left))
        kill(left)
    reap_orphans()
    found = (path for folder in ("run", "tmp", "cwd") for path in (scratch / folder).rglob("*"))
    files = {str(path.relative_to(scratch)) for path in found}
    if files - leaves:
        failures.append(f"files were left behind: {sorted(files - leaves)}")
    assert not failures, "\n".join(failures)


@pytest.fixture
def start(request, scratch: Path, environment: Dict[str, str], free_port) -> Callable[..., Moult]:
    """start("-w", "3", "hello:app"): moult on a free port, in the folder of our apps; stopped when the test ends."""
    def begin(*arguments: str, bind: Union[str, bool] = True, chdir: Path = APPS, env: Dict[str, str] = {},
              **more) -> Moult:
        address: Union[int, str] = free_port()
        given = ["--bind", f"127.0.0.1:{address}"]
        if isinstance(bind, str):
            given, address = ["--bind", bind], bind.split("unix:")[-1].split("?")[0]
        if bind is False:
            given = []
        moult = Moult(scratch, [*given, "--chdir", str(chdir), *map(str, arguments)], address, {**environment, **env},
                      **more)
        request.node.started.append(moult)
        return moult
    return begin


@pytest.fixture
def write_app(scratch: Path) -> Callable[[str], Path]:
    """Puts the text into app/app.py, whole or not at all, and returns the folder for chdir."""
    def write(text: str) -> Path:
        beside = scratch / "app" / "app.py.new"
        beside.write_text(text)
        beside.rename(scratch / "app" / "app.py")
        return scratch / "app"
    return write


@pytest.fixture
def store(scratch):
    made: List[Store] = []

    def make(**more) -> Store:
        made.append(Store(scratch, **more))
        return made[-1]
    yield make
    for each in made:
        each.kill()
