"""The requests of one worker, counted into its scoreboard (the C++ mirror is worker/request_counter.h).

A request is known by a key of the adapter's own (any hashable). Each is finished once; finishing what is unknown or
finished has no effect. begin() and finish() run for every request, so a ledger is a handful of closures: their
variables are the fastest that Python has (a third less than attributes).
"""
import threading
from time import monotonic_ns
from typing import Any, Callable, Dict, Hashable, List, NamedTuple, Set

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


def of_visitors(words: Any) -> Ledger:
    """Requests that came through a public door. For one thread."""
    plain: Dict[Hashable, int] = {}  # in the order of their beginning, so the first is the oldest
    exempt: Set[Hashable] = set()
    ignored: Set[Hashable] = set()
    started = finished = shown_oldest = 0
    pop = plain.pop

    def begin(key: Hashable) -> None:
        nonlocal started, shown_oldest
        plain[key] = now = monotonic_ns()
        started += 1
        words[REQUESTS_STARTED] = started
        if not shown_oldest:
            words[OLDEST_PLAIN_REQUEST_NS] = words[LAST_VISITOR_ACTIVITY_NS] = shown_oldest = now

    def show_oldest() -> None:
        nonlocal shown_oldest
        shown_oldest = 0
        for shown_oldest in plain.values():
            break
        words[OLDEST_PLAIN_REQUEST_NS] = shown_oldest

    def is_long(key: Hashable) -> None:
        began = plain.pop(key, 0)
        if began:
            exempt.add(key)
            if began == shown_oldest:
                show_oldest()

    def finish_ignored(key: Hashable) -> None:
        nonlocal started, finished
        ignored.remove(key)
        words[REQUESTS_STARTED] = started = started + 1
        words[REQUESTS_FINISHED] = finished = finished + 1

    def finish(key: Hashable) -> None:
        nonlocal finished, shown_oldest
        began = pop(key, 0)
        if began:
            if not plain:
                words[OLDEST_PLAIN_REQUEST_NS] = shown_oldest = 0
            elif began == shown_oldest:
                show_oldest()
        elif key in exempt:
            exempt.remove(key)
        else:
            if key in ignored:
                finish_ignored(key)
            return
        words[LAST_VISITOR_ACTIVITY_NS] = monotonic_ns()
        finished += 1
        words[REQUESTS_FINISHED] = finished

    def find_streams(streams: Callable[[Any], bool]) -> None:
        for key in [key for key in plain if streams(key)]:
            is_long(key)

    return Ledger(begin, ignored.add, is_long, finish, lambda: _one_more_5xx(words), find_streams,
                  lambda: [*plain, *exempt, *ignored])


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
