"""Where uvicorn's requests are counted: subclasses of its own protocol classes, old and new.

Each request passes, in both HTTP implementations and in every version since 0.17, through one RequestResponseCycle:
run_asgi() is called when it begins, and the protocol's on_response_complete() when its answer is written. Those are
plain calls; a coroutine around the app's, and one more call for each message that it sends, would cost three times as
much. So what is rarely wanted is looked for when it is: 5xx in the table of status lines, streams by the server's turn.
What has no such cycle is counted by asgi_counting.
"""
import asyncio
import contextlib
import functools
import sys
from typing import Any, Callable, Dict, List, Optional

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from . import ledger
from .contract import OPEN_CONNECTIONS, UPGRADED_CONNECTIONS
from .ignored_paths import IgnoredPaths, of_scope
from .scheduled_call import OUR_PREFIX, mark_scope, strip_headers
from .uvicorn_closing import PoliteTransport, whole_transport
from .uvicorn_keep_alive import ConnectionLoop, IdleTimer
from .uvicorn_rest_of_body import RestOfBody

_SETTLE_SECONDS = 0.02  # how often an answer whose client reads slowly is looked at
_UVLOOP_QUEUED_BYTES = 32 * 1024  # well below what the kernel takes at once of a connection that waited for an answer
_NO_HEADER = (b"",)
_FORWARDED = (b"x-forwarded-",)  # greater than every header before these in the alphabet, smaller than they
_OURS = (OUR_PREFIX,)  # likewise
_STATUS_TABLES = ("STATUS_LINE", "STATUS_PHRASES")  # of httptools and of h11: status to bytes


def cycle_module(protocol: Any) -> Optional[Any]:
    """The module whose RequestResponseCycle this protocol class makes; None: it is another kind."""
    for base in protocol.__mro__:
        module = sys.modules.get(base.__module__)
        if hasattr(base, "on_response_complete") and hasattr(getattr(module, "RequestResponseCycle", None), "run_asgi"):
            return module
    return None


def can_count(protocol: Any) -> bool:
    module = cycle_module(protocol)
    known = module is not None and any(hasattr(module, table) for table in _STATUS_TABLES)
    return known and not module.__name__.endswith("zttp_impl")  # type: ignore[union-attr]  (never tried)


class Counting:
    """Makes the classes of one protocol class: `public`, `internal` for the internal door and `uncounted` for the
    sidecar's, which is to have `uncounted_app`. settle() looks at once at the answers that are not all with the kernel
    yet; else that is done now and then."""

    def __init__(self, protocol: Any, worker: Any, visitors: ledger.Ledger, calls: ledger.Ledger,
                 connection_loop: ConnectionLoop, config: Any, ignored: IgnoredPaths) -> None:
        words, app = worker.words, config.loaded_app
        closes_politely = config.ssl is None  # what is in a TLS connection the master cannot end

        async def called(scope: Any, receive: Any, send: Any) -> None:
            """The app as the internal door has it, and by which its requests are known."""
            mark_scope(scope)
            await app(scope, receive, send)

        async def uncounted_app(scope: Any, receive: Any, send: Any) -> None:
            with contextlib.suppress(asyncio.CancelledError):  # it is cut when the worker ends, which is no error
                await app(scope, receive, send)

        def finish_either(cycle: Any) -> None:
            calls.finish(cycle)
            visitors.finish(cycle)  # above --server-option limit_concurrency=N uvicorn itself answers a call

        module = cycle_module(protocol)
        _count_5xx(module, visitors.server_error)
        begin_visit = ignored.beginning(visitors, lambda cycle: of_scope(cycle.scope))
        module.RequestResponseCycle = _counting_cycle(  # type: ignore[union-attr]
            module.RequestResponseCycle, begin_visit, calls.begin,  # type: ignore[union-attr]
            called, app, uncounted_app)
        running = _running(visitors, calls)
        settling = _Settling(finish_either, connection_loop.whole.call_later)
        self.settle = settling.look
        self.public = _counting_protocol(protocol, words, visitors.finish, settling.later, running, connection_loop,
                                         worker if closes_politely else None)
        internal = _counting_protocol(protocol, words, finish_either, settling.later, running, connection_loop)

        class InternalProtocol(internal):  # type: ignore[misc]
            @functools.wraps(protocol.__init__)
            def __init__(self, *arguments: Any, **named: Any) -> None:
                super().__init__(*arguments, **named)
                self.app = called

        self.internal = InternalProtocol
        self.uncounted_app = uncounted_app
        self.uncounted = _counting_protocol(protocol, {OPEN_CONNECTIONS: 0}, _nothing, _nothing, lambda connection: [],
                                            connection_loop)


def _running(*ledgers: ledger.Ledger) -> Callable[[Any], List[Any]]:
    """Of a connection with pipelined requests: those that began. Its own `cycle` is the last one that was read."""
    def running(connection: Any) -> List[Any]:
        begun = [cycle for one in ledgers for cycle in one.in_flight()]
        return [cycle for cycle in begun if getattr(cycle, "transport", None) is connection.transport]
    return running


def is_streaming(cycle: Any) -> bool:
    """Of a request that is in flight. For Ledger.find_streams()."""
    return getattr(cycle, "response_started", False)


def _count_5xx(module: Any, server_error: Callable[[], None]) -> None:
    """The server looks each status up in a table; in ours the 5xx are missing, and a dict can say what is missed."""
    for name in _STATUS_TABLES:
        if hasattr(module, name):
            whole: Dict[int, bytes] = getattr(module, name)

            class Table(dict):  # type: ignore[type-arg]
                def __missing__(self, status: int) -> bytes:
                    server_error()
                    return whole[status]

            setattr(module, name, Table((status, text) for status, text in whole.items() if status < 500))


def _counting_cycle(cycle_class: Any, begin_visit: Callable[[Any], None], begin_call: Callable[[Any], None],
                    called: Any, whole: Any, uncounted: Any) -> Any:
    run_asgi = cycle_class.run_asgi
    # uvicorn's outermost layer does nothing unless a proxy has said something, and costs more than all our counting.
    without_proxy = whole.app if type(whole) is ProxyHeadersMiddleware else whole

    class CountingCycle(cycle_class):  # type: ignore[misc]
        def run_asgi(self, app: Any) -> Any:
            if app is whole:
                headers = self.scope["headers"]
                last = max(headers) if headers else _NO_HEADER  # one call in C says what need not be looked for
                if last < _FORWARDED:
                    app = without_proxy
                elif last > _OURS:
                    strip_headers(headers)
                begin_visit(self)
            elif app is called:
                begin_call(self)
            else:  # the sidecar's, or uvicorn's own answer
                strip_headers(self.scope["headers"])
                if app is not uncounted:
                    begin_visit(self)
            return run_asgi(self, app)

    return CountingCycle


def _nothing(of_whom: Any) -> None:
    pass


def _counting_protocol(protocol_class: Any, words: Any, finish: Callable[[Any], None],
                       settle_later: Callable[[List[Any]], None], running: Callable[[Any], List[Any]],
                       connection_loop: ConnectionLoop, polite: Optional[Any] = None) -> Any:
    """`polite`: the worker, where the master closes what a close of ours would cut off."""
    response_complete = protocol_class.on_response_complete
    # uvloop writes at the end of the loop's turn: what is queued before that says nothing of the client.
    on_uvloop = type(connection_loop.whole).__module__.startswith("uvloop")
    queued_bytes = _UVLOOP_QUEUED_BYTES if on_uvloop else 0

    class CountingProtocol(protocol_class):  # type: ignore[misc]
        @functools.wraps(protocol_class.__init__)  # whose signature tells what this version wants
        def __init__(self, *arguments: Any, **named: Any) -> None:
            named["_loop"] = connection_loop
            super().__init__(*arguments, **named)
            self.moult_idle_timer = IdleTimer()
            if not hasattr(self, "pipeline"):
                self.pipeline = ()  # h11 has none

        def connection_made(self, transport: Any) -> None:
            words[OPEN_CONNECTIONS] += 1
            super().connection_made(transport if polite is None else PoliteTransport(transport, self, polite))

        def connection_lost(self, exc: Optional[Exception]) -> None:
            words[OPEN_CONNECTIONS] -= 1
            for cycle in running(self) if self.pipeline else (self.cycle,):
                finish(cycle)
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            if self.pipeline:
                complete = [cycle for cycle in running(self) if cycle.response_complete]
                settle_later(complete)
                response_complete(self)
                return
            cycle = self.cycle
            if self.transport.get_write_buffer_size() <= queued_bytes:
                finish(cycle)
            else:
                settle_later([cycle])
            response_complete(self)
            if cycle.more_body and not hasattr(self, "conn"):  # h11's states tell by themselves
                self.cycle = RestOfBody()

    for name in ("handle_upgrade", "handle_websocket_upgrade"):
        if hasattr(protocol_class, name):
            setattr(CountingProtocol, name, _stripped_upgrade(getattr(protocol_class, name)))
    return CountingProtocol


class _Settling:
    """Answers that are complete, but not yet all with the kernel: their clients read slowly."""

    def __init__(self, finish: Callable[[Any], None], call_later: Callable[[float, Callable[[], None]], Any]) -> None:
        self._finish = finish
        self._call_later = call_later
        self._cycles: List[Any] = []

    def later(self, cycles: List[Any]) -> None:
        if not self._cycles:
            self._call_later(_SETTLE_SECONDS, self._turn)
        self._cycles.extend(cycles)

    def look(self) -> None:
        looked_at = self._cycles[:]
        self._cycles.clear()
        for cycle in looked_at:
            if cycle.transport.get_write_buffer_size():
                self._cycles.append(cycle)
            else:
                self._finish(cycle)

    def _turn(self) -> None:
        self.look()
        if self._cycles:
            self._call_later(_SETTLE_SECONDS, self._turn)


def _stripped_upgrade(handle: Any) -> Any:
    def handle_upgrade(self: Any, *arguments: Any) -> Any:
        strip_headers(self.headers)
        self.transport = whole_transport(self.transport)
        return handle(self, *arguments)
    return handle_upgrade


def counting_websocket(protocol_class: Any, words: Any, visitors: ledger.Ledger) -> Any:
    """A WebSocket is one request, in flight for as long as it is open."""
    class CountingWebSocket(protocol_class):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            words[UPGRADED_CONNECTIONS] += 1
            visitors.begin(self)
            visitors.is_long(self)
            super().connection_made(transport)

        def connection_lost(self, exc: Optional[Exception]) -> None:
            words[UPGRADED_CONNECTIONS] -= 1
            words[OPEN_CONNECTIONS] -= 1
            visitors.finish(self)
            super().connection_lost(exc)

    return CountingWebSocket
