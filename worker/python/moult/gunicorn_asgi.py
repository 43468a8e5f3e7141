"""Counts the requests of gunicorn's own ASGI worker (23 and later), and closes its idle connections at the end.

The class waits for every connection; without this a kept-alive one would hold a retiring worker until the deadline.
"""
import asyncio
import importlib
import importlib.util
import socket
import sys
import time
from typing import Any, Dict, Optional, Set

from gunicorn.workers import gasgi

from . import ledger
from .asgi_counting import CountingApp
from .contract import OPEN_CONNECTIONS, UPGRADED_CONNECTIONS
from .ignored_paths import IgnoredPaths
from .scheduled_call import mark_scope, strip_headers
from .sidecar import GRACE_SECONDS
from .worker_process import Worker

_LOOK_SECONDS = 0.05
_FRESH_SECONDS = 1.0  # how long a retiring worker waits for the first request on a connection that it has accepted


def import_all(cfg: Any) -> None:
    """What each worker would import for itself."""
    modules = ["gunicorn.asgi.lifespan", "gunicorn.asgi.websocket", "hashlib", "concurrent.futures.thread"]
    if getattr(cfg, "asgi_loop", "auto") != "asyncio" and importlib.util.find_spec("uvloop"):
        modules.append("uvloop")
    for module in modules:
        importlib.import_module(module)


def counting(worker_class: Any, worker: Worker, internal: Optional[Any], sidecar: Optional[Any]) -> Any:
    internal_name = internal.getsockname() if internal is not None else None
    words = worker.words
    visitors, calls = ledger.of_worker(worker)
    connections: Set[Any] = set()

    def upgraded(by: int) -> None:
        words[UPGRADED_CONNECTIONS] += by

    class CountingProtocol(gasgi.ASGIProtocol):  # type: ignore[misc, name-defined]
        moult_internal = False

        def connection_made(self, transport: Any) -> None:
            connections.add(self)
            words[OPEN_CONNECTIONS] = len(connections)
            self.moult_internal = internal_name is not None and transport.get_extra_info("sockname") == internal_name
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
            self.sockets = [one for one in self.sockets if one is not internal and one is not sidecar]
            self.moult_beside = _Beside(self)

        def moult_started(self) -> None:
            """The other doors are ours to open: the class would speak TLS there where it does so in public."""
            if internal is not None:
                self.loop.create_task(_open(self, internal.sock, lambda: CountingProtocol(self)))
            if sidecar is not None:
                self.loop.create_task(_open(self, sidecar.sock, lambda: _BesideProtocol(self.moult_beside)))

        async def _shutdown(self) -> None:
            await self.moult_beside.end()
            await super()._shutdown()

        def load_wsgi(self) -> None:
            super().load_wsgi()
            self.moult_beside.asgi = _Stripped(self.asgi)
            ignored = IgnoredPaths(worker.settings.idle_ignore, worker.settings.root_path or "")
            self.asgi = CountingApp(self.asgi, visitors, calls, upgraded, ignored)

        def moult_announce_close(self) -> None:
            """The class itself says `Connection: close` in answers from now on."""
            self.loop.call_soon(_close_idle, connections, False)
            self.loop.call_later(_FRESH_SECONDS, _close_idle, connections, True)

    return CountingWorker


async def _open(hosted: Any, sock: socket.socket, factory: Any) -> None:
    loop, options = hosted.loop, {"sock": sock}
    if sock.family != socket.AF_UNIX:
        hosted.servers.append(await loop.create_server(factory, **options))
        return
    if sys.version_info >= (3, 13):
        options["cleanup_socket"] = False  # else the first worker to retire unlinks the path
    hosted.servers.append(await loop.create_unix_server(factory, **options))


class _BesideProtocol(gasgi.ASGIProtocol):  # type: ignore[misc, name-defined]
    """Its worker is a _Beside, which knows it."""

    def connection_made(self, transport: Any) -> None:
        self.worker.connections[self] = transport
        super().connection_made(transport)

    def connection_lost(self, exc: Any) -> None:
        self.worker.connections.pop(self, None)
        super().connection_lost(exc)


class _Beside:
    """The worker as the sidecar's connections see it: with an app that nobody counts, and counts of its own, so that
    the class waits for none of them."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self.nr_conns = self.nr = 0
        self.connections: Dict[Any, Any] = {}  # and their transports

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    async def end(self) -> None:
        """Requests have a second; WebSockets end as their transport does, and what is idle at once."""
        until = time.monotonic() + GRACE_SECONDS
        while any(_is_answering(one) for one in self.connections) and time.monotonic() < until:
            await asyncio.sleep(_LOOK_SECONDS)
        for transport in list(self.connections.values()):
            transport.close()


class _Stripped:
    """The app, with what nobody but the master may say taken out."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            strip_headers(scope["headers"])
        await self._app(scope, receive, send)


def _is_answering(connection: Any) -> bool:
    is_websocket = getattr(connection, "_websocket", None) is not None
    return not is_websocket and getattr(connection, "_current_request", None) is not None


def _close_idle(connections: Set[Any], fresh_too: bool) -> None:
    for one in list(connections):
        waits = getattr(one, "_awaiting_request", False) and getattr(one, "_current_request", None) is None
        if waits and (fresh_too or one.req_count > 1):
            one._keepalive_timeout()
