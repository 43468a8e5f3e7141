"""gthread's pool at the deadline: a thread that waits for its client, which may do nothing forever, ends.

By itself the class leaves such threads behind, and the process waits for them at its exit.
"""
import contextlib
import socket
from typing import Any, Set

from .contract import REQUESTS_FINISHED, REQUESTS_STARTED


class EndsPool:
    """Laid over the class. What a pool thread has is never one that was given to the master, whose socket is shared:
    those were between two requests."""
    moult_worker: Any
    moult_requests: Any

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.moult_is_over = False
        self._moult_in_threads: Set[Any] = set()  # connections

    def handle(self, conn: Any) -> Any:
        self._moult_in_threads.add(conn)  # before the look: either we see that it is over, or are seen
        try:
            if self.moult_is_over:  # it waited for a thread
                return (False, conn) if hasattr(self, "reuse_connection") else False  # as 20.1, and later ones
            return super().handle(conn)
        finally:
            self._moult_in_threads.discard(conn)

    def moult_beside_in_threads(self) -> int:
        """The sidecar's, for whom nobody waits."""
        return sum(1 for one in list(self._moult_in_threads) if self._moult_is_beside(one))

    def _moult_is_beside(self, conn: Any) -> bool:
        return conn.server is not None and conn.server == self.moult_worker.sidecar_door.name

    def run(self) -> None:
        super().run()
        worker, self.moult_is_over = self.moult_worker, True
        left = list(self._moult_in_threads)
        if all(self._moult_is_beside(one) for one in left):
            worker.ends_around_threads = bool(left)
            return
        worker.threads_were_cut = True
        # Before the threads end, which counts as finished.
        worker.requests_cut = max(0, worker.words[REQUESTS_STARTED] - worker.words[REQUESTS_FINISHED])
        answered = [one.response.sock for one in list(self.moult_requests) if one.response is not None]
        for conn in left:
            # Never the reading side of a request that the app has: it would take the half of a body for the whole.
            how = socket.SHUT_WR if conn.sock in answered else socket.SHUT_RDWR
            with contextlib.suppress(OSError):
                socket.socket.shutdown(conn.sock, how)  # under the TLS that its thread goes on with
