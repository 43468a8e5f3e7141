"""The servers under which connections must survive a recycle, each by a name, and the peers beside them.

    uvicorn-{old,new}-{asyncio,uvloop}-{httptools,h11}-{tcp,unix}     moult
    gthread-{old,new}-{tcp,unix}                                      moult
    gunicorn-{uvicorn,gthread}-{old,new}-{tcp,unix}                   gunicorn itself, which knows --max-requests only

old is what Debian has, new is what tools/setup put into build/venv-newest. All serve tools.load_client.echo_app.
"""
import itertools
from pathlib import Path
from typing import Dict, List, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = {"old": "/usr/bin/python3", "new": str(ROOT / "build/venv-newest/bin/python")}
APP = "tools.load_client.echo_app"
THREADS = ["--threads", "8"]
KEEP_ALIVE_SECONDS = "75"  # moult's own default; gunicorn's is 2
GUNICORN_CLASSES = {"uvicorn": ["-k", "uvicorn.workers.UvicornWorker"], "gthread": ["-k", "gthread", *THREADS]}


class Cell(NamedTuple):
    name: str
    python: str
    app: str
    flags: List[str]  # of moult, or of gunicorn
    unix: bool
    is_peer: bool


def app_of(server: str) -> str:
    return f"{APP}:{'wsgi' if server == 'gthread' else 'asgi'}"


def all_cells() -> Dict[str, Cell]:
    found = []
    for age, transport in itertools.product(PYTHONS, ("tcp", "unix")):
        python, unix = PYTHONS[age], transport == "unix"
        for loop, parser in itertools.product(("asyncio", "uvloop"), ("httptools", "h11")):
            flags = ["--server-option", f"loop={loop}", "--server-option", f"http={parser}"]
            name = f"uvicorn-{age}-{loop}-{parser}-{transport}"
            found.append(Cell(name, python, app_of("uvicorn"), flags, unix, False))
        found.append(Cell(f"gthread-{age}-{transport}", python, app_of("gthread"), ["-k", "gthread", *THREADS], unix,
                          False))
        for server, flags in GUNICORN_CLASSES.items():
            found.append(Cell(f"gunicorn-{server}-{age}-{transport}", python, app_of(server), flags, unix, True))
    return {cell.name: cell for cell in found}
