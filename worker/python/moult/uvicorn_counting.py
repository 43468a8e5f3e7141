"""Where uvicorn's requests are counted: subclasses of its own protocol classes, old and new.

Each request passes, in both HTTP implementations and in every version since 0.17, through one RequestResponseCycle:
run_asgi() is called when it begins, and the protocol's on_response_complete() when its answer is written. Those are
plain calls; a coroutine around the app's, and one more call for each message that it sends, would cost three times as
much. So what is rarely wanted is looked for when it is: 5xx in the table of status lines, streams by the server's turn.
What has no such cycle is counted by asgi_counting.
"""
import functools
import sys
from typing import Any, Callable, Dict, List, Optional

from . import ledger
from .contract import OPEN_CONNECTIONS, UPGRADED_CONNECTIONS
from .scheduled_call import OUR_PREFIX, mark_scope, strip_headers
from .uvicorn_keep_alive import ConnectionLoop, IdleTimer

_SETTLE_SECONDS = 0.02  # how late a request may be seen to be finished, where its last bytes are queued
_NONE_OF_OURS = (OUR_PREFIX,)  # greater than every header before ours in the alphabet, smaller than ours
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
    """Makes the counting classes of one protocol class: `public`, and `internal` for the internal door."""

    def __init__(self, protocol: Any, words: Any, visitors: ledger.Ledger, calls: ledger.Ledger,
                 connection_loop: ConnectionLoop) -> None:
        def begin_call(cycle: Any) -> None:
            mark_scope(cycle.scope)
            calls.begin(cycle)

        module = cycle_module(protocol)
        _count_5xx(module, visitors.server_error)
        module.RequestResponseCycle = _counting_cycle(module.RequestResponseCycle)  # type: ignore[union-attr]
        self.public = _counting_protocol(protocol, words, visitors.begin, visitors.finish, connection_loop)
        self.internal = _counting_protocol(protocol, words, begin_call, calls.finish, connection_loop)
        self.internal.moult_strip = staticmethod(lambda headers: None)


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


def _counting_cycle(cycle_class: Any) -> Any:
    run_asgi = cycle_class.run_asgi

    class CountingCycle(cycle_class):  # type: ignore[misc]
        def run_asgi(self, app: Any) -> Any:
            protocol = self.on_response.__self__
            protocol.moult_running = self
            headers = self.scope["headers"]
            if headers and max(headers) > _NONE_OF_OURS:  # one call in C; true for few requests
                protocol.moult_strip(headers)
            protocol.moult_begin(self)
            return run_asgi(self, app)

    return CountingCycle


def _counting_protocol(protocol_class: Any, words: Any, begin: Callable[[Any], None], finish: Callable[[Any], None],
                       connection_loop: ConnectionLoop) -> Any:
    response_complete = protocol_class.on_response_complete
    settling: List[Any] = []  # cycles that are complete, but whose last bytes may still be queued
    settle_soon = _settling(settling, finish, connection_loop)
    # uvloop writes at the end of the loop's turn, so there it is no use to look before.
    writes_at_once = not type(connection_loop.whole).__module__.startswith("uvloop")

    class CountingProtocol(protocol_class):  # type: ignore[misc]
        moult_running: Any = None  # the cycle that the app is answering, or the last one
        moult_begin = staticmethod(begin)
        moult_strip = staticmethod(strip_headers)

        @functools.wraps(protocol_class.__init__)  # whose signature tells what this version wants
        def __init__(self, *arguments: Any, **named: Any) -> None:
            named["_loop"] = connection_loop
            super().__init__(*arguments, **named)
            self.moult_idle_timer = IdleTimer()

        def connection_made(self, transport: Any) -> None:
            words[OPEN_CONNECTIONS] += 1
            super().connection_made(transport)

        def connection_lost(self, exc: Optional[Exception]) -> None:
            words[OPEN_CONNECTIONS] -= 1
            finish(self.moult_running)
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            if writes_at_once and not self.transport.get_write_buffer_size():
                finish(self.moult_running)
            else:
                if not settling:
                    settle_soon()
                settling.append(self.moult_running)
            response_complete(self)

    for name in ("handle_upgrade", "handle_websocket_upgrade"):
        if hasattr(protocol_class, name):
            setattr(CountingProtocol, name, _stripped_upgrade(getattr(protocol_class, name)))
    return CountingProtocol


def _settling(settling: List[Any], finish: Callable[[Any], None], connection_loop: ConnectionLoop) -> Callable[[], Any]:
    """One look for all that were completed since, not one callback an answer."""
    call_later = connection_loop.whole.call_later

    def look() -> None:
        looked_at = settling[:]
        settling.clear()
        for cycle in looked_at:
            if cycle.transport.get_write_buffer_size():
                settling.append(cycle)
            else:
                finish(cycle)
        if settling:
            settle_soon()

    def settle_soon() -> None:
        call_later(_SETTLE_SECONDS, look)

    return settle_soon


def _stripped_upgrade(handle: Any) -> Any:
    def handle_upgrade(self: Any, *arguments: Any) -> Any:
        strip_headers(self.headers)
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
