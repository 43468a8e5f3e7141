"""--access-logfile for uvicorn: a file is appended to, and opened anew at SIGUSR1; `-` is uvicorn's own, to stdout."""
import logging
from typing import Any

from .failure import Refused

LOGGER = "uvicorn.access"


def send_to_file(path: str, formatter: logging.Formatter) -> None:
    try:
        handler = logging.FileHandler(path)
    except OSError as error:
        raise Refused("--access-logfile %s: %s" % (path, error.strerror)) from None
    handler.setFormatter(formatter)
    logger = logging.getLogger(LOGGER)
    logger.handlers = [handler]
    logger.propagate = False


def reopen() -> None:
    for handler in logging.getLogger(LOGGER).handlers:
        if isinstance(handler, logging.FileHandler):
            _reopen(handler)


def _reopen(handler: Any) -> None:
    handler.acquire()
    try:
        fresh = handler._open()
    except OSError:
        return  # the old file still takes what is written; better than nothing
    else:
        old, handler.stream = handler.stream, fresh
        if old is not None:
            old.close()
    finally:
        handler.release()
