"""Where uvicorn's requests are counted: subclasses of its own protocol classes, old and new.

Each request passes, in both HTTP implementations and in every version since 0.17, through one RequestResponseCycle:
run_asgi() is called when it begins, send() for each message of its answer, and the protocol's on_response_complete()
when the answer is written. Those are plain calls, not coroutines around the app's: an ASGI wrapper costs three times
as much. What has no such cycle is counted by asgi_counting.
"""
import asyncio
import sys
from operator import itemgetter
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from . import ledger
from .contract import OPEN_CONNECTIONS, UPGRADED_CONNECTIONS
from .scheduled_call import OUR_PREFIX, mark_scope, strip_headers

_UNSETTLED_SECONDS = 0.05  # how often a connection whose client reads slowly is looked at again
_first = itemgetter(0)


class Doors(NamedTuple):
    """The protocol classes for the public sockets and for the internal one, and where they count."""
    public: Any
    internal: Any
    visitors: ledger.Ledger


def cycle_module(protocol: Any) -> Optional[Any]:
    """The module whose RequestResponseCycle this protocol class makes; None: it is another kind."""
    for base in protocol.__mro__:
        module = sys.modules.get(base.__module__)
        if hasattr(base, "on_response_complete") and hasattr(getattr(module, "RequestResponseCycle", None), "run_asgi"):
            return module
    return None


def counting_doors(protocol: Any, words: Any) -> Optional[Doors]:
    """Makes the classes in the worker, around its own scoreboard. None: this protocol cannot be counted so."""
    module = cycle_module(protocol)
    if module is None or module.__name__.endswith("zttp_impl"):
        return None
    visitors, calls = ledger.of_visitors(words), ledger.of_calls(words)
    settle = _Settling()

    def begin_visit(cycle: Any) -> None:
        headers = cycle.scope["headers"]
        if OUR_PREFIX in b" ".join(map(_first, headers)):
            strip_headers(headers)
        visitors.begin(cycle)

    def begin_call(cycle: Any) -> None:
        mark_scope(cycle.scope)
        calls.begin(cycle)

    module.RequestResponseCycle = _counting_cycle(module.RequestResponseCycle, visitors)
    public = _counting_protocol(protocol, words, begin_visit, visitors.finish, settle)
    internal = _counting_protocol(protocol, words, begin_call, calls.finish, settle)
    return Doors(public, internal, visitors)


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
                       settle: "_Settling") -> Any:
    response_complete = protocol_class.on_response_complete

    class CountingProtocol(protocol_class):  # type: ignore[misc]
        moult_running: Any = None  # the cycle that the app is answering, or the last one
        moult_begin = staticmethod(begin)

        def connection_made(self, transport: Any) -> None:
            words[OPEN_CONNECTIONS] += 1
            super().connection_made(transport)

        def connection_lost(self, exc: Optional[Exception]) -> None:
            words[OPEN_CONNECTIONS] -= 1
            finish(self.moult_running)
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            # uvloop writes at the end of the loop's turn, and a slow client takes longer still.
            if self.transport.get_write_buffer_size():
                settle.later(self.transport, finish, self.moult_running)
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


class _Settling:
    """Answers that are complete, but not yet all with the kernel. One look a turn of the loop for all of them."""

    def __init__(self) -> None:
        self._waiting: List[Tuple[Any, Callable[[Any], None], Any]] = []

    def later(self, transport: Any, finish: Callable[[Any], None], key: Any) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._look)
        self._waiting.append((transport, finish, key))

    def _look(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            transport, finish, key = one
            if transport.get_write_buffer_size():
                self._waiting.append(one)
            else:
                finish(key)
        if self._waiting:
            asyncio.get_running_loop().call_later(_UNSETTLED_SECONDS, self._look)
