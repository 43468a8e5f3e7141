"""Counts the requests of gunicorn's WSGI workers (sync, gthread and what is built like them)."""
import concurrent.futures.thread  # noqa: F401  (and this: what each worker would import for itself)
import encodings.idna  # noqa: F401
import enum
import threading
from functools import partial
from ssl import SSLError
from typing import Any, Dict, Optional, Set

from gunicorn.http.errors import ParseException
from gunicorn.workers.sync import SyncWorker

from . import ledger
from .contract import OPEN_CONNECTIONS
from .gunicorn_closing import is_in_a_body
from .ignored_paths import IgnoredPaths
from .scheduled_call import mark_environ
from .worker_process import Worker

_OUR_PREFIX = "HTTP_X_MOULT_"
_here = threading.local()  # .request: what the thread is answering


class Door(enum.Enum):
    PUBLIC = "visitors"
    INTERNAL = "scheduled calls"
    SIDECAR = "the sidecar"


class Request:
    __slots__ = ("ledger", "door", "asked", "worker", "response")

    def __init__(self, counted: ledger.Ledger, door: Door, asked: Any, worker: Worker) -> None:
        self.ledger = counted
        self.door = door
        self.asked = asked  # gunicorn's own; None: nobody wants to know
        self.worker = worker
        self.response: Optional[Any] = None  # gunicorn's, as soon as the app is called


class WatchedApp:
    """The app, with an environ as DESIGN wants it. What the app returns is passed on as it is, or sendfile is lost."""

    def __init__(self, app: Any, root_path: str) -> None:
        self._app = app
        self._root_path = root_path.rstrip("/")

    def __call__(self, environ: Dict[str, Any], start_response: Any) -> Any:
        request = getattr(_here, "request", None)
        if request is not None and request.door is Door.INTERNAL:
            mark_environ(environ)
        else:
            for name in [name for name in environ if name.startswith(_OUR_PREFIX)]:
                del environ[name]
        if self._root_path:
            self._mount(environ)
        response = getattr(start_response, "__self__", None)
        if request is not None and hasattr(response, "force_close"):
            request.response = response
            _watch_first_bytes(response, request)
            _end_with_the_worker(response, request)
        return self._app(environ, start_response)

    def _mount(self, environ: Dict[str, Any]) -> None:
        environ["SCRIPT_NAME"] = self._root_path
        path = environ.get("PATH_INFO", "")
        if path == self._root_path or path.startswith(self._root_path + "/"):
            environ["PATH_INFO"] = path[len(self._root_path):]


def _watch_first_bytes(response: Any, request: Request) -> None:
    """Once its first chunk has left, an answer that has more to come is a stream."""
    write, sendfile = response.write, response.sendfile

    def first_write(chunk: bytes) -> None:
        response.write = write
        write(chunk)
        if response.response_length is None or response.sent < response.response_length:
            request.ledger.is_long(request)

    def first_sendfile(chunks: Any) -> Any:
        request.ledger.is_long(request)
        return sendfile(chunks)

    response.write, response.sendfile = first_write, first_sendfile


def _end_with_the_worker(response: Any, request: Request) -> None:
    """An answer says `Connection: close` if its connection is to end here. Decided by the thread that writes its head,
    as it does: a moment later the client has been told otherwise, and may be asking again."""
    default_headers, worker = response.default_headers, request.worker
    # Where connections cannot be told apart when the worker retires, the sidecar's carry one request each.
    never_kept = request.door is Door.SIDECAR and worker.handover is None
    moves = request.door is Door.PUBLIC

    def headers_by_now() -> Any:
        if never_kept or worker.announces_close or (worker.is_retiring and not (moves and worker.hands_over)):
            response.force_close()
        return default_headers()

    response.default_headers = headers_by_now


class _WithoutTls:
    """gunicorn's configuration for the doors where nobody speaks TLS."""
    is_ssl = False

    def __init__(self, cfg: Any) -> None:
        self._cfg = cfg

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cfg, name)


def counting(worker_class: Any, worker: Worker, internal: Optional[Any], sidecar: Optional[Any]) -> Any:
    """The class with its requests counted. handle_request() runs in threads: gthread has several."""
    others = [one for one in (internal, sidecar) if one is not None]
    doors = {one.getsockname(): Door.INTERNAL if one is internal else Door.SIDECAR for one in others}
    words, lock = worker.words, threading.Lock()
    visitors, calls = [ledger.thread_safe(one, lock) for one in ledger.of_worker(worker)]
    ledgers = {Door.PUBLIC: visitors, Door.INTERNAL: calls, Door.SIDECAR: ledger.of_nobody()}
    requests: Set[Request] = set()
    of_sidecar: Set[Any] = set()  # gthread's connections; those that were closed, too
    ignored = IgnoredPaths(worker.settings.idle_ignore)
    begin_visit = ignored.beginning(visitors, lambda one: (one.asked.method, one.asked.path.encode("latin-1")))
    look_at_the_rest = partial(_look_at_the_rest, worker) if issubclass(worker_class, SyncWorker) else _nothing

    class CountingWorker(worker_class):  # type: ignore[misc]
        moult_requests = requests

        def handle_request(self, *arguments: Any) -> Any:
            door = doors.get(_door(arguments), Door.PUBLIC) if doors else Door.PUBLIC
            asked = next(one for one in arguments if hasattr(one, "method")) if ignored else None
            request = _here.request = Request(ledgers[door], door, asked, worker)
            requests.add(request)
            (begin_visit if door is Door.PUBLIC else request.ledger.begin)(request)
            try:
                return super().handle_request(*arguments)
            finally:
                _here.request = None
                requests.discard(request)
                if getattr(request.response, "status_code", 0) >= 500:
                    visitors.server_error()
                request.ledger.finish(request)
                look_at_the_rest(*arguments)

        def enqueue_req(self, conn: Any) -> None:  # gthread's
            if conn.server in doors:
                conn.cfg = _WithoutTls(self.cfg)
                if doors[conn.server] is Door.SIDECAR:
                    of_sidecar.add(conn)
            super().enqueue_req(conn)

        def handle(self, *arguments: Any) -> Any:
            if any(arguments[0] is one for one in others):
                return _without_tls(self, super().handle, arguments)
            return super().handle(*arguments)

        def moult_started(self) -> None:
            pass

        def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
            if not isinstance(exc, (ParseException, SSLError)):
                visitors.server_error()  # gunicorn answers 500
            super().handle_error(req, client, addr, exc)

        def notify(self) -> None:
            words[OPEN_CONNECTIONS] = _open_connections(self, requests, of_sidecar)
            super().notify()

        def moult_announce_close(self) -> None:
            """Nothing is to be done: each answer looks whether it is announced when it writes its headers."""

    return CountingWorker


def _look_at_the_rest(worker: Worker, _listener: Any, asked: Any, client: Any, _address: Any) -> None:
    """sync closes each connection after its answer, gthread where it looks itself (gunicorn_gthread_201)."""
    if is_in_a_body(asked):
        worker.closings.will_have_more(client)


def _nothing(*_: Any) -> None:
    pass


def _open_connections(hosted: Any, requests: Set[Request], of_sidecar: Set[Any]) -> int:
    """But the sidecar's: gthread counts connections, the others have one a request."""
    if not hasattr(hosted, "nr_conns"):
        return sum(1 for one in list(requests) if one.door is not Door.SIDECAR)
    of_sidecar.difference_update([one for one in of_sidecar if one.sock.fileno() < 0])
    return max(0, hosted.nr_conns - len(of_sidecar))


def _without_tls(hosted: Any, handle: Any, arguments: Any) -> Any:
    """sync's: one request at a time."""
    public, hosted.cfg = hosted.cfg, _WithoutTls(hosted.cfg)
    try:
        return handle(*arguments)
    finally:
        hosted.cfg = public


def _door(arguments: Any) -> Any:
    """The address of the listener: gthread is given (request, connection), sync (listener, request, ...), the
    greenlet classes (its name, request, ...)."""
    if hasattr(arguments[1], "server"):
        return arguments[1].server
    return arguments[0].getsockname() if hasattr(arguments[0], "getsockname") else arguments[0]
