"""Plays a fork server, well or badly, for the tests of master/launch. Usage: SERVER_MODE WORKER_MODE, then what the
master adds: --channel-fd N --settings-fd M."""
import array
import json
import os
import signal
import socket
import sys
import time

server_mode, worker_mode = sys.argv[1], sys.argv[2]


def flag(name):
    return int(sys.argv[sys.argv.index(name) + 1])


def say(channel, text):
    channel.send(text.encode())


def hear(channel):
    data, controls, _, _ = channel.recvmsg(65536, socket.CMSG_SPACE(8 * 4))
    fds = array.array("i")
    for _, _, content in controls:
        fds.frombytes(content[:len(content) - len(content) % fds.itemsize])
    lines = dict(line.split("=", 1) for line in data.decode().splitlines())
    return lines, list(fds)


def pass_connections(channel):
    """Gives one up when it retires (and two that are none), takes what it is offered, says what it heard of it."""
    kept = []
    while True:
        lines, fds = hear(channel)
        if not lines:
            os._exit(0)
        if "RETIRE" in lines:
            if worker_mode == "closes-its-channel":
                channel.close()
                time.sleep(100)
            kept += socket.socketpair()
            own = kept[1].fileno()
            if worker_mode == "gives-up-to-close":
                socket.send_fds(channel, [b"FDCLOSE=5"], [own])
                say(channel, "FDCLOSE=6")
                continue
            socket.send_fds(channel, [b"FDSTORE=5"], [own])
            if worker_mode == "stores-and-dies":
                os._exit(0)
            socket.send_fds(channel, [b"FDSTORE=6"], [own, own])
            say(channel, "FDSTORE=many" if worker_mode == "stores-nonsense" else "FDSTORE=7")
        if "HELD" in lines:
            if worker_mode == "answers-to-nothing" and lines["HELD"] == "1":
                say(channel, "ADOPTED=0")
                say(channel, "DECLINED=0")
            say(channel, "STATUS=held " + lines["HELD"])
        if "DECLINED" in lines:
            say(channel, "STATUS=declined " + lines["DECLINED"])
        if lines.get("HELD") == "7" and worker_mode == "stops-by-itself":
            say(channel, "STOPPING=1")
        if "ADOPT" in lines and lines["ADOPT"] == "13":
            say(channel, "DECLINED=13")
        elif "ADOPT" in lines:
            say(channel, "ADOPTED=" + lines["ADOPT"])
            say(channel, "STATUS=adopted " + os.read(fds[0], 5).decode())


def work(fds, slot):
    server.close()
    channel = socket.socket(fileno=fds[0])
    for number, fd in enumerate(fds[2:], 1):
        os.dup2(fd, number)
    while os.getppid() != settings["master_pid"]:
        time.sleep(0.001)
    if worker_mode == "dies-before-hello":
        os._exit(3)
    if worker_mode == "is-killed-before-hello":
        os.kill(os.getpid(), signal.SIGKILL)
    if worker_mode == "says-no-hello":
        say(channel, "READY=1")
        time.sleep(100)
    say(channel, "HELLO=7" if worker_mode == "wrong-version" else "HELLO=1")
    if worker_mode == "hello-and-dies":
        os._exit(5)
    if worker_mode == "error-and-exit":
        say(channel, "STATUS=starting\nNEXT_DUE=1700000000\nERROR=line one\\nline two")
        os._exit(3)
    if worker_mode == "garbage":
        say(channel, "no message at all")
        time.sleep(100)
    if worker_mode == "child-speaks":
        child = os.fork()
        if child == 0:
            say(channel, "READY=1\nDRAIN=own")
            os._exit(0)
        os.waitpid(child, 0)
        say(channel, "STATUS=mine")
        time.sleep(100)
    if worker_mode == "speaks":
        print("to stdout", flush=True)
        print("to stderr", file=sys.stderr, flush=True)
    if worker_mode == "groups":
        with open(settings["app"], "w") as file:
            if os.fork() == 0:
                time.sleep(100)
            file.write("done")
    say(channel, "PARKED=1")
    say(channel, "STATUS=slot %s\nREADY=1\nDRAIN=handover\nX_UNKNOWN=1" % slot)
    if worker_mode in ("passes-connections", "stores-and-dies", "stores-nonsense", "closes-its-channel",
                       "answers-to-nothing", "stops-by-itself", "gives-up-to-close"):
        pass_connections(channel)
    while True:
        lines, _ = hear(channel)
        if not lines or lines.get("RETIRE"):
            if worker_mode == "tells-its-order":
                say(channel, "STATUS=parking: " + lines.get("PARKING", "not said"))
            if worker_mode == "speaks":
                sys.stdout.write("its last words")
                sys.stdout.flush()
            os._exit(0)


server = socket.socket(fileno=flag("--channel-fd"))
with open(flag("--settings-fd")) as settings_file:
    settings = json.load(settings_file)

if server_mode == "is-no-fork-server":
    sys.exit(0)
say(server, "HELLO=1")
if server_mode == "dies-mid-load":
    os.kill(os.getpid(), signal.SIGKILL)
if server_mode == "exits-mid-load":
    sys.exit(1)
if server_mode == "garbage":
    server.send(b"\x00\xff what")
    time.sleep(100)
if server_mode == "oversized":
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 400000)
    server.send(b"WARNING=" + b"x" * 70000)
    time.sleep(100)
if server_mode == "closes-channel":
    server.close()
    time.sleep(100)
if server_mode == "never-answers":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(100)
if server_mode == "load-failed":
    say(server, "LOAD_FAILED=1\nERROR=Traceback:\\n  ImportError: no module named app")
    sys.exit(0)
say(server, "LOADED=1\nSERVER=fake 1.0\nWARNING=two threads\\nare alive\nWARNING=and a socket")
if server_mode == "never-forks":
    time.sleep(100)
while True:
    order, passed = hear(server)
    if not order:
        sys.exit(0)
    if order.get("EXITED"):
        with open(settings["app"], "w") as exited_file:
            exited_file.write("%s %s" % (order["EXITED"], order["SLOT"]))
        continue
    if server_mode == "fork-fails":
        say(server, "FORK_FAILED=%s\nSTAGE=fork\nERRNO=11" % order["FORK"])
    elif server_mode == "dies-at-fork":
        os._exit(9)
    elif server_mode == "garbage-at-fork":
        server.send(b"???")
    else:
        ours, theirs = socket.socketpair()
        middle = os.fork()
        if middle == 0:
            ours.close()
            worker = os.fork()
            if worker == 0:
                theirs.close()
                work(passed, order.get("SLOT"))
            theirs.send(b"%d" % worker)
            theirs.recv(1)
            os._exit(0)
        theirs.close()
        worker = int(ours.recv(32))
        if server_mode != "tells-no-pids":
            say(server, "FORKED=%s\nPID=%d" % (order["FORK"], 1 if server_mode == "tells-a-strangers-pid" else worker))
        ours.close()
        os.waitpid(middle, 0)
    for passed_fd in passed:
        os.close(passed_fd)
