"""How long a retiring worker waits for clients that it has accepted and that have said nothing yet."""
import time

_SECONDS = 1.0
_MOST_A_TURN_SECONDS = 0.6  # more than a turn of the drain takes, but gthread's: that looks once a second, so twice


class Grace:
    """Asked in every turn of the drain. A turn that took much longer was a stall, of the worker or of the machine: what
    clients said meanwhile could not be heard, nor may they have had the time to say it."""

    def __init__(self) -> None:
        self._left = _SECONDS
        self._turn_began = time.monotonic()

    def begin(self) -> None:
        self._left = _SECONDS
        self._turn_began = time.monotonic()

    def lasts(self) -> bool:
        now = time.monotonic()
        self._left -= min(now - self._turn_began, _MOST_A_TURN_SECONDS)
        self._turn_began = now
        return self._left > 0
