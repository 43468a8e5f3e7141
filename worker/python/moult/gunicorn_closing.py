"""gunicorn closes its connections in a function of its own, in every class: there the master closes what a close of
ours would cut off (see closing). Later versions linger by themselves, for two seconds and 64 KiB at most, in which a
worker of one thread serves nobody else.
"""
import functools
import socket
from typing import Any

from .closing import FIRST_FLIGHT_BYTES, is_on_its_way, would_cut


def take_over(util: Any, worker: Any) -> None:
    """In the worker; `util` is gunicorn's."""
    def given(sock: Any, close: Any) -> bool:
        if type(sock) is not socket.socket or sock.fileno() < 0:  # what is in a TLS connection the master cannot end
            return False
        # While it serves, each answer of sync's ends so, and who asked for the end has mostly said all. While a stop is
        # announced each answer ends its connection, too: of these only what is long.
        is_cut = (would_cut(sock.fileno()) or worker.closings.has_more_to_come(sock)
                  or (worker.is_retiring and is_on_its_way(sock))
                  or (worker.announces_close and is_on_its_way(sock, FIRST_FLIGHT_BYTES)))
        return is_cut and worker.closings.give_socket(sock, lambda: close(sock))

    for name in ("close", "close_graceful"):
        close = getattr(util, name, None)
        if close is not None:
            setattr(util, name, _polite(close, given))


def is_in_a_body(request: Any) -> bool:
    """Of a request of gunicorn's, None before the first: whether some of its body was not read yet."""
    if request is None:
        return False
    reader = request.body.reader
    return bool(reader.length > 0 if hasattr(reader, "length") else getattr(reader, "parser", None))


def _polite(close: Any, given: Any) -> Any:
    @functools.wraps(close)
    def close_politely(sock: Any, *arguments: Any, **named: Any) -> None:
        if not given(sock, close):
            close(sock, *arguments, **named)
    return close_politely
