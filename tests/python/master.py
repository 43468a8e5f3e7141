"""Plays the master: real sockets, memfds and a real fork server. For tests.

This process becomes a subreaper, so that workers fall to it as they do to moult. Every wait has a bound.
"""
import array
import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "worker", "python")
sys.path.insert(0, SOURCE)

from moult import contract  # noqa: E402

PYTHON = os.environ.get("MOULT_TEST_PYTHON", sys.executable)
PROGRAM = os.path.join(os.path.abspath(SOURCE), "moult")
APPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "apps")
PATIENCE_SECONDS = 20
_PR_SET_CHILD_SUBREAPER = 36

ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def make_scoreboard():
    fd = os.memfd_create("scoreboard", os.MFD_CLOEXEC)
    os.write(fd, struct.pack("<QQ", contract.SCOREBOARD_MAGIC, contract.SCOREBOARD_VERSION))
    os.ftruncate(fd, contract.SCOREBOARD_BYTES)
    return fd


def receive(channel, seconds=PATIENCE_SECONDS):
    """One message as (dict, pid of the sender); None at the end; TimeoutError when nothing comes."""
    if not select.select([channel], [], [], seconds)[0]:
        raise TimeoutError("nothing came on the channel within %s s" % seconds)
    try:
        datagram, ancillary, _, _ = channel.recvmsg(contract.MAX_MESSAGE_BYTES + 1, 1024)
    except ConnectionResetError:
        return None
    if not datagram:
        return None
    sender = None
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            sender = struct.unpack("3i", content)[0]
    return contract.parse(datagram), sender


def channel_pair():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def say(channel, *lines, fds=()):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    channel.sendmsg([contract.build(lines)], rights)


def until(condition, what, seconds=PATIENCE_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("not within %s s: %s" % (seconds, what))
        time.sleep(0.005)


class Worker:
    def __init__(self, master, slot, output=None):
        self.slot = slot
        self.channel, theirs = channel_pair()
        scoreboard = make_scoreboard()
        self.words = contract.open_scoreboard(os.dup(scoreboard))
        self.id = master.next_id()
        fds = [theirs.fileno(), scoreboard] + ([output, output] if output is not None else [])
        lines = [("FORK", self.id)] + ([("SLOT", slot)] if slot is not None else [])
        say(master.channel, *lines, fds=fds)
        theirs.close()
        os.close(scoreboard)
        self.pid = None
        self.drain = None  # handover or close, once it serves
        self.status = None

    def hello(self):
        message, self.pid = receive(self.channel)
        assert message == {"HELLO": "1"}, message
        assert self.pid > 0
        return self

    def next_message(self, seconds=PATIENCE_SECONDS):
        received = receive(self.channel, seconds)
        return received and received[0]

    def ready(self):
        message = self.next_message()
        assert message and message.get("READY") == "1", (message, self.next_message())
        self.drain = message["DRAIN"]
        return self

    def parked(self):
        message = self.next_message()
        assert message == {"PARKED": "1"}, (message, self.next_message())
        return self

    def go(self, slot):
        self.slot = slot
        say(self.channel, ("GO", 1), ("SLOT", slot))
        return self

    def retire(self, seconds=10.0, nobody_adopts=False):
        deadline = int((time.monotonic() + seconds) * 1e6)
        say(self.channel, ("RETIRE", 1), ("DEADLINE_USEC", deadline), *[("PARKING", 0)] * nobody_adopts)

    def read(self, field):
        return self.words[getattr(contract, field)]

    def shows(self, seconds=5, **fields):
        def equal():
            return all(self.read(name) == value for name, value in fields.items())
        try:
            until(equal, "", seconds)
        except TimeoutError:
            raise AssertionError("the scoreboard shows %s, not %s" %
                                 ({name: self.read(name) for name in fields}, fields)) from None
        return True

    def gone(self, seconds=PATIENCE_SECONDS):
        """Its wait status; as Popen's returncode: negative is a signal."""
        if self.status is None:
            result = []
            def reaped():
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                result.append(status)
                return pid == self.pid
            until(reaped, "the worker's exit", seconds)
            status = result[-1]
            self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return self.status

    def kill(self):
        if self.pid and self.status is None:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        self.channel.close()


class Master:
    """A fork server with one TCP listener and an internal door; a unix listener and a sidecar's door if asked for."""

    def __init__(self, app, python=PYTHON, directory=APPS, environment=None, unix=False, sidecar=False, **settings):
        self.folder = tempfile.mkdtemp(prefix="moult-test-")
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.tcp.getsockname()[1]
        self.internal_path = os.path.join(self.folder, "internal")
        self.internal = socket.socket(socket.AF_UNIX)
        self.internal.bind(self.internal_path)
        self.internal.listen(64)
        listeners = [{"fd": self.tcp.fileno(), "address": "127.0.0.1:%d" % self.port, "family": "inet"}]
        self.sockets = [self.tcp, self.internal]
        self.unix_path = os.path.join(self.folder, "public")
        if unix:
            public = socket.socket(socket.AF_UNIX)
            public.bind(self.unix_path)
            public.listen(64)
            listeners.append({"fd": public.fileno(), "address": "unix:" + self.unix_path, "family": "unix"})
            self.sockets.append(public)
        beside = socket.create_server(("127.0.0.1", 0)) if sidecar else None
        if beside:
            self.sockets.append(beside)
            self.sidecar_port = beside.getsockname()[1]
        everything = dict(
            version=1, release=contract.RELEASE, master_pid=os.getpid(), app=app, preload="on", post_fork=None,
            worker_class="auto", server_options={}, listeners=listeners, internal_fd=self.internal.fileno(),
            sidecar_fd=beside and beside.fileno(), keep_alive_seconds=75.0, graceful_timeout_seconds=10.0,
            timeout_seconds=30.0, request_timeout_seconds=60.0, backlog=128, threads=None,
            log_level="info", access_logfile=None, forwarded_allow_ips=None, root_path=None, certfile=None,
            keyfile=None, idle_ignore=[], spares=False)
        everything.update(settings)
        memory = os.memfd_create("settings")
        os.write(memory, json.dumps(everything).encode())
        self.channel, theirs = channel_pair()
        self.log_path = os.path.join(self.folder, "log")
        self.log_file = open(self.log_path, "wb")
        passed = [theirs.fileno(), memory] + [one.fileno() for one in self.sockets]
        self.process = subprocess.Popen(
            [python, PROGRAM, "--channel-fd", str(theirs.fileno()), "--settings-fd", str(memory)], cwd=directory,
            stdin=subprocess.DEVNULL, stdout=self.log_file, stderr=self.log_file, pass_fds=passed,
            env=dict(os.environ, PYTHONUNBUFFERED="1", **(environment or {})))
        theirs.close()
        os.close(memory)
        self.workers = []
        self.forked = {}  # worker id -> pid, as far as it was read
        self._last_id = 0
        assert self.said() == {"HELLO": str(contract.CONTRACT_VERSION)}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for worker in self.workers:
            worker.kill()
        self.channel.close()
        self.process.kill()
        self.process.wait()
        if error[0] is not None:
            print(self.log())
        self.log_file.close()
        for one in self.sockets:
            one.close()
        shutil.rmtree(self.folder)

    def next_id(self):
        self._last_id += 1
        return self._last_id

    def said(self):
        """The next message that is no news of a fork that worked: those are kept in `forked`."""
        while True:
            received = receive(self.channel)
            message = received and received[0]
            if not message or "FORKED" not in message:
                return message
            self.forked[int(message["FORKED"])] = int(message["PID"])

    def loaded(self):
        message = self.said()
        assert message and "LOADED" in message, contract.unescape((message or {}).get("ERROR", "end of stream"))
        return message

    def load_error(self):
        message = self.said()
        assert message and "LOAD_FAILED" in message, message
        assert self.process.wait(PATIENCE_SECONDS) != 0
        return contract.unescape(message["ERROR"])

    def fork(self, slot=0, output=None):
        worker = Worker(self, slot, output)
        self.workers.append(worker)
        return worker

    def worker(self, slot=0):
        """A worker that serves."""
        return self.fork(slot).hello().ready()

    def spare(self):
        """One that has started and waits for its slot."""
        return self.fork(None).hello().parked()

    @contextlib.contextmanager
    def logs_once_more(self, text):
        """The log is shared with the tests before: it has the text already."""
        before = self.log().count(text)
        yield
        until(lambda: self.log().count(text) > before, "the log has %r once more" % text)

    def log(self):
        self.log_file.flush()
        with open(self.log_path, errors="replace") as file:
            return file.read()
