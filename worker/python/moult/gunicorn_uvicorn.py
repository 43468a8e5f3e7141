"""Hosts UvicornWorker (uvicorn.workers, or the package uvicorn-worker) with the same server as the uvicorn adapter.

gunicorn's settings and hooks, the class's own CONFIG_KWARGS; our listeners, counting and drain.
"""
import sys
from typing import Any

import uvicorn

from . import process, stack_dump
from .uvicorn_adapter import import_loop
from .uvicorn_server import Server
from .worker_process import Worker


def import_all(worker_class: Any, app: Any) -> None:
    """What each worker would import for itself: the protocols and the loop that the class asks for."""
    config = uvicorn.Config(app, log_config=None, **getattr(worker_class, "CONFIG_KWARGS", {}))
    config.load()
    import_loop(config)


def hosting(worker_class: Any, worker: Worker) -> Any:
    class Hosted(worker_class):  # type: ignore[misc]
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.config.callback_notify = None  # the heartbeat is our server's
            if worker.settings.root_path is not None:
                self.config.root_path = worker.settings.root_path

        def init_signals(self) -> None:
            process.die_with_parent()  # `user` in a configuration file clears it
            stack_dump.arm()

        async def _serve(self) -> None:
            for listener in self.sockets:
                listener.close()  # our server has those that we were told; nobody else would close these
            self.config.app = self.wsgi
            if not self.config.loaded:
                self.config.load()
            server = Server(self.config, worker, self.log.reopen_files)
            await server.serve(sockets=[])
            if not server.started:
                sys.exit(1)

    return Hosted
