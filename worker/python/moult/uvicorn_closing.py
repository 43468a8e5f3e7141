"""How a uvicorn connection closes whose client may still send: by the master, once our side is written.

A connection's protocol sees its transport through one of these, at the cost of a small object a connection and nothing
a request. Whatever is not close() goes to the transport itself.
"""
import socket
import sys
import time
from typing import Any

from .closing import is_on_its_way, would_cut

_LOOK_SECONDS, _LONGEST_LOOK_SECONDS = 0.005, 0.25  # whether all is with the kernel, or with the client
_TRY_SECONDS = 2.0  # to pass it, where many close at once; then it is closed as if there were no master
# For a client that is not known to say more, to receive what is on its way: more than most round trips, so that few
# have to be passed, and little for who retires. A choice.
_ARRIVAL_SECONDS = 0.25


class PoliteTransport:
    def __init__(self, whole: Any, connection: Any, worker: Any) -> None:
        self.moult_whole = whole
        self._connection = connection
        self._worker = worker
        self._gives = self._is_given = self._is_cut = False
        self._written_at = 0.0
        # Called for each response.
        self.write = whole.write
        self.is_closing = whole.is_closing
        self.get_write_buffer_size = whole.get_write_buffer_size

    def __getattr__(self, name: str) -> Any:
        return getattr(self.moult_whole, name)

    def close(self) -> None:
        whole = self.moult_whole
        if self._gives:  # the worker is at its end, and nobody will look again
            is_left = not (whole.is_closing() or self._is_given or whole.get_write_buffer_size())
            if is_left and self._needs_the_master():
                self._pass()
            whole.close()
            return
        if whole.is_closing() or not self._cuts():
            whole.close()
            return
        self._gives = True
        self._written_at = time.monotonic()
        whole.pause_reading()
        self.is_closing = _yes
        self.pause_reading = self.resume_reading = _nothing
        self._give(0.0)

    def _cuts(self) -> bool:
        """Never for a client that has asked for the end itself and said all: nearly every other close."""
        sock = self.moult_whole.get_extra_info("socket")
        if sock is None:
            return False
        self._is_cut = is_in_the_middle(self._connection) or would_cut(sock.fileno())
        return self._is_cut or not has_asked_for_the_end(self._connection) and self._is_on_its_way()

    def _is_on_its_way(self) -> bool:
        whole = self.moult_whole
        sock = whole.get_extra_info("socket")
        return is_on_its_way(sock) or (whole.get_write_buffer_size() > 0 and sock.family != socket.AF_UNIX)

    def _needs_the_master(self) -> bool:
        self._is_cut = self._is_cut or would_cut(self.moult_whole.get_extra_info("socket").fileno())
        return self._is_cut or self._is_on_its_way()

    def _give(self, pause: float) -> None:
        whole = self.moult_whole
        if whole.is_closing():
            return  # it broke, or the worker is at its end
        now = time.monotonic()
        if whole.get_write_buffer_size():
            self._written_at = now
        elif not self._needs_the_master():
            whole.close()  # all of it has arrived
            return
        else:
            written_seconds = now - self._written_at
            patience = 0.0 if self._is_cut else _ARRIVAL_SECONDS
            if written_seconds >= patience and self._pass():
                return
            if written_seconds > patience + _TRY_SECONDS:
                whole.close()
                return
        after = min(max(2 * pause, _LOOK_SECONDS), _LONGEST_LOOK_SECONDS)
        self._connection.loop.whole.call_later(pause, self._give, after)  # uvloop writes at the end of its turn

    def _pass(self) -> bool:
        self._is_given = self._worker.closings.give(
            self.moult_whole.get_extra_info("socket").fileno(), self._answered)
        return self._is_given

    def _answered(self, taken: bool) -> None:
        if taken:
            self.moult_whole.abort()  # closes our descriptor; nothing is sent, as the master's is open
        else:
            self.moult_whole.close()


def has_asked_for_the_end(connection: Any) -> bool:
    """In the last request: after it nothing may come."""
    scope = getattr(connection.cycle, "scope", None)
    if scope is None:
        return False
    return scope["http_version"] == "1.0" or any(
        name == b"connection" and b"close" in value.lower() for name, value in scope["headers"])


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
