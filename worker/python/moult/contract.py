"""What master, fork server and worker agree on: messages and the scoreboard.

Mirrors worker/message.h, worker/scoreboard.h and worker/fork_protocol.h; tests/python hold them equal.
"""
import mmap
import os
import re
from typing import Dict, Iterable, List, Tuple

CONTRACT_VERSION = 1
RELEASE = "0.1.0"  # of moult; a master takes a Python part of its own release alone

MAX_MESSAGE_BYTES = 64 * 1024
MAX_MESSAGE_LINES = 64
MAX_ESCAPED_BYTES = 32 * 1024  # so that an escaped text always leaves room for the other lines of its datagram
_KEY = re.compile(r"[A-Z0-9_]{1,64}")

SCOREBOARD_MAGIC = 0x314253544C554F4D  # "MOULTSB1", little endian
SCOREBOARD_VERSION = 1
SCOREBOARD_BYTES = 4096

# Indexes of 64-bit words, in the order of ScoreboardField.
(
    MAGIC,
    VERSION,
    REQUESTS_STARTED,
    REQUESTS_FINISHED,
    CALLS_STARTED,
    CALLS_FINISHED,
    LAST_VISITOR_ACTIVITY_NS,
    HEARTBEAT_NS,
    OLDEST_PLAIN_REQUEST_NS,
    OPEN_CONNECTIONS,
    UPGRADED_CONNECTIONS,
    RESPONSES_5XX,
) = range(12)


class ContractError(Exception):
    """The other side said something that the contract does not allow; the text says what."""


def parse(datagram: bytes) -> Dict[str, str]:
    """The lines of one datagram. Of two with one key the first counts; unknown keys are kept."""
    if len(datagram) > MAX_MESSAGE_BYTES:
        raise ContractError("bad message: longer than 64 KiB")
    if b"\0" in datagram:
        raise ContractError("bad message: it has a NUL byte")
    lines = datagram.decode("utf-8", "surrogateescape").split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) > MAX_MESSAGE_LINES:
        raise ContractError("bad message: more than 64 lines")
    message: Dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise ContractError("bad message: line %d has no '='" % number)
        if not _KEY.fullmatch(key):
            raise ContractError("bad message: line %d has no key of 1 to 64 of A-Z, 0-9 and _" % number)
        message.setdefault(key, value)
    if not message:
        raise ContractError("bad message: it is empty")
    return message


def build(lines: Iterable[Tuple[str, object]]) -> bytes:
    """One datagram. Values must have no newline: see escape() and one_line()."""
    texts: List[str] = []
    for key, value in lines:
        text = str(value)
        if "\n" in text:
            raise ContractError("bad message: %s has a newline in its value" % key)
        texts.append("%s=%s" % (key, text))
    datagram = "\n".join(texts).encode("utf-8", "surrogateescape")
    parse(datagram)
    return datagram


def escape(text: str) -> str:
    """For values of several lines (ERROR=, WARNING=). What is too long loses its beginning."""
    end = text.encode("utf-8", "backslashreplace")[-MAX_ESCAPED_BYTES:].decode("utf-8", "ignore")
    value = end.replace("\\", "\\\\").replace("\n", "\\n").replace("\0", "\\0")
    if len(value.encode()) <= MAX_ESCAPED_BYTES:
        return value
    return escape(end[len(end) // 2:])


def unescape(value: str) -> str:
    known = {"n": "\n", "0": "\0", "\\": "\\"}
    return re.sub(r"\\([n0\\])", lambda match: known[match.group(1)], value)


def one_line(text: str) -> str:
    """For values of one line (STATUS=)."""
    line = text.replace("\n", " ").replace("\0", " ")
    return line.encode("utf-8", "backslashreplace")[:MAX_ESCAPED_BYTES].decode("utf-8", "ignore")


def open_scoreboard(fd: int) -> memoryview:
    """The words of a scoreboard; index them with the names above. One writer a word.

    A store is one aligned 64-bit store in C: 21 ns, and no reader ever sees half of it. Closes the fd.
    """
    try:
        size = os.fstat(fd).st_size
        if size != SCOREBOARD_BYTES:
            raise ContractError("the scoreboard has %d bytes instead of %d" % (size, SCOREBOARD_BYTES))
        words = memoryview(mmap.mmap(fd, SCOREBOARD_BYTES)).cast("Q")
    finally:
        os.close(fd)
    if words[MAGIC] != SCOREBOARD_MAGIC:
        raise ContractError("the scoreboard has another magic number: it is none of moult's")
    if words[VERSION] != SCOREBOARD_VERSION:
        raise ContractError("the scoreboard has version %d, not %d" % (words[VERSION], SCOREBOARD_VERSION))
    return words
