"""Keep-alive for many connections with one look a turn of the server, instead of a timer a request.

uvicorn makes and cancels a timer of the event loop for every request, which costs it more than our counting does. The
protocols ask for it with call_later() of the loop that they are given, so they are given one whose timers are a
number in the connection. A connection is closed up to a look later than it says.
"""
import time
from typing import Any, Callable, Iterable, Optional


class IdleTimer:
    """A connection's only one; what its call_later() gives back."""
    __slots__ = ("due",)

    def __init__(self) -> None:
        self.due: Optional[float] = None  # on time.monotonic(); None: not idle

    def cancel(self) -> None:
        self.due = None


class ConnectionLoop:
    """The event loop as an HTTP protocol sees it."""

    def __init__(self, loop: Any) -> None:
        self.whole = loop
        self.create_task = loop.create_task
        self.call_later, self.close_expired = _clock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


def _clock() -> Any:
    now = time.monotonic()

    def call_later(delay: float, handler: Callable[[], Any]) -> IdleTimer:
        timer = handler.__self__.moult_idle_timer  # type: ignore[attr-defined]
        timer.due = now + delay
        return timer

    def close_expired(connections: Iterable[Any]) -> None:
        """Called by the server in each of its turns."""
        nonlocal now
        before, now = now, time.monotonic()
        for connection in list(connections):
            timer = getattr(connection, "moult_idle_timer", None)
            if timer is not None and timer.due is not None and timer.due < before:
                timer.due = None
                connection.timeout_keep_alive_handler()

    return call_later, close_expired
