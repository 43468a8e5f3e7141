"""What a uvicorn connection has for its request, when that was answered before all of it had come.

httptools' side of uvicorn passes over the rest of such a body without a trace, and nothing tells then whether the
connection is in the middle of it.
"""
import asyncio


class RestOfBody:
    """Stands in for the cycle, whose app did not want the body. Here `response_complete` tells whether it has all come.

    It has what uvicorn and the drain look at in a cycle. Its answer has begun: nothing of it can be changed any more.
    """
    keep_alive = True
    disconnected = False
    response_started = True

    def __init__(self) -> None:
        self.more_body = True
        self.body = _Nothing()
        self.message_event = asyncio.Event()

    @property
    def response_complete(self) -> bool:
        return not self.more_body


class _Nothing:
    """What is added to it is gone."""

    def __iadd__(self, more: object) -> "_Nothing":
        return self

    def __len__(self) -> int:
        return 0
