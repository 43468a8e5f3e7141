"""The sidecar's door of a uvicorn server: the app in a server state of its own, so that nobody counts or waits for what
comes through it, nor gives it to the master. When the worker retires, what is idle is closed at once.
"""
import asyncio
import time
from typing import Any

from . import uvicorn_drain
from .sidecar import GRACE_SECONDS

_LOOK_SECONDS = 0.05
_UNWIND_SECONDS = 0.1  # for what is cancelled


class Sidecar:
    def __init__(self, doors: Any, like: Any) -> None:
        """`like`: the state of the server."""
        self.protocol, self.config = doors.sidecar, doors.sidecar_config
        self.state = type(like)()
        self._close_expired = doors.close_expired
        self._has_until = 0.0  # set when the worker retires
        self.take_headers(like)

    def take_headers(self, like: Any) -> None:
        """Those of every answer: uvicorn makes them anew each second, for the date in them."""
        headers = like.default_headers
        self.state.default_headers = uvicorn_drain.with_close(headers) if self._has_until else headers

    def look(self) -> None:
        self._close_expired(self.state.connections)

    def retire(self) -> None:
        self._has_until = time.monotonic() + GRACE_SECONDS
        self.take_headers(self.state)
        for connection in list(self.state.connections):
            if uvicorn_drain.is_websocket(connection):
                uvicorn_drain.close_websocket(connection)
            elif uvicorn_drain.is_idle(connection):
                uvicorn_drain.close(connection)
            else:
                uvicorn_drain.announce_close(connection)

    async def end(self, at_once: bool) -> bool:
        """Once the visitors are gone. Whether something is left that nobody can end: a thread that answers."""
        while self._is_busy() and not at_once and time.monotonic() < self._has_until:
            await asyncio.sleep(_LOOK_SECONDS)
        for connection in list(self.state.connections):
            connection.transport.close()
        for task in list(self.state.tasks):
            task.cancel()
        if self.state.tasks:
            await asyncio.sleep(_UNWIND_SECONDS)
        return bool(self.state.tasks)

    def _is_busy(self) -> bool:
        return bool(self.state.connections or self.state.tasks)
