"""uvicorn's Server with another way in (listeners that are there already) and out (nobody sees a reset).

What is overridden exists under these names in every uvicorn since 0.17: startup, main_loop, shutdown, handle_exit,
and what installs the signal handlers.
"""
import asyncio
import concurrent.futures
import contextlib
import inspect
import signal
import socket
import sys
import time
from typing import Any, Callable, List, Optional

import uvicorn

from . import uvicorn_drain
from .failure import LeaveBoot, Refused
from .grace import Grace
from .uvicorn_closing import whole_transport
from .uvicorn_doors import make_doors
from .uvicorn_handover import UvicornConnections
from .uvicorn_sidecar import Sidecar
from .worker_process import Worker

_QUICK_SECONDS = 2.0  # for the app's own shutdown after INT or QUIT
_WEBSOCKET_SPREAD_SECONDS = 2.0  # over which WebSockets are closed, so that their clients do not all return at once
_LOOK_SECONDS = 0.05
_TURNS_TO_CONNECT = 3  # of a loop, at most, from accept() to a connection that it knows
_BUSY_TURN_SECONDS = 0.25  # within which a stream is found to be one
_DEADLINE_SHARE = 0.2  # of the time that is left, at most a second, is kept for the app's own shutdown


class Server(uvicorn.Server):
    def __init__(self, config: Any, worker: Worker, reopen_logs: Callable[[], Any]) -> None:
        super().__init__(config)
        self._worker = worker
        self._doors: Any = None
        self._moving: Any = None
        self._sidecar: Optional[Sidecar] = None  # None: there is no such door
        self._reopen_logs = reopen_logs
        self._wake: Optional[asyncio.Future] = None
        self._grace = Grace()  # for the first request on a connection that was accepted; begins when it retires
        self.servers: List[Any] = []

    # Signals are ours: uvicorn's newer versions raise SIGTERM again after a graceful end.
    def install_signal_handlers(self) -> None:
        pass

    def capture_signals(self) -> Any:
        return contextlib.nullcontext()

    async def startup(self, sockets: Any = None) -> None:
        heard = _Recorder(self.lifespan, self._worker)
        try:
            await super().startup(sockets=[])  # the app's start-up; we make the servers
        except SystemExit:
            if not getattr(self.lifespan, "should_exit", False):
                raise
        if self._worker.is_leaving:
            raise LeaveBoot(0)
        if getattr(self.lifespan, "should_exit", False):
            raise Refused(heard.text() or "the app's start-up (lifespan) failed and said no more")
        loop = asyncio.get_running_loop()
        self._doors = make_doors(self.config, self._worker, loop)
        public = self._doors.public
        self._moving = UvicornConnections(self._worker, self.server_state.connections,
                                          public if self._doors.moves else (),
                                          self._factory(public, self.config, self.server_state))
        self._worker.handover = self._moving.handover if self._doors.moves else None
        loop.add_reader(self._worker.channel.fileno(), self._channel_readable)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        loop.add_signal_handler(signal.SIGUSR1, self._reopen_logs)
        if self._worker.slot is None:
            await self._park()
            if self.should_exit:  # nobody wants it any more
                await self._shut_app_down(_QUICK_SECONDS if self.force_exit else None)
                return
        await self._listen()
        self._worker.say_ready()

    async def _park(self) -> None:
        """Until it is given a slot. The app's own tasks run on; nothing of ours does."""
        loop, worker = asyncio.get_running_loop(), self._worker
        worker.say_parked()
        warm = worker.warm_pages_fd()
        if warm is not None:
            loop.add_reader(warm, self._populate, warm)
        self._wake = loop.create_future()
        if not self.should_exit:
            await self._wake
        if warm is not None:
            loop.remove_reader(warm)

    def _populate(self, warm: int) -> None:
        asyncio.get_running_loop().remove_reader(warm)
        self._worker.populate()

    async def _listen(self) -> None:
        settings, config, state = self._worker.settings, self.config, self.server_state
        public = self._factory(self._doors.public, config, state)
        for listener in settings.listeners:
            self.servers.append(await self._serve_on(listener.fd, public, config.ssl))
        if settings.internal_fd is not None:
            internal = self._factory(self._doors.internal, config, state)
            self.servers.append(await self._serve_on(settings.internal_fd, internal, None))
        if settings.sidecar_fd is not None:
            self._sidecar = beside = Sidecar(self._doors, state)
            sidecar = self._factory(beside.protocol, beside.config, beside.state)
            self.servers.append(await self._serve_on(settings.sidecar_fd, sidecar, None))

    def _factory(self, protocol: Any, config: Any, state: Any) -> Callable[[], Any]:
        arguments = {"config": config, "server_state": state}
        if "app_state" in inspect.signature(protocol.__init__).parameters:
            arguments["app_state"] = self.lifespan.state
        return lambda: protocol(**arguments)

    async def _serve_on(self, fd: int, factory: Callable[[], Any], tls: Any) -> Any:
        loop, sock = asyncio.get_running_loop(), socket.socket(fileno=fd)
        sock.setblocking(False)
        options = {"sock": sock, "ssl": tls, "backlog": self.config.backlog}
        if sock.family != socket.AF_UNIX:
            return await loop.create_server(factory, **options)
        if sys.version_info >= (3, 13):
            options["cleanup_socket"] = False  # else the first worker to retire unlinks the path
        return await loop.create_unix_server(factory, **options)

    def _channel_readable(self) -> None:
        announced = self._worker.announces_close
        told_to_retire = self._worker.hear_master()
        if told_to_retire or (self._worker.announces_close and not announced):
            self._announce_close()
        if told_to_retire:
            self.handle_exit(signal.SIGTERM, None)
        elif self._worker.has_parked and not self._worker.is_ready and self._worker.slot is not None:
            self._wake_up()

    def handle_exit(self, sig: int, frame: Any) -> None:
        self.should_exit = True
        if sig != signal.SIGTERM:
            self.force_exit = self._worker.leaves_quickly = True
        self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def main_loop(self) -> None:
        """A turn a second, four while something is in flight (uvicorn's has ten), and at once when told to go."""
        loop = asyncio.get_running_loop()
        beat = self._worker.beat_seconds()
        while not await self.on_tick(0):
            self._worker.beat()
            self._doors.look(self.server_state.connections)
            if self._sidecar is not None:
                self._sidecar.look()
            self._wake = loop.create_future()
            timer = loop.call_later(min(beat, _BUSY_TURN_SECONDS) if self.server_state.tasks else beat, self._wake_up)
            if not self.should_exit:
                await self._wake
            timer.cancel()

    async def on_tick(self, counter: int) -> Any:
        over = await super().on_tick(counter)  # makes the default headers anew, for the date in them
        self._announce_close_to_all_who_come()
        if self._sidecar is not None:
            self._sidecar.take_headers(self.server_state)
        return over

    async def shutdown(self, sockets: Any = None) -> None:
        left = self._worker.retire_deadline() - time.monotonic()
        drain_by = time.monotonic() + left - min(1.0, left * _DEADLINE_SHARE)
        self._announce_close()
        await self._stop_accepting()
        self._worker.say_stopping()
        if self._sidecar is not None:
            self._sidecar.retire()
        if not self.force_exit:
            await self._drain(drain_by)
        self._worker.idle_closed = self._moving.end()
        for connection in list(self.server_state.connections):
            # One that was given and not answered for may live on with the master: nothing but our descriptor ends.
            is_given = self._moving.is_given(connection)
            (whole_transport(connection.transport) if is_given else connection.transport).close()
        self._doors.look(())
        if self.server_state.tasks and not self.force_exit:
            self._worker.requests_cut = len(self.server_state.tasks)
        is_stuck = self._sidecar is not None and await self._sidecar.end(self.force_exit)
        time_left = max(0.1, self._worker.retire_deadline() - time.monotonic())
        limit = min(_QUICK_SECONDS, time_left) if self.force_exit else time_left
        await self._shut_app_down(limit)
        if is_stuck and not self._worker.requests_cut:
            self._worker.end_around_threads()  # asyncio would wait for it
        if self._worker.requests_cut or self.force_exit:
            # asyncio.run() waits for the threads of the loop's pool without a limit: now it has one without threads.
            asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor())

    async def _shut_app_down(self, seconds: Optional[float]) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.lifespan.shutdown(), seconds)

    async def _stop_accepting(self) -> None:
        """What was accepted is a connection a turn or two later. asyncio makes none for a closed server, so it has the
        turns before; uvloop accepts until it is closed, so it has them afterwards. And what the kernel has for us
        already is read in them: it is answered here."""
        loop = asyncio.get_running_loop()
        for server in self.servers:
            for sock in server.sockets:
                loop.remove_reader(sock.fileno())
        for _ in range(_TURNS_TO_CONNECT):
            await asyncio.sleep(0)
        for server in self.servers:
            server.close()  # takes the listener out of our loop and closes our fd; the socket lives on in the others
        for _ in range(_TURNS_TO_CONNECT):
            await asyncio.sleep(0)

    def _announce_close(self) -> None:
        """From now on every answer says `Connection: close`, on what cannot move; at a stop on all."""
        self._grace.begin()
        self._announce_close_to_all_who_come()
        for connection in self._http() if self._worker.announces_close else self._ending_here():
            uvicorn_drain.announce_close(connection)

    def _announce_close_to_all_who_come(self) -> None:
        state, worker = self.server_state, self._worker
        if worker.announces_close or (worker.is_retiring and not worker.hands_over):
            state.default_headers = uvicorn_drain.with_close(state.default_headers)

    def _http(self) -> List[Any]:
        return [one for one in self.server_state.connections if not uvicorn_drain.is_websocket(one)]

    def _ending_here(self) -> List[Any]:
        """HTTP connections that end with this worker, as soon as they are idle."""
        return [one for one in self._http() if not self._moving.keeps(one)]

    async def _drain(self, drain_by: float) -> None:
        state = self.server_state
        began, websockets, pause, closed = time.monotonic(), set(), 0.0, uvicorn_drain.ClosedTls()
        asyncio.get_running_loop().call_later((drain_by - began) / 2, self._moving.end_endless)
        while self._has_connections() and not self.force_exit and time.monotonic() < drain_by:
            self._close_websockets([one for one in state.connections if uvicorn_drain.is_websocket(one)], websockets,
                                   (drain_by - began) / 4)
            self._moving.turn()
            fresh_too = not self._grace.lasts()
            for connection in self._ending_here():
                if uvicorn_drain.is_idle(connection) and (fresh_too or not uvicorn_drain.is_fresh(connection)):
                    uvicorn_drain.close(connection)
            closed.turn(list(state.connections))
            self._doors.look(state.connections)
            await asyncio.sleep(max(0.0, min(pause, drain_by - time.monotonic())))
            pause = min(_LOOK_SECONDS, pause + 0.005)

    def _has_connections(self) -> bool:
        """Or tasks that go on after their answer."""
        return bool(self.server_state.connections or self.server_state.tasks or self._moving.is_adopting())

    def _close_websockets(self, open_now: List[Any], told: "set[Any]", seconds: float) -> None:
        loop, spread = asyncio.get_running_loop(), min(_WEBSOCKET_SPREAD_SECONDS, max(0.0, seconds))
        for index, connection in enumerate([one for one in open_now if one not in told]):
            told.add(connection)
            loop.call_later(spread * index / len(open_now), uvicorn_drain.close_websocket, connection)


class _Recorder:
    """Stands in for the lifespan's logger: passes everything on, and keeps what explains a failed start-up. What an app
    says of a start-up that we broke off (Starlette sends our own traceback) explains nothing and is not passed on."""

    def __init__(self, lifespan: Any, worker: Worker) -> None:
        self._worker = worker
        self._errors: List[str] = []
        self._logger = getattr(lifespan, "logger", None)
        if self._logger is not None:
            lifespan.logger = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)

    def error(self, message: Any, *arguments: Any, **more: Any) -> None:
        if self._worker.is_leaving:
            return
        self._logger.error(message, *arguments, **more)
        text = str(message) % arguments if arguments else str(message)
        error = more.get("exc_info")
        if isinstance(error, BaseException):
            import traceback
            text += "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self._errors.append(text.strip())

    def text(self) -> str:
        said = [text for text in self._errors if text != "Application startup failed. Exiting."]
        return "\n".join(said)
