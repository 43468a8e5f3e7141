"""What was seen. Pure, and summed over processes."""
import enum
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import List

MOST_EXAMPLES = 20  # failures that are told in detail; all are counted
STEP = math.log(1.01)  # latencies are kept in steps of 1 %


class Failure(enum.Enum):
    """What became of a request that was not answered as it should be. Exactly one of these for each."""
    REFUSED = "refused"  # no connection
    RESET_BEFORE_FIRST_BYTE = "reset_before_first_byte"
    RESET_IN_THE_MIDDLE = "reset_in_the_middle"  # of its answer
    EMPTY_REPLY = "empty_reply"  # closed without a byte of its answer
    CUT = "cut"  # closed in the middle of its answer
    WRONG_ANSWER = "wrong_answer"  # not HTTP, not 200 and not 5xx, another body than was asked for, bytes behind it
    TIMEOUT = "timeout"  # no whole answer (or no connection) in time
    SERVER_ERROR = "server_error"  # a whole answer, 500 to 599
    UNANSWERED = "unanswered"  # pipelined behind one that failed, or behind an answer that announced the close


class Latencies:
    def __init__(self) -> None:
        self.counts: Counter = Counter()

    def add(self, seconds: float) -> None:
        self.counts[math.ceil(math.log(max(seconds, 1e-6)) / STEP)] += 1

    def share(self, part: float) -> float:
        """The seconds in which that part of them was answered; 0 if there are none."""
        rank = math.ceil(part * sum(self.counts.values()))
        for step in sorted(self.counts):
            rank -= self.counts[step]
            if rank <= 0:
                return math.exp(step * STEP)
        return 0.0

    def as_json(self) -> dict:
        return {f"p{name}": round(self.share(part), 6) for name, part in (("50", 0.5), ("99", 0.99), ("99.9", 0.999))}


@dataclass
class Tally:
    requests: int = 0  # each is in `answered` or in one class of failures
    answered: int = 0
    failures: Counter = field(default_factory=Counter)
    kinds: Counter = field(default_factory=Counter)  # requests by their kind
    connections: int = 0
    idle_closes: int = 0  # by the other side, between two requests, not announced, and seen before anything was written
    unasked: int = 0  # bytes between two requests: counted among the failures as a wrong answer to no request
    announced_closes: int = 0  # by an answer's `Connection: close` that was not asked for
    moved: int = 0  # times that a connection's next answer came from another process
    latencies: Latencies = field(default_factory=Latencies)  # of requests that the client itself does not make slow
    examples: List[dict] = field(default_factory=list)
    seconds: float = 0.0

    def fail(self, failure: Failure, **details) -> None:
        self.failures[failure] += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append({"failure": failure.value, **details})

    @property
    def failed(self) -> int:
        return sum(self.failures.values())

    @property
    def clean(self) -> bool:
        """Something was asked, and nothing went wrong in any way."""
        return self.answered > 0 and self.failed == 0 and self.idle_closes == 0

    def add(self, other: "Tally") -> None:
        for name in ("requests", "answered", "connections", "idle_closes", "unasked", "announced_closes", "moved"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.failures.update(other.failures)
        self.kinds.update(other.kinds)
        self.latencies.counts.update(other.latencies.counts)
        self.examples = (self.examples + other.examples)[:MOST_EXAMPLES]
        self.seconds = max(self.seconds, other.seconds)

    def as_json(self) -> dict:
        return {"requests": self.requests, "answered": self.answered, "failed": self.failed,
                "failures": {failure.value: self.failures[failure] for failure in Failure},
                "idle_closes": self.idle_closes, "unasked": self.unasked, "announced_closes": self.announced_closes,
                "connections": self.connections, "moved": self.moved, "kinds": dict(sorted(self.kinds.items())),
                "latency_seconds": self.latencies.as_json(), "seconds": round(self.seconds, 3),
                "examples": self.examples}


def in_words(seen: dict) -> str:
    """The lines for people of what as_json returns."""
    failures = ", ".join(f"{name} {count}" for name, count in seen["failures"].items() if count) or "none"
    kinds = ", ".join(f"{name} {count}" for name, count in seen["kinds"].items())
    latency = ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in seen["latency_seconds"].items())
    return (f"{seen['requests']} requests in {seen['seconds']:.1f} s on {seen['connections']} connections ({kinds})\n"
            f"{seen['failed']} failed: {failures}\n"
            f"{seen['idle_closes']} idle closes, {seen['announced_closes']} announced; "
            f"{seen['moved']} times another process answered on the same connection\n"
            f"{latency}")
