"""Pipes that nobody reads."""
import contextlib
import fcntl
import os
from typing import Iterator

F_SETPIPE_SZ = 1031


@contextlib.contextmanager
def full_pipe() -> Iterator[int]:
    """The writing end of a pipe that is full, and that nobody reads."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x")
    os.set_blocking(writer, True)
    try:
        yield writer
    finally:
        os.close(writer)
        os.close(reader)
