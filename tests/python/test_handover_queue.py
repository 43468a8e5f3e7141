"""What waits to be given, and which descriptor is passed: a real channel and real sockets, no server."""
import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from master import SOURCE, channel_pair, make_scoreboard, say
from moult import handover
from moult.channel import Channel
from moult.worker_process import Worker
from parking import receive_with_fds

SETTINGS = SimpleNamespace(sidecar_fd=None)  # all that a worker asks for without an adapter


class Sockets(handover.Connections):
    """A connection is a socket."""

    def __init__(self):
        self.left, self.stayed = [], []

    def descriptor(self, connection):
        return connection.fileno() if connection.fileno() >= 0 else None

    def leave(self, connection):
        self.left.append(connection)

    def stay(self, connection):
        self.stayed.append(connection)


@pytest.fixture
def giving():
    """(the master's end of the channel, a hand-over, its connections)"""
    ours, theirs = channel_pair()
    worker = Worker(0, Channel(theirs.detach()), make_scoreboard(), SETTINGS)
    connections = Sockets()
    worker.handover = handover.Handover(worker, connections)
    yield ours, worker, connections
    ours.close()
    worker.channel.close()


def passed(channel):
    """(its number, which socket it is) of the next that is given."""
    message, (fd,) = receive_with_fds(channel)
    with socket.socket(fileno=fd) as sock:
        return message["FDSTORE"], os.fstat(sock.fileno()).st_ino


def inode(sock):
    return os.fstat(sock.fileno()).st_ino


def test_of_one_that_was_closed_while_it_waited_nothing_is_passed_whoever_has_its_number_now(giving):
    channel, worker, _ = giving
    sockets = [socket.socket() for _ in range(handover.MAX_UNANSWERED + 2)]
    for one in sockets:
        worker.handover.give(one)
    numbers = [passed(channel)[0] for _ in range(handover.MAX_UNANSWERED)]
    closed, last = sockets[-2:]
    number = closed.fileno()
    closed.close()
    with socket.socket() as other:
        if other.fileno() != number:
            os.dup2(other.fileno(), number)
        say(channel, ("HELD", numbers[0]))
        say(channel, ("HELD", numbers[1]))
        worker.hear_master()
        assert passed(channel)[1] == inode(last)
        with pytest.raises(BlockingIOError):
            channel.recv(1, socket.MSG_DONTWAIT)
    assert worker.handover.end() == 0


def test_one_that_cannot_be_passed_stays_and_the_others_are_given(giving):
    class Broken(socket.socket):
        def fileno(self):
            return 1 << 20

    channel, worker, connections = giving
    broken, sound = Broken(), socket.socket()
    for one in (broken, sound):
        worker.handover.give(one)
    assert connections.stayed == [broken]
    assert passed(channel)[1] == inode(sound)


def test_at_the_end_what_still_waits_is_counted_and_not_given_any_more(giving):
    channel, worker, connections = giving
    sockets = [socket.socket() for _ in range(handover.MAX_UNANSWERED + 3)]
    for one in sockets:
        worker.handover.give(one)
    numbers = [passed(channel)[0] for _ in range(handover.MAX_UNANSWERED)]
    sockets[-1].close()
    assert worker.handover.end() == 2
    for number in numbers:
        say(channel, ("HELD", number))
    worker.hear_master()
    assert len(connections.left) == handover.MAX_UNANSWERED
    with pytest.raises(BlockingIOError):
        channel.recv(1, socket.MSG_DONTWAIT)


def test_when_the_master_is_gone_who_gives_ends():
    program = ("import socket, sys; sys.path.insert(0, %r)\n"
               "from moult.channel import Channel\n"
               "from moult.worker_process import Worker\n"
               "import os, test_handover_queue as test\n"
               "ours, theirs = test.channel_pair()\n"
               "worker = Worker(0, Channel(theirs.detach()), test.make_scoreboard(), test.SETTINGS)\n"
               "ours.close()\n"
               "worker.pass_on(1, ('FDSTORE', 1))\n"
               "print('still there')\n" % os.path.abspath(SOURCE))
    ended = subprocess.run([sys.executable, "-c", program], cwd=os.path.dirname(os.path.abspath(__file__)),
                           capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
