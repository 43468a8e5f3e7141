"""How one uvicorn connection is brought to its end when the worker retires."""
import copy
import fcntl
import struct
import termios
import time
from typing import Any, Dict, Iterable, List, Tuple

_CLOSE_NOTIFY_SECONDS = 1.0  # for a TLS client's half of the goodbye; asyncio waits for 30 s, and idle clients read not
CLOSE = (b"connection", b"close")


def is_websocket(connection: Any) -> bool:
    return not hasattr(connection, "on_response_complete")


def is_fresh(connection: Any) -> bool:
    """Nothing was received yet: its first request is probably on the way."""
    return connection.cycle is None and is_idle(connection)


def is_idle(connection: Any) -> bool:
    """Between two requests: nothing is being read, answered, pipelined or buffered."""
    if hasattr(connection, "conn"):
        import h11  # which made it
        states = connection.conn.our_state, connection.conn.their_state
        return states == (h11.IDLE, h11.IDLE) and not connection.conn.trailing_data[0]
    cycle, scope = connection.cycle, getattr(connection, "scope", None)
    if cycle is not None and not cycle.response_complete:
        return False
    # httptools: on_message_begin() makes a new scope, on_headers_complete() puts the method into it.
    return not getattr(connection, "pipeline", ()) and (scope is None or "method" in scope)


def announce_close(connection: Any) -> None:
    """The answer that is being made, if it has not begun, or else the next one, says `Connection: close`; then the
    server closes."""
    _announce_close_later(connection)
    cycle = connection.cycle  # of several that were pipelined it is the last one
    if cycle is not None and not cycle.response_started:
        cycle.default_headers = with_close(cycle.default_headers)


def announce_close_after_this(connection: Any) -> None:
    """The answer after the one that is being made says `Connection: close`, though more was pipelined."""
    _announce_close_later(connection)
    for cycle, _ in connection.pipeline:
        cycle.default_headers = with_close(cycle.default_headers)


def _announce_close_later(connection: Any) -> None:
    """Of each request whose head has not been read yet."""
    if hasattr(connection, "default_headers"):  # uvicorn copies them once a connection, later versions once a request
        connection.default_headers = with_close(connection.default_headers)
    elif CLOSE not in connection.server_state.default_headers:  # else all answers of the server say it
        connection.server_state = state = copy.copy(connection.server_state)  # the sets in it are the same
        state.default_headers = with_close(state.default_headers)


def with_close(headers: List[Tuple[bytes, bytes]]) -> List[Tuple[bytes, bytes]]:
    return headers if CLOSE in headers else headers + [CLOSE]


def close_websocket(connection: Any) -> None:
    """1012, "service restart". uvicorn's own shutdown() does so but for `websockets` in old versions: that drops."""
    completed = getattr(connection, "handshake_completed_event", None)
    if hasattr(connection, "fail_connection") and completed is not None and completed.is_set():
        connection.ws_server.closing = True
        connection.fail_connection(1012)
    else:
        connection.shutdown()


class ClosedTls:
    """TLS connections that were closed and are not gone, as their clients have not said that they will send no more."""

    def __init__(self) -> None:
        self._abort_at: Dict[Any, float] = {}  # by connection

    def turn(self, connections: Iterable[Any]) -> None:
        """Called by the drain, again and again until no connection is left."""
        now = time.monotonic()
        closing = [one for one in connections if one.transport.is_closing() and _is_tls(one.transport)]
        self._abort_at = {one: self._abort_at.get(one, now + _CLOSE_NOTIFY_SECONDS) for one in closing}
        for connection in closing:
            if self._abort_at[connection] < now and _is_delivered(connection.transport):
                connection.transport.abort()


def close(connection: Any) -> None:
    """Once: closed twice, a TLS transport of asyncio forgets what it would need to be aborted."""
    if not connection.transport.is_closing():
        connection.transport.close()


def _is_tls(transport: Any) -> bool:
    try:
        return transport.get_extra_info("sslcontext") is not None
    except AttributeError:  # somebody else closed it twice, see close(): its loop has to end it
        return False


def _is_delivered(transport: Any) -> bool:
    """It is open, and all that was written is with the client's kernel. Ours is asked, for the transport does not tell
    of what waits under its encryption: with something there, the kernel has more than it can send."""
    sock = transport.get_extra_info("socket")
    if sock is None or transport.get_write_buffer_size():
        return False  # None: its socket is closed, and the protocol hears of it in the next turn of the loop
    try:
        unsent = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, struct.pack("i", 0))
    except (OSError, ValueError):
        return False  # likewise
    return struct.unpack("i", unsent)[0] == 0
