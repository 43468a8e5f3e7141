"""The mark of a scheduled call, which only the internal door gives, and the headers that nobody else may send."""
from typing import Any, Dict, List, Optional, Tuple

MARK = "moult.scheduled_call"  # the key in an ASGI scope and in a WSGI environ; its value: {"name", "at"}
OUR_PREFIX = b"x-moult-"


def mark_scope(scope: Dict[str, Any]) -> None:
    headers = dict(scope["headers"])
    scope[MARK] = _call(headers.get(b"x-moult-schedule-name"), headers.get(b"x-moult-schedule-at"))


def mark_environ(environ: Dict[str, Any]) -> None:
    name, at = environ.get("HTTP_X_MOULT_SCHEDULE_NAME"), environ.get("HTTP_X_MOULT_SCHEDULE_AT")
    environ[MARK] = {"name": name, "at": at}


def is_ours(name: bytes) -> bool:
    """Also as X_Moult_: where headers become variables, that is the same name."""
    return name.replace(b"_", b"-").startswith(OUR_PREFIX)


def strip_headers(headers: List[Tuple[bytes, bytes]]) -> None:
    """In place: servers keep the list that they put into the scope."""
    headers[:] = [pair for pair in headers if not is_ours(pair[0])]


def _call(name: Optional[bytes], at: Optional[bytes]) -> Dict[str, Optional[str]]:
    return {"name": _text(name), "at": _text(at)}


def _text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("latin-1")
