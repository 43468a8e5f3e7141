"""Where uvicorn's requests are counted: subclasses of its own protocol classes, old and new.

Each request passes, in both HTTP implementations and in every version since 0.17, through one RequestResponseCycle:
run_asgi() is called when it begins, send() for each message of its answer, and the protocol's on_response_complete()
when the answer is written. Those are plain calls, not coroutines around the app's: an ASGI wrapper costs three times
as much. What has no such cycle is counted by asgi_counting.
"""
import functools
import sys
from typing import Any, Callable, List, Optional, Tuple

from . import ledger
from .contract import OPEN_CONNECTIONS, UPGRADED_CONNECTIONS
from .scheduled_call import OUR_PREFIX, mark_scope, strip_headers
from .uvicorn_keep_alive import ConnectionLoop, IdleTimer

_SETTLE_SECONDS = 0.02  # how late a request may be seen to be finished, where its last bytes are queued
_NONE_OF_OURS = (OUR_PREFIX,)  # greater than every header before ours in the alphabet, smaller than ours


def cycle_module(protocol: Any) -> Optional[Any]:
    """The module whose RequestResponseCycle this protocol class makes; None: it is another kind."""
    for base in protocol.__mro__:
        module = sys.modules.get(base.__module__)
        if hasattr(base, "on_response_complete") and hasattr(getattr(module, "RequestResponseCycle", None), "run_asgi"):
            return module
    return None


def can_count(protocol: Any) -> bool:
    module = cycle_module(protocol)
    return module is not None and not module.__name__.endswith("zttp_impl")


class Counting:
    """Makes the counting classes of one protocol class: `public`, and `internal` for the internal door."""

    def __init__(self, protocol: Any, words: Any, visitors: ledger.Ledger, calls: ledger.Ledger,
                 connection_loop: ConnectionLoop) -> None:
        def begin_visit(cycle: Any) -> None:
            headers = cycle.scope["headers"]
            if headers and max(headers) > _NONE_OF_OURS:  # one call in C; true for few requests
                strip_headers(headers)
            visitors.begin(cycle)

        def begin_call(cycle: Any) -> None:
            mark_scope(cycle.scope)
            calls.begin(cycle)

        settle = _settling(connection_loop)
        module = cycle_module(protocol)
        module.RequestResponseCycle = _counting_cycle(module.RequestResponseCycle, visitors)  # type: ignore
        self.public = _counting_protocol(protocol, words, begin_visit, visitors.finish, settle, connection_loop)
        self.internal = _counting_protocol(protocol, words, begin_call, calls.finish, settle, connection_loop)


def _counting_cycle(cycle_class: Any, visitors: ledger.Ledger) -> Any:
    run_asgi, send = cycle_class.run_asgi, cycle_class.send
    is_long, server_error = visitors.is_long, visitors.server_error

    class CountingCycle(cycle_class):  # type: ignore[misc]
        def run_asgi(self, app: Any) -> Any:
            protocol = self.on_response.__self__
            protocol.moult_running = self
            protocol.moult_begin(self)
            return run_asgi(self, app)

        def send(self, message: Any) -> Any:
            if message["type"] == "http.response.body":
                if message.get("more_body"):
                    is_long(self)
            elif message.get("status", 0) >= 500:
                server_error()
            return send(self, message)

    return CountingCycle


def _counting_protocol(protocol_class: Any, words: Any, begin: Callable[[Any], None], finish: Callable[[Any], None],
                       settle: Callable[..., None], connection_loop: ConnectionLoop) -> Any:
    response_complete = protocol_class.on_response_complete

    class CountingProtocol(protocol_class):  # type: ignore[misc]
        moult_running: Any = None  # the cycle that the app is answering, or the last one
        moult_begin = staticmethod(begin)

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
            if self.transport.get_write_buffer_size():
                settle(self.transport, finish, self.moult_running)
            else:
                finish(self.moult_running)
            response_complete(self)

    for name in ("handle_upgrade", "handle_websocket_upgrade"):
        if hasattr(protocol_class, name):
            setattr(CountingProtocol, name, _stripped_upgrade(getattr(protocol_class, name)))
    return CountingProtocol


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


def _settling(connection_loop: ConnectionLoop) -> Callable[[Any, Callable[[Any], None], Any], None]:
    """For answers that are complete, but not yet all with the kernel: a look now and then for all of them.

    On uvloop that is every answer: it writes at the end of the loop's turn. So not one callback an answer.
    """
    waiting: List[Tuple[Any, Callable[[Any], None], Any]] = []
    call_later = connection_loop.whole.call_later

    def later(transport: Any, finish: Callable[[Any], None], key: Any) -> None:
        if not waiting:
            call_later(_SETTLE_SECONDS, look)
        waiting.append((transport, finish, key))

    def look() -> None:
        looked_at = waiting[:]
        waiting.clear()
        for transport, finish, key in looked_at:
            if transport.get_write_buffer_size():
                waiting.append((transport, finish, key))
            else:
                finish(key)
        if waiting:
            call_later(_SETTLE_SECONDS, look)

    return later
