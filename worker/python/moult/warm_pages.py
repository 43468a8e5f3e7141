"""The pages that a worker's first requests write to: a spare writes to them before anybody waits for it.

A fresh fork shares all memory with its fork server, and each page that it writes to costs a fault and a copy, some 20
microseconds: a thousand of them at its first request are more than the request itself. So one worker that has answered
a few looks which pages have become its own and notes them, in memory that all children of the fork server share; spares
have the kernel copy just these while they wait. No code of the app's runs for it, and the memory is what the first
requests would take in any case.

Made in the fork server. Needs Linux 5.14 (MADV_POPULATE_WRITE) and a readable /proc/self/pagemap; without, nothing is
populated and the first request is slower.
"""
import bisect
import ctypes
import mmap
import os
import re
import sys
from typing import Iterator, List, Tuple

Range = Tuple[int, int]  # from and to, addresses

_AFTER_REQUESTS = 3  # the first alone may be a health check
_MADV_POPULATE_WRITE = 23
_PAGE = mmap.PAGESIZE
_MOST_GAP = 2 * _PAGE  # two ranges with less between them are one call
# More were written to by no request: the fork server is gone, and everything has become the worker's own.
_MOST_BYTES = 32 << 20
_MOST_LOOKED_AT = 8 << 30  # bytes of mappings; 20 ms of looking
_PAGES_A_READ = 1 << 17
_MOST_RANGES = 4095
_COUNT, _FIRST = 0, 1  # words of the shared table: how many ranges follow; the first
# The highest byte of a pagemap entry: present (0x80) and exclusively mapped (0x01), neither a file's nor shared (0x20).
_OWN = re.compile(b"[" + b"".join(b"\\x%02x" % byte for byte in range(256) if byte & 0xA1 == 0x81) + b"]+")
_HIGHEST_BYTE = 7 if sys.byteorder == "little" else 0

_libc = ctypes.CDLL(None, use_errno=True)
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.madvise.restype = ctypes.c_int


class WarmPages:
    def __init__(self, wanted: bool) -> None:
        """`wanted`: there will be spares. They may come when no worker is left that could look, as the app sleeps."""
        self._mappings = _private_writable()
        self._words = memoryview(mmap.mmap(-1, (_FIRST + 2 * _MOST_RANGES) * 8)).cast("Q")
        self._token, put = os.pipe()  # a byte in it: nobody notes yet
        os.write(put, b"1")
        os.close(put)
        self._noted, self._note = os.pipe()  # readable: noted
        os.set_blocking(self._token, False)
        self._is_done = not wanted

    # --- in a worker that serves

    def look(self, requests_finished: int) -> None:
        """Called at each heartbeat. Notes once, in one of the workers: some milliseconds."""
        if self._is_done or requests_finished < _AFTER_REQUESTS:
            return
        self._is_done = True
        try:
            if not os.read(self._token, 1):
                return  # another one does, or did
            ranges = _merged(_written(self._mappings))
        except OSError:
            return
        if sum(end - begin for begin, end in ranges) <= _MOST_BYTES:
            self._put(ranges[:_MOST_RANGES])

    def _put(self, ranges: List[Range]) -> None:
        for index, (begin, end) in enumerate(ranges):
            self._words[_FIRST + 2 * index] = begin
            self._words[_FIRST + 2 * index + 1] = end
        self._words[_COUNT] = len(ranges)
        os.write(self._note, b"1")

    # --- in a spare

    def fileno(self) -> int:
        """Readable as soon as there is something to populate, and for ever after."""
        return self._noted

    def populate(self) -> bool:
        """Whether there was something to populate."""
        count = self._words[_COUNT]
        if not count:
            return False
        ours = _private_writable()  # what was mapped anew meanwhile is not to be written to
        begins = [begin for begin, _ in ours]
        for index in range(count):
            begin, end = self._words[_FIRST + 2 * index], self._words[_FIRST + 2 * index + 1]
            place = bisect.bisect_right(begins, begin) - 1
            if place >= 0 and end <= ours[place][1]:
                _libc.madvise(begin, end - begin, _MADV_POPULATE_WRITE)
        return True


def _private_writable() -> List[Range]:
    found = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            addresses, rights = line.split(" ", 2)[:2]
            if rights.startswith("rw") and rights.endswith("p"):
                begin, end = addresses.split("-")
                found.append((int(begin, 16), int(end, 16)))
    return found


def _written(mappings: List[Range]) -> Iterator[Range]:
    """Those of our pages that we share with nobody."""
    left = _MOST_LOOKED_AT
    pagemap = os.open("/proc/self/pagemap", os.O_RDONLY)
    try:
        for begin, end in mappings:
            left -= end - begin
            if left < 0:
                return
            for first in range(begin // _PAGE, end // _PAGE, _PAGES_A_READ):
                entries = os.pread(pagemap, 8 * min(_PAGES_A_READ, end // _PAGE - first), 8 * first)
                for own in _OWN.finditer(entries[_HIGHEST_BYTE::8]):
                    yield (first + own.start()) * _PAGE, (first + own.end()) * _PAGE
    finally:
        os.close(pagemap)


def _merged(ranges: Iterator[Range]) -> List[Range]:
    merged: List[Range] = []
    for begin, end in ranges:
        if merged and begin - merged[-1][1] <= _MOST_GAP:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged
