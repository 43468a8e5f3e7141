"""The connections of a uvicorn server that can move: plain HTTP/1.1 that came through a public door.

While the worker serves, nothing here runs for a request. When it retires, each connection is looked at in every turn of
the drain and after each of its responses, which is before anything more is read from it.
"""
import asyncio
import enum
import socket
from typing import Any, Callable, Dict, Optional, Set

from . import uvicorn_drain
from .handover import Connections, Handover


class _At(enum.Enum):
    """Where a connection of a retiring worker is on its way.

    ANSWERING -> WRITING -> GIVEN -> (closed here, the master's)
                            GIVEN -> STAYING (declined)
    """
    ANSWERING = "its request is being read or answered, or it was not looked at yet"
    WRITING = "idle and paused, but its last response is not all with the kernel"
    GIVEN = "passed to the master, or about to be, and paused until that answers"
    STAYING = "ours to the end; the next response says that it is the last"


class UvicornConnections(Connections):
    def __init__(self, worker: Any, open_now: "Set[Any]", protocol: Any, make: Callable[[], Any]) -> None:
        self.handover = Handover(worker, self)
        self._worker = worker
        self._open_now = open_now  # uvicorn's, of all kinds
        self._protocol = protocol  # the class of those that move (none if it is empty), and how one is made
        self._make = make
        self._at: Dict[Any, _At] = {}
        self._adopting: Set[Any] = set()  # tasks, which the loop alone would forget

    def keeps(self, connection: Any) -> bool:
        """It moves once it is idle, or stays because the master has no room: nobody else is to close it meanwhile."""
        return isinstance(connection, self._protocol) and (
            self._worker.hands_over or self._at.get(connection) is _At.GIVEN)

    def is_given(self, connection: Any) -> bool:
        return self._at.get(connection) is _At.GIVEN

    def is_adopting(self) -> bool:
        return bool(self._adopting)

    def end(self) -> int:
        """Nothing is given any more: how many are idle and nobody's but ours."""
        waited = self.handover.end()
        return waited + sum(1 for one in self._open_now if self.keeps(one)
                            and self._at.get(one) is not _At.GIVEN and uvicorn_drain.is_idle(one))

    def turn(self) -> None:
        """Called by the drain, again and again until no connection is left."""
        if not self._worker.hands_over:
            self._take_back()
            return
        for connection in [one for one in self._open_now if self.keeps(one)]:
            if connection not in self._at:
                self._watch(connection)
            self._look(connection)
        self.handover.give_on()

    def end_endless(self) -> None:
        """Called once, when half of the drain is over: who sends a request before the one before is answered is never
        between two, and may move if he is; else he is told, and not cut at the deadline."""
        for connection, at in self._at.items():
            if at is _At.ANSWERING:
                uvicorn_drain.announce_close_after_this(connection)

    def _take_back(self) -> None:
        """What had begun to move, and has not reached the master, if that says meanwhile that nobody will adopt it."""
        writing = [connection for connection, at in self._at.items() if at is _At.WRITING]
        for connection in self.handover.take_back() + writing:
            self.stay(connection)

    def _watch(self, connection: Any) -> None:
        """From now on it is looked at after each response. uvicorn tells each cycle what it is to call then."""
        self._at[connection] = _At.ANSWERING
        response_complete = connection.on_response_complete

        def completed() -> None:
            response_complete()
            self._look(connection)

        connection.on_response_complete = completed
        cycle = connection.cycle  # of several that were pipelined the last one: after the others it is not idle
        if cycle is not None and not cycle.response_complete:
            cycle.on_response = completed

    def _look(self, connection: Any) -> None:
        at, transport = self._at[connection], connection.transport
        if transport.is_closing() or not self._worker.hands_over:
            return
        if transport.get_protocol() is not connection:
            return  # a WebSocket that came after a request has it, and that request was answered only now
        if at is _At.ANSWERING and uvicorn_drain.is_idle(connection):
            connection.flow.pause_reading()
            connection._unset_keepalive_if_required()  # its clock is the master's from here
            at = self._at[connection] = _At.WRITING
            if transport.get_write_buffer_size():
                connection.loop.call_soon(self._look, connection)  # uvloop writes once a turn
        if at is _At.WRITING and not transport.get_write_buffer_size():
            self._at[connection] = _At.GIVEN
            self.handover.give(connection)

    def descriptor(self, connection: Any) -> Optional[int]:
        if connection.transport.is_closing():  # then uvloop says a number that may be another's
            return None
        return connection.transport.get_extra_info("socket").fileno()  # type: ignore[no-any-return]

    def leave(self, connection: Any) -> None:
        connection.transport.abort()  # closes our descriptor; nothing is sent, as the master's is open

    def stay(self, connection: Any) -> None:
        if connection.transport.is_closing():
            return  # the deadline was sooner
        self._at[connection] = _At.STAYING
        uvicorn_drain.announce_close(connection)
        connection.timeout_keep_alive_task = connection.loop.call_later(
            connection.timeout_keep_alive, connection.timeout_keep_alive_handler)
        connection.flow.resume_reading()

    def adopt(self, sock: socket.socket, answer: Callable[[bool], None]) -> None:
        task = asyncio.get_running_loop().create_task(self._adopt(sock, answer))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _adopt(self, sock: socket.socket, answer: Callable[[bool], None]) -> None:
        protocol = self._make()

        def connection_made(transport: Any) -> None:
            """The loop calls this before it reads."""
            del protocol.connection_made
            answer(True)
            protocol.connection_made(transport)

        protocol.connection_made = connection_made
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, sock)
        except Exception:
            if "connection_made" in vars(protocol):
                sock.close()
                answer(False)
