"""How a failed load or boot is told: what the user's code did, without our own frames."""
import os
import traceback
from types import TracebackType
from typing import Optional

_OUR_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_IMPORT_SYSTEM = "importlib" + os.sep + "__init__.py"


class Refused(Exception):
    """The load cannot succeed for a reason that the user can mend; the text says how. Shown without a traceback."""


class LeaveBoot(SystemExit):
    """Raised by a signal that ends a boot: no failure of the app's."""


def text_of(error: BaseException) -> str:
    """What is shown for it: one sentence for what we refused, else the traceback of the user's code."""
    if isinstance(error, Refused):
        return str(error)
    _drop_our_frames(error, set())
    return "".join(traceback.format_exception(type(error), error, error.__traceback__)).rstrip("\n")


def _drop_our_frames(error: Optional[BaseException], seen: set) -> None:
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = _without_first_frames(error.__traceback__)
        _drop_our_frames(error.__context__, seen)
        error = error.__cause__


def _without_first_frames(trace: Optional[TracebackType]) -> Optional[TracebackType]:
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OUR_FOLDER) or filename.startswith("<frozen importlib") or \
        filename.endswith(_IMPORT_SYSTEM)
