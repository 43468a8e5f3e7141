"""The requests of one worker, counted into its scoreboard (the C++ mirror is worker/request_counter.h).

A request is known by a key of the adapter's own (any hashable). Each is finished once; finishing what is unknown or
finished has no effect. begin() and finish() run for every request, so a ledger is a handful of closures: their
variables are the fastest that Python has (a third less than attributes).
"""
import threading
from time import monotonic_ns
from typing import Any, Callable, Dict, Hashable, List, NamedTuple, Set, Tuple

from .contract import (CALLS_FINISHED, CALLS_STARTED, LAST_VISITOR_ACTIVITY_NS, OLDEST_PLAIN_REQUEST_NS,
                       REQUESTS_FINISHED, REQUESTS_STARTED, RESPONSES_5XX)


class Ledger(NamedTuple):
    begin: Callable[[Hashable], None]
    # One that is no activity and keeps no app awake, nor counts as started before it is finished: a health check.
    begin_ignored: Callable[[Hashable], None]
    # It streams, or was upgraded: exempt from --request-timeout, and in flight for as long as it is open.
    is_long: Callable[[Hashable], None]
    finish: Callable[[Hashable], None]
    server_error: Callable[[], None]
    # For an adapter that is not told of each chunk: makes long, of those in flight, what the function says streams.
    find_streams: Callable[[Callable[[Any], bool]], None]
    in_flight: Callable[[], List[Any]]


def of_worker(worker: Any) -> Tuple[Ledger, Ledger]:
    """Of visitors and of calls, both for one thread. The age of a request is known only to who has a limit for it: it
    costs as much as all other counting."""
    visitors = of_visitors(worker.words)
    if worker.settings.request_timeout_seconds:
        visitors = showing_oldest(visitors, worker.words)
    return visitors, of_calls(worker.words)


def of_visitors(words: Any) -> Ledger:
    """Requests that came through a public door. While one is in flight nobody asks for the last activity, so only the
    first that comes and the last that goes are asked for the time."""
    running: Set[Hashable] = set()
    ignored: Set[Hashable] = set()
    started = finished = 0
    add, remove = running.add, running.remove

    def begin(key: Hashable) -> None:
        nonlocal started
        if not running:
            words[LAST_VISITOR_ACTIVITY_NS] = monotonic_ns()
        add(key)
        started += 1
        words[REQUESTS_STARTED] = started

    def finish_ignored(key: Hashable) -> None:
        nonlocal started, finished
        ignored.remove(key)
        words[REQUESTS_STARTED] = started = started + 1
        words[REQUESTS_FINISHED] = finished = finished + 1

    def finish(key: Hashable) -> None:
        nonlocal finished
        try:
            remove(key)
        except KeyError:
            if key in ignored:
                finish_ignored(key)
            return
        if not running:
            words[LAST_VISITOR_ACTIVITY_NS] = monotonic_ns()
        finished += 1
        words[REQUESTS_FINISHED] = finished

    return Ledger(begin, ignored.add, lambda key: None, finish, lambda: _one_more_5xx(words), lambda streams: None,
                  lambda: [*running, *ignored])


def showing_oldest(ledger: Ledger, words: Any) -> Ledger:
    """With the beginning of the oldest request in flight that is not long, for --request-timeout."""
    plain: Dict[Hashable, int] = {}  # in the order of their beginning, so the first is the oldest
    shown = 0
    pop, begin_counted, finish_counted = plain.pop, ledger.begin, ledger.finish

    def begin(key: Hashable) -> None:
        nonlocal shown
        plain[key] = now = monotonic_ns()
        begin_counted(key)
        if not shown:
            words[OLDEST_PLAIN_REQUEST_NS] = shown = now

    def is_long(key: Hashable) -> None:
        nonlocal shown
        if pop(key, 0) == shown:
            shown = 0
            for shown in plain.values():
                break
            words[OLDEST_PLAIN_REQUEST_NS] = shown

    def finish(key: Hashable) -> None:
        is_long(key)
        finish_counted(key)

    def find_streams(streams: Callable[[Any], bool]) -> None:
        for key in [key for key in plain if streams(key)]:
            is_long(key)

    return ledger._replace(begin=begin, is_long=is_long, finish=finish, find_streams=find_streams)


def of_calls(words: Any) -> Ledger:
    """Scheduled calls, which came through the internal door: no activity, and a timeout of their own."""
    running: Set[Hashable] = set()

    def begin(key: Hashable) -> None:
        running.add(key)
        words[CALLS_STARTED] += 1

    def finish(key: Hashable) -> None:
        if key in running:
            running.remove(key)
            words[CALLS_FINISHED] += 1

    return Ledger(begin, begin, lambda key: None, finish, lambda: _one_more_5xx(words), lambda streams: None,
                  lambda: list(running))


def of_nobody() -> Ledger:
    """What came through the sidecar's door is not counted."""
    def nothing(*arguments: Any) -> None:
        pass
    return Ledger(nothing, nothing, nothing, nothing, nothing, nothing, list)


def thread_safe(ledger: Ledger, lock: threading.Lock) -> Ledger:
    """For a worker whose requests run in threads. One lock for all ledgers of a worker: they share words."""
    def locked(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with lock:
                return function(*arguments)
        return call
    return Ledger(*[locked(function) for function in ledger])


def _one_more_5xx(words: Any) -> None:
    words[RESPONSES_5XX] += 1
