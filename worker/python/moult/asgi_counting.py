"""Counts requests around an ASGI app, for servers whose protocol classes we do not know.

A request is finished when the app has returned: its last bytes may still be in the server's buffer then.
"""
from typing import Any, Callable, Optional

from .ignored_paths import IgnoredPaths, of_scope
from .ledger import Ledger
from .scheduled_call import MARK, is_ours, strip_headers


class CountingApp:
    def __init__(self, app: Any, visitors: Ledger, calls: Optional[Ledger], upgraded: Callable[[int], None],
                 ignored: IgnoredPaths) -> None:
        self._app = app
        self._visitors = visitors
        self._calls = calls  # for scopes that have the mark; None: those are counted already
        self._upgraded = upgraded  # told +1 and -1
        self._ignored = ignored

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        kind = scope["type"]
        ledger = self._calls if MARK in scope else self._visitors
        if kind not in ("http", "websocket") or ledger is None:
            await self._app(scope, receive, send)
            return
        if ledger is self._visitors and any(is_ours(name) for name, _ in scope["headers"]):
            strip_headers(scope["headers"])
        key = object()
        started = False

        async def counting_send(message: Any) -> None:
            nonlocal started
            started = True
            if message.get("more_body"):
                ledger.is_long(key)
            elif message.get("status", 0) >= 500:
                ledger.server_error()
            await send(message)

        if self._ignored and kind == "http" and self._ignored.has(*of_scope(scope)):
            ledger.begin_ignored(key)
        else:
            ledger.begin(key)
        try:
            if kind == "websocket":
                await self._websocket(ledger, key, scope, receive, send)
            else:
                await self._app(scope, receive, counting_send)
        except Exception:
            if not started and kind == "http":
                ledger.server_error()  # the server answers 500
            raise
        finally:
            ledger.finish(key)

    async def _websocket(self, ledger: Ledger, key: Any, scope: Any, receive: Any, send: Any) -> None:
        ledger.is_long(key)
        self._upgraded(1)
        try:
            await self._app(scope, receive, send)
        finally:
            self._upgraded(-1)
