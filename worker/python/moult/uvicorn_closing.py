"""How a uvicorn connection closes whose client may still send: by the master, once our side is written.

A connection's protocol sees its transport through one of these, at the cost of a small object a connection and nothing
a request. Whatever is not close() goes to the transport itself.
"""
import sys
import time
from typing import Any

from .closing import would_cut

_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.005, 0.25  # whether all is with the kernel
_TRY_SECONDS = 2.0  # to pass it, where many close at once; then it is closed as if there were no master


class PoliteTransport:
    def __init__(self, whole: Any, connection: Any, worker: Any) -> None:
        self.moult_whole = whole
        self._connection = connection
        self._worker = worker
        self._gives = False
        self._try_until = 0.0
        # Called for each response.
        self.write = whole.write
        self.is_closing = whole.is_closing
        self.get_write_buffer_size = whole.get_write_buffer_size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.moult_whole, name)

    def close(self) -> None:
        whole = self.moult_whole
        if self._gives or whole.is_closing() or not self._cuts():
            whole.close()
            return
        self._gives = True
        self._try_until = time.monotonic() + _TRY_SECONDS
        whole.pause_reading()
        self.is_closing = _yes
        self.pause_reading = self.resume_reading = _nothing
        self._give(0.0)

    def _cuts(self) -> bool:
        """Never for a client that has asked for the end itself and said all: nearly every other close."""
        sock = self.moult_whole.get_extra_info("socket")
        return sock is not None and (is_in_the_middle(self._connection) or would_cut(sock.fileno()))

    def _give(self, pause: float) -> None:
        whole = self.moult_whole
        if whole.is_closing():
            return  # it broke, or the worker is at its end
        is_written = not whole.get_write_buffer_size()
        if is_written and self._worker.closings.give(whole.get_extra_info("socket").fileno(), self._answered):
            return
        if is_written and time.monotonic() > self._try_until:
            whole.close()
            return
        if not is_written:
            self._try_until = time.monotonic() + _TRY_SECONDS
        after = min(max(2 * pause, _LOOK_SECONDS), _LONGEST_LOOK_SECONDS)
        self._connection.loop.whole.call_later(pause, self._give, after)  # uvloop writes at the end of its turn

    def _answered(self, taken: bool) -> None:
        if taken:
            self.moult_whole.abort()  # closes our descriptor; nothing is sent, as the master's is open
        else:
            self.moult_whole.close()


def is_in_the_middle(connection: Any) -> bool:
    """Of a request that it has begun, or of requests that wait for this answer: there is more to come, or unread."""
    if hasattr(connection, "conn"):
        h11 = sys.modules["h11"]  # which made it
        return (connection.conn.their_state is h11.SEND_BODY  # type: ignore[attr-defined]
                or bool(connection.conn.trailing_data[0]))
    cycle, scope = connection.cycle, getattr(connection, "scope", None)
    if connection.pipeline or (cycle is not None and cycle.more_body):
        return True
    return scope is not None and "method" not in scope  # on_message_begin() has come, and not the end of its head


def whole_transport(transport: Any) -> Any:
    """For a protocol that the connection is upgraded to."""
    return getattr(transport, "moult_whole", transport)


def _yes() -> bool:
    return True


def _nothing() -> None:
    pass
