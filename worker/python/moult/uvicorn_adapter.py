"""Serves an ASGI app with the user's uvicorn: 0.17 and later."""
import asyncio
import logging
from typing import Any, Callable, Dict

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from . import access_log, asgi_counting, uvicorn_counting
from .contract import UPGRADED_CONNECTIONS
from .settings import Settings
from .uvicorn_options import config_arguments
from .uvicorn_server import Server
from .worker_process import Worker

_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access")


class UvicornAdapter:
    """Made in the fork server; serve() runs in the worker."""

    def __init__(self, told: Settings) -> None:
        self.name = "uvicorn %s" % uvicorn.__version__
        self._settings = told
        self._arguments = config_arguments(uvicorn.Config, told, uvicorn.__version__)
        self._config: Any = None

    def take_app(self, app: Any) -> None:
        """Builds all that workers share: logging, TLS context, protocol classes, event loop."""
        arguments: Dict[str, Any] = dict(self._arguments)
        if "log_config" not in arguments and any(_is_configured(name) for name in _LOGGERS):
            arguments["log_config"] = None  # the app did so itself, and with uvicorn alone it would have the last word
        config = uvicorn.Config(app, **arguments)
        if self._settings.access_logfile not in (None, "-"):
            from uvicorn.logging import AccessFormatter
            layout = uvicorn.config.LOGGING_CONFIG["formatters"]["access"]["fmt"]
            access_log.send_to_file(self._settings.access_logfile, AccessFormatter(layout, use_colors=False))
        config.load()
        import_loop(config)
        self._config = config

    def loaded(self) -> None:
        pass

    def before_fork(self, slot: int) -> None:
        pass

    def child_exit(self, pid: int, slot: int) -> None:
        pass

    def serve(self, worker: Worker) -> None:
        make_server(self._config, worker).run()


def make_server(config: Any, worker: Worker, reopen_logs: Callable[[], Any] = access_log.reopen) -> Any:
    """In the worker: counts around its own scoreboard."""
    doors = uvicorn_counting.counting_doors(config.http_protocol_class, worker.words)
    if doors is None:
        return _count_around_app(config, worker, reopen_logs)
    if config.ws_protocol_class is not None:
        config.ws_protocol_class = uvicorn_counting.counting_websocket(
            config.ws_protocol_class, worker.words, doors.visitors)
    return Server(config, worker, doors.public, doors.internal, reopen_logs)


def _count_around_app(config: Any, worker: Worker, reopen_logs: Callable[[], Any]) -> Any:
    """A protocol class that we do not know (--server-option http=...). The internal door has uvicorn's own."""
    words, protocol = worker.words, config.http_protocol_class
    doors = uvicorn_counting.counting_doors(AutoHTTPProtocol, words)

    def upgraded(by: int) -> None:
        words[UPGRADED_CONNECTIONS] += by

    config.loaded_app = asgi_counting.CountingApp(config.loaded_app, doors.visitors, None, upgraded)
    return Server(config, worker, protocol, doors.internal, reopen_logs)


def _is_configured(name: str) -> bool:
    logger = logging.root.manager.loggerDict.get(name)
    return isinstance(logger, logging.Logger) and bool(logger.handlers or logger.level or not logger.propagate)


def import_loop(config: Any) -> None:
    """What a child would import first of all: 1,300 pages of it are then shared."""
    if hasattr(config, "get_loop_factory"):
        config.get_loop_factory()
    else:
        config.setup_event_loop()
    asyncio.get_event_loop_policy()
