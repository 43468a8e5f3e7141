"""The tests' own eyes: what they are to catch, they catch."""
import subprocess

import pytest

from harness import holds_for, wait_until
from processes import alive, exists, kill

ESCAPE = """
import os, sys, time
os.fork() and os._exit(0)
os.setsid()
os.fork() and os._exit(0)
open(sys.argv[1], "w").close()
time.sleep(1000)
"""


def test_a_process_that_escaped_its_parents_and_its_session_is_found_by_its_mark(mark, environment, tmp_path):
    subprocess.run(["/usr/bin/python3", "-c", ESCAPE, tmp_path / "escaped"], env=environment, check=True)
    wait_until((tmp_path / "escaped").exists, "it has escaped")
    found = wait_until(lambda: len(alive(mark)) == 1 and alive(mark), "it alone is found")
    assert exists(found[0])
    kill(found)
    wait_until(lambda: not alive(mark), "it is gone")


def test_waiting_ends_at_the_deadline_and_names_what_it_waited_for():
    with pytest.raises(AssertionError, match="waited 0.05 s in vain: for Godot"):
        wait_until(lambda: False, "for Godot", 0.05)


def test_what_must_hold_is_looked_at_more_than_once():
    looks = iter([True, True, False])
    with pytest.raises(AssertionError, match="it fell"):
        holds_for(lambda: next(looks), 5, "it fell")
