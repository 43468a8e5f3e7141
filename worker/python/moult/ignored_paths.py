"""Requests that leave the idle window alone: GET and HEAD of the --idle-ignore paths, health checks mostly.

While the app sleeps the master answers these itself (master/connections/ignored_request.h); while it is awake they are
the app's like all others, but no visitor's activity.
"""
from typing import Any, Callable, Iterable

from .ledger import Ledger

_METHODS = ("GET", "HEAD")


class IgnoredPaths:
    def __init__(self, paths: Iterable[str], root_path: str = "") -> None:
        """`root_path`: later servers put it before the path that they were asked for, earlier ones do not."""
        written = [path.encode() for path in paths]
        prefix = root_path.rstrip("/").encode()
        self._paths = frozenset(written + [prefix + path for path in written])

    def __bool__(self) -> bool:
        return bool(self._paths)

    def has(self, method: str, raw_path: bytes) -> bool:
        """`raw_path`: as it was asked for, undecoded; what follows a question mark is of no account."""
        return method in _METHODS and (raw_path in self._paths or raw_path.partition(b"?")[0] in self._paths)

    def beginning(self, visitors: Ledger, request_of: Callable[[Any], Any]) -> Callable[[Any], None]:
        """What begins a request in the ledger, known by its key. `request_of`: the method and raw path of a key."""
        if not self._paths:
            return visitors.begin

        def begin(key: Any) -> None:
            if self.has(*request_of(key)):
                visitors.begin_ignored(key)
            else:
                visitors.begin(key)

        return begin


def of_scope(scope: Any) -> Any:
    """Of an ASGI scope: not every server says `raw_path`."""
    return scope["method"], scope.get("raw_path") or scope["path"].encode()
