"""--server-option K=V and what is missing: words that the adapters share."""
import difflib
import importlib
import sys
from typing import Any, Iterable

from .failure import Refused

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


def unknown(server: str, name: str, known: Iterable[str]) -> Refused:
    near = difflib.get_close_matches(name, list(known), 1)
    hint = ": did you mean '%s'?" % near[0] if near else ""
    return Refused("--server-option %s: %s has no such option%s" % (name, server, hint))


def owned(name: str, instead: str) -> Refused:
    return Refused("--server-option %s: moult does this itself: %s" % (name, instead))


def boolean(name: str, text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise Refused("--server-option %s=%s: say true or false" % (name, text))


def number(name: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise Refused("--server-option %s=%s: say a number" % (name, text)) from None


def threads_ignored(server: str, instead: str) -> str:
    return "--threads has no effect: %s; %s" % (server, instead)


def import_server(module: str, package: str, needed_for: str) -> Any:
    """Imports a module of the user's server; if the package is not installed, names the command that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (error.name == module or module.startswith(error.name + ".")):
            raise Refused("%s needs %s, which %s does not have: %s -m pip install %s"
                          % (needed_for, package, sys.executable, sys.executable, package)) from None
        raise
