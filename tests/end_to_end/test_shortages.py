"""With too few descriptors, a full disk, or an output that nobody reads: serving goes on."""
import contextlib
import os
import resource
import signal
import socket
import subprocess

import pytest

from full_pipe import full_pipe
from harness import SANITIZED, wait_until
from recycling import LIMIT, OVER_LIMIT, Run
from versions import version


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


def lives_a_full_life(moult, write_app) -> None:
    """Serves, replaces, scales, reloads, stops."""
    before = moult.wait_serving(2)
    os.kill(before[0], signal.SIGKILL)
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and before[0] not in moult.worker_pids(), "a replacement")
    assert moult.client("scale", "3").returncode == 0
    moult.wait_serving(3)
    write_app(version("new"))
    assert moult.client("reload", "--wait").returncode == 0
    assert {moult.fetch().text for _ in range(5)} == {"new"}
    assert moult.stop() == 0


def test_with_64_descriptors(start, write_app):
    moult = start("-w", "2", "app:app", chdir=write_app(version("old")), preexec_fn=few_descriptors)
    lives_a_full_life(moult, write_app)


def test_64_descriptors_and_many_workers_are_no_crash(start):
    moult = start("-w", "2", "hello:app", preexec_fn=few_descriptors)
    moult.wait_serving(2)
    moult.client("scale", "40")
    moult.wait_for(lambda: len(moult.workers()) >= 4, "some more serve")
    assert moult.fetch().status == 200
    assert moult.client("scale", "2").returncode == 0
    moult.wait_serving(2)


def test_more_workers_than_descriptors_allow_start_as_far_as_they_go_and_with_fewer_it_reloads(start, write_app):
    moult = start("-w", "20", "app:app", chdir=write_app(version("old")), preexec_fn=few_descriptors)
    moult.wait_for(lambda: len(moult.workers("serving")) >= 3, "some serve")
    assert "Too many open files: raise the limit (ulimit -n" in moult.status()["boot_error"]
    assert moult.client("scale", "2").returncode == 0
    moult.wait_serving(2)
    write_app(version("new"))
    assert moult.client("reload", "--wait").returncode == 0
    assert moult.fetch().text == "new"
    assert moult.stop() == 0


@pytest.mark.skipif(SANITIZED, reason="a sanitizer that gets no pipe to look at an address with takes it for a bad one")
def test_with_all_descriptors_of_the_master_taken_a_worker_is_still_measured(start, scratch):
    run = Run(start, scratch, *LIMIT, preexec_fn=few_descriptors)
    pid = run.serve()[0]
    with contextlib.ExitStack() as clients:
        def all_are_taken() -> bool:
            if len(os.listdir(f"/proc/{run.moult.pid}/fd")) >= 64:
                return True
            client = clients.enter_context(socket.socket(socket.AF_UNIX))
            client.connect(run.moult.control)
            return False
        wait_until(all_are_taken, "the master has no descriptor left")
        run.grow(pid, OVER_LIMIT)
        over = run.wait_events("hold_started", reason="second_reading", pid=pid)[0]
        assert over["rss_bytes"] >= over["limit_bytes"]
        assert len(os.listdir(f"/proc/{run.moult.pid}/fd")) >= 63, "they were taken all the time"
    line = run.the_recycle()
    assert (line["pid"], line["reason"]) == (pid, "limit")


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_started_with_standard_descriptors_closed(start, closed):
    moult = start("-w", "1", "hello:app", preexec_fn=lambda: [os.close(fd) for fd in closed])
    moult.wait_serving(1)
    assert moult.stop() == 0


def test_with_a_stdout_that_nobody_reads(start, write_app):
    with full_pipe() as stdout:
        moult = start("-w", "2", "--events", "-", "app:app", chdir=write_app(version("old")), stdout=stdout)
        lives_a_full_life(moult, write_app)


def test_with_a_stderr_that_nobody_reads_and_quiet_workers(start, write_app):
    with full_pipe() as stderr:
        moult = start("-w", "2", "--log-level", "warning", "app:app", chdir=write_app(version("old")), stderr=stderr)
        lives_a_full_life(moult, write_app)


def test_with_worker_prefix_even_chatty_workers_do_not_block(start, write_app):
    with full_pipe() as both:
        folder = write_app(version("old", top="print('x' * 100000)", startup="print('y' * 100000)"))
        moult = start("-w", "2", "--worker-prefix", "app:app", chdir=folder, stdout=both, stderr=both)
        lives_a_full_life(moult, write_app)


def test_with_outputs_on_a_full_disk(start, write_app):
    with open("/dev/full", "wb") as full:
        moult = start("-w", "2", "--events", "/dev/full", "app:app", chdir=write_app(version("old")), stdout=full,
                      stderr=full)
        lives_a_full_life(moult, write_app)


@pytest.mark.skipif(os.getuid() != 0, reason="a tmpfs needs root")
def test_with_an_event_file_on_a_disk_that_fills_up(start, scratch, write_app):
    disk = scratch / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], check=True)
    try:
        with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 512)
        moult = start("-w", "2", "--events", str(disk / "events"), "app:app", chdir=write_app(version("old")))
        lives_a_full_life(moult, write_app)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)

