"""--access-logfile for uvicorn: a file is appended to, and opened anew at SIGUSR1; `-` is uvicorn's own, to stdout."""
import logging
import os
from typing import Any

from .failure import Refused

LOGGER = "uvicorn.access"
_FORKED_WITH = (LOGGER, "gunicorn.access", "gunicorn.error")


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


def reopen_moved() -> None:
    """In the fork server, before each fork: else a new worker would write to a file that was moved away meanwhile."""
    for name in _FORKED_WITH:
        for handler in logging.getLogger(name).handlers:
            if isinstance(handler, logging.FileHandler) and handler.stream is not None and _is_moved(handler):
                _reopen(handler)


def _is_moved(handler: logging.FileHandler) -> bool:
    try:
        return not os.path.samestat(os.stat(handler.baseFilename), os.fstat(handler.stream.fileno()))
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False  # not to be known: it stays


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
