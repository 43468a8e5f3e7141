"""Which protocol classes answer at which door, and where their requests are counted."""
import copy
from typing import Any, Callable, NamedTuple

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from . import asgi_counting, ledger, uvicorn_counting
from .contract import UPGRADED_CONNECTIONS
from .ignored_paths import IgnoredPaths
from .uvicorn_keep_alive import ConnectionLoop


class Doors(NamedTuple):
    public: Any
    internal: Any
    # To be called in each turn of the server, with its connections, and at its end: closes what was idle for too long,
    # finds streams, and finishes what is delivered.
    look: Callable[[Any], None]
    sidecar: Any  # the class at its door, which is made with
    sidecar_config: Any
    close_expired: Callable[[Any], None]  # of look(), for connections that are in nobody's count
    moves: bool  # what comes through `public` is of a class that we know, and can be handed over between two requests


def make_doors(config: Any, worker: Any, loop: Any) -> Doors:
    """In the worker, once its loop is there: around its own scoreboard."""
    words = worker.words
    visitors, calls = ledger.of_worker(worker)
    connection_loop = ConnectionLoop(loop)
    protocol = config.http_protocol_class
    ignored = IgnoredPaths(worker.settings.idle_ignore, config.root_path or "")

    def look(connections: Any) -> None:
        count.settle()
        connection_loop.close_expired(connections)
        visitors.find_streams(uvicorn_counting.is_streaming)

    if uvicorn_counting.can_count(protocol):
        count = uvicorn_counting.Counting(protocol, worker, visitors, calls, connection_loop, config, ignored)
        beside = _beside(config, count)
        if config.ws_protocol_class is not None:
            config.ws_protocol_class = uvicorn_counting.counting_websocket(config.ws_protocol_class, words, visitors)
        return Doors(count.public, count.internal, look, count.uncounted, beside, connection_loop.close_expired,
                     config.ssl is None)

    # A class that we do not know (--server-option http=...) is counted around the app, and keeps its own timers. The
    # other doors have uvicorn's own.
    def upgraded(by: int) -> None:
        words[UPGRADED_CONNECTIONS] += by

    count = uvicorn_counting.Counting(AutoHTTPProtocol, worker, visitors, calls, connection_loop, config, ignored)
    beside = _beside(config, count)
    config.loaded_app = asgi_counting.CountingApp(config.loaded_app, visitors, None, upgraded, ignored)
    return Doors(protocol, count.internal, look, count.uncounted, beside, connection_loop.close_expired, False)


def _beside(config: Any, count: uvicorn_counting.Counting) -> Any:
    """The configuration before anything in it counts; WebSockets take their class from it. Nobody speaks TLS there."""
    beside = copy.copy(config)
    beside.loaded_app, beside.ssl = count.uncounted_app, None
    return beside
