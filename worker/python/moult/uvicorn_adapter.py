"""Serves an ASGI app with the user's uvicorn: 0.17 and later."""
import asyncio
import logging
from typing import Any, Dict, List, Optional

import uvicorn

from . import access_log, options
from .settings import Settings
from .uvicorn_options import config_arguments
from .uvicorn_server import Server
from .worker_process import Worker

_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access")


class UvicornAdapter:
    """Made in the fork server; serve() runs in the worker."""

    def __init__(self, told: Settings) -> None:
        self.name = "uvicorn %s" % uvicorn.__version__
        self.warnings: List[str] = []  # what was said and has no effect; of -k uvicorn the master knows that itself
        if told.worker_class == "auto" and (told.threads or 1) > 1:
            self.warnings.append(options.threads_ignored(
                "uvicorn, which serves this ASGI app, has one loop a worker", "-w says how many workers"))
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

    def before_fork(self, slot: Optional[int]) -> None:
        pass

    def child_exit(self, pid: int, slot: Optional[int]) -> None:
        pass

    def serve(self, worker: Worker) -> None:
        Server(self._config, worker, access_log.reopen).run()


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
