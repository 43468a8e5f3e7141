"""Every combination of server, loop, parser and worker class that calls are tried with."""
import os
import subprocess
from typing import List, NamedTuple

import pytest

from harness import DEBIAN_PYTHON, NEWEST_PYTHON


class Kind(NamedTuple):
    name: str
    python: str
    options: List[str]
    app: str
    needs: str

    @property
    def flags(self) -> List[str]:
        return ["--python", self.python, *self.options]

    def skip_unless_installed(self) -> None:
        there = os.access(self.python, os.X_OK)
        if not there or subprocess.run([self.python, "-c", f"import {self.needs}"], capture_output=True).returncode:
            pytest.skip(f"there is no {self.needs} for {self.python}")


PYTHONS = {"debian": DEBIAN_PYTHON, "newest": NEWEST_PYTHON}


def uvicorn(which: str, loop: str, parser: str) -> Kind:
    options = ["--server-option", f"loop={loop}", "--server-option", f"http={parser}"]
    return Kind(f"{which}-{loop}-{parser}", PYTHONS[which], options, "called:app", "uvicorn")


def gunicorn(which: str, worker_class: str, app: str, needs: str) -> Kind:
    return Kind(f"{which}-{worker_class}", PYTHONS[which], ["-k", worker_class], app, needs)


ASGI_KINDS = [uvicorn(which, loop, parser) for which in PYTHONS for loop in ("asyncio", "uvloop")
              for parser in ("httptools", "h11")]
ASGI_KINDS += [gunicorn(which, "uvicorn.workers.UvicornWorker", "called:app", "uvicorn.workers") for which in PYTHONS]
ASGI_KINDS += [gunicorn(which, "asgi", "called:app", "gunicorn.workers.gasgi") for which in PYTHONS]
WSGI_KINDS = [gunicorn(which, kind, "called:wsgi", "gunicorn") for which in PYTHONS for kind in ("sync", "gthread")]
