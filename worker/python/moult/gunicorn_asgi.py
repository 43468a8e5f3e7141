"""Counts the requests of gunicorn's own ASGI worker (23 and later), and closes its idle connections at the end.

The class waits for every connection; without this a kept-alive one would hold a retiring worker until the deadline.
"""
import importlib
import importlib.util
import socket
import sys
from typing import Any, Optional, Set

from gunicorn.workers import gasgi

from . import ledger
from .asgi_counting import CountingApp
from .contract import OPEN_CONNECTIONS, UPGRADED_CONNECTIONS
from .ignored_paths import IgnoredPaths
from .scheduled_call import mark_scope
from .worker_process import Worker

_FRESH_SECONDS = 1.0  # how long a retiring worker waits for the first request on a connection that it has accepted


def import_all(cfg: Any) -> None:
    """What each worker would import for itself."""
    modules = ["gunicorn.asgi.lifespan", "gunicorn.asgi.websocket", "hashlib", "concurrent.futures.thread"]
    if getattr(cfg, "asgi_loop", "auto") != "asyncio" and importlib.util.find_spec("uvloop"):
        modules.append("uvloop")
    for module in modules:
        importlib.import_module(module)


def counting(worker_class: Any, worker: Worker, internal: Optional[Any]) -> Any:
    internal_name = internal.getsockname() if internal is not None else None
    words = worker.words
    visitors, calls = ledger.of_visitors(words), ledger.of_calls(words)
    connections: Set[Any] = set()

    def upgraded(by: int) -> None:
        words[UPGRADED_CONNECTIONS] += by

    class CountingProtocol(gasgi.ASGIProtocol):  # type: ignore[misc, name-defined]
        moult_internal = False

        def connection_made(self, transport: Any) -> None:
            connections.add(self)
            words[OPEN_CONNECTIONS] = len(connections)
            self.moult_internal = (internal_name is not None
                                   and transport.get_extra_info("sockname") == internal_name)
            super().connection_made(transport)

        def connection_lost(self, exc: Any) -> None:
            connections.discard(self)
            words[OPEN_CONNECTIONS] = len(connections)
            super().connection_lost(exc)

        def _build_http_scope(self, *arguments: Any) -> Any:
            scope = super()._build_http_scope(*arguments)
            if self.moult_internal:
                mark_scope(scope)
            return scope

    gasgi.ASGIProtocol = CountingProtocol

    class CountingWorker(worker_class):  # type: ignore[misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.sockets = [one for one in self.sockets if one is not internal]

        def moult_started(self) -> None:
            """The internal door is ours to open: the class would speak TLS on it where it does so in public."""
            if internal is not None:
                self.loop.create_task(self._moult_open(internal.sock))

        async def _moult_open(self, sock: socket.socket) -> None:
            options = {"sock": sock}
            if sys.version_info >= (3, 13):
                options["cleanup_socket"] = False
            self.servers.append(await self.loop.create_unix_server(lambda: CountingProtocol(self), **options))

        def load_wsgi(self) -> None:
            super().load_wsgi()
            ignored = IgnoredPaths(worker.settings.idle_ignore, worker.settings.root_path or "")
            self.asgi = CountingApp(self.asgi, visitors, calls, upgraded, ignored)

        def moult_announce_close(self) -> None:
            """The class itself says `Connection: close` in answers from now on."""
            self.loop.call_soon(_close_idle, connections, False)
            self.loop.call_later(_FRESH_SECONDS, _close_idle, connections, True)

    return CountingWorker


def _close_idle(connections: Set[Any], fresh_too: bool) -> None:
    for one in list(connections):
        waits = getattr(one, "_awaiting_request", False) and getattr(one, "_current_request", None) is None
        if waits and (fresh_too or one.req_count > 1):
            one._keepalive_timeout()
