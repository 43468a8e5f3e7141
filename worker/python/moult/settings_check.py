"""For --check-config: whether the user's server takes what it is told, asked of the server itself; no app is loaded.

    PYTHON <folder>/moult --check-settings --settings-fd M --answer-fd N

Writes OK to N, or what is wrong. With `auto` the app would choose the server: then it is wrong if neither takes it.
"""
import argparse
import os
from typing import List, NoReturn

from . import options, settings
from .failure import Refused, text_of

ACCEPTED = "OK"


def main(arguments: List[str]) -> NoReturn:
    parser = argparse.ArgumentParser(prog="moult settings check")
    parser.add_argument("--check-settings", action="store_true", required=True)
    parser.add_argument("--settings-fd", type=int, required=True)
    parser.add_argument("--answer-fd", type=int, required=True)
    given = parser.parse_args(arguments)
    try:
        answer = objection(settings.read(given.settings_fd)) or ACCEPTED
    except BaseException as error:
        answer = text_of(error)
    with os.fdopen(given.answer_fd, "w", errors="replace") as file:
        file.write(answer)
    os._exit(0)  # at once: a configuration file may have started threads


def objection(told: settings.Settings) -> str:
    """Empty: there is none. Raises what the user's own configuration file does."""
    refusals = []
    for kind in ("uvicorn", "gthread") if told.worker_class == "auto" else (told.worker_class,):
        try:
            _ask(kind, told)
            return ""
        except Refused as refusal:
            refusals.append(str(refusal))
    return "; ".join(refusals)


def _ask(kind: str, told: settings.Settings) -> None:
    if kind == "uvicorn":
        uvicorn = options.import_server("uvicorn", "uvicorn", "an ASGI app")
        from .uvicorn_options import config_arguments
        config_arguments(uvicorn.Config, told, uvicorn.__version__)
        return
    options.import_server("gunicorn", "gunicorn", "the worker class %s" % kind)
    from .gunicorn_adapter import known_class, load_class
    from .gunicorn_config import HostedApplication
    load_class(HostedApplication(told, known_class(kind)).cfg, kind)
