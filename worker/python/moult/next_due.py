"""When the app's own schedule next needs it awake, as it says by public.py: told to the master as NEXT_DUE when this
worker retires. If the app goes to sleep then, it is awake again by that time.
"""
import datetime
import math
import sys
from typing import Any, Callable, Optional, Union

When = Union[float, datetime.datetime, None]

_word: Any = None  # the app's last: a time, none, or a function that gives one; a fork server's workers inherit it
_retiring: Optional[Any] = None  # the worker, from its RETIRE on


def next_due(when: Union[When, Callable[[], When]]) -> None:
    """See public.py."""
    global _word
    if not callable(when):
        _seconds(when)
    _word = when
    if _retiring is not None:
        _say(_retiring)


def worker_retires(worker: Any) -> None:
    global _retiring
    _retiring = worker
    _say(worker)


def _say(worker: Any) -> None:
    try:
        seconds = _seconds(_word() if callable(_word) else _word)
    except Exception as error:
        print("moult worker: moult.next_due: %s: %s" % (type(error).__name__, error), file=sys.stderr, flush=True)
        return
    if seconds is not None:
        worker.tell(("NEXT_DUE", seconds))


def _seconds(when: When) -> Optional[int]:
    """Whole ones, rather too soon."""
    if when is None:
        return None
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            raise ValueError("%r has no time zone: moult.next_due() wants an aware datetime" % when)
        when = when.timestamp()
    if isinstance(when, bool) or not isinstance(when, (int, float)):
        raise TypeError("moult.next_due() takes unix seconds, an aware datetime, None, or a function that gives one of "
                        "these, not %s" % type(when).__name__)
    if not math.isfinite(when) or when < 0:
        raise ValueError("moult.next_due() takes unix seconds, not %r" % when)
    return math.floor(when)
