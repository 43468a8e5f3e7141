"""When an app goes to sleep, what keeps it awake, and what is left of it."""
import asyncio
import os
import signal
import subprocess

import websockets

from events import Events
from harness import BINARY, holds_for, start_request
from processes import exists
from sleeping import IDLE, bare_connect, idle, put_to_sleep, wait_asleep, wait_awake, wait_served
from test_parking import KeptAlive
from test_service_manager import manager  # noqa: F401


def test_an_app_sleeps_when_nobody_calls_and_wakes_for_whoever_does(start, scratch):
    events = Events(scratch / "moult.jsonl")
    moult = start("-w", "2", *IDLE, *events.flags, "hello:app")
    wait_asleep(moult)
    workers = [event["pid"] for event in events.all("worker_ready")]
    assert moult.status()["workers"] == [] and workers and not any(exists(pid) for pid in workers)
    assert moult.status()["state"] == "asleep"
    assert moult.fetch("/").status == 200
    wait_awake(moult)
    wait_asleep(moult)
    moult.wait_for(lambda: len(events.all("slept")) == 2, "both are told")
    assert [event["reason"] for event in events.all("slept")] == ["idle", "idle"]
    assert [event["caller"] for event in events.all("woke")] == ["caller"]
    assert 0 < events.all("woke")[0]["latency_seconds"] < 60


def test_a_visitor_keeps_it_awake_for_one_window_more(start):
    moult = start("--idle", "1500ms", "hello:app")
    moult.wait_serving()
    holds_for(lambda: moult.fetch("/").status == 200 and idle(moult)["state"] == "active", 3, "it is awake")
    assert idle(moult)["woken_by"] is None, "and never slept"
    wait_asleep(moult)


def test_without_idle_it_sleeps_only_when_told_to(start):
    moult = start("hello:app")
    moult.wait_serving()
    assert idle(moult)["blocked_by"] == "switched_off"
    said = moult.client("sleep")
    assert (said.returncode, said.stdout) == (0, "asleep: the next caller wakes the app\n")
    assert idle(moult)["state"] == "asleep"
    assert "asleep for" in moult.client("status").stdout
    said = moult.client("wake")
    assert (said.returncode, said.stdout) == (0, "awake: the app serves\n")
    assert idle(moult)["woken_by"] == "operator"
    moult.wait_serving()


def test_a_request_in_flight_keeps_it_awake_and_is_answered(start):
    moult = start(*IDLE, "hello:app")
    wait_served(moult)
    slow = start_request(moult.address, "/slow?seconds=3")
    moult.wait_for(lambda: idle(moult).get("blocked_by") == "request", "status says so")
    assert slow.getresponse().status == 200
    wait_asleep(moult)


def test_a_request_in_flight_is_answered_though_an_operator_puts_it_to_sleep(start):
    moult = start("hello:app")
    moult.wait_serving()
    slow = start_request(moult.address, "/slow?seconds=2")
    moult.wait_for(lambda: moult.workers()[0]["in_flight"] == 1, "it is in flight")
    put_to_sleep(moult)
    assert slow.getresponse().status == 200


def test_an_open_websocket_keeps_it_awake_and_status_says_so(start):
    moult = start(*IDLE, "live:app")
    wait_served(moult)

    async def chat() -> None:
        async with websockets.connect(f"ws://127.0.0.1:{moult.address}/") as client:
            await client.send("who are you?")
            await client.recv()
            blocked = await asyncio.get_running_loop().run_in_executor(
                None, moult.wait_for, lambda: idle(moult).get("blocked_by") == "upgraded", "status says so")
            assert blocked
            said = moult.client("status").stdout
            assert "awake: a WebSocket or an event stream is open" in said
            await client.send("still there?")
            await client.recv()
    asyncio.run(asyncio.wait_for(chat(), 60))
    wait_asleep(moult)


def test_idle_connections_outlive_two_sleeps(start):
    moult = start("--keep-alive", "5s", "--idle", "1s", "pids:asgi")
    wait_served(moult)
    clients = [KeptAlive(moult.address) for _ in range(20)]
    pids = [{client.ask() for client in clients}]
    for _ in range(2):
        wait_asleep(moult)
        assert moult.status()["parking"]["held"] == 20
        holds_for(lambda: idle(moult)["state"] == "asleep", 6, "longer than --keep-alive")
        pids.append({client.ask() for client in clients})
    assert not any(client.closes for client in clients)
    assert len(pids[0] | pids[1] | pids[2]) == 3 and all(len(each) == 1 for each in pids), "one worker a wake"


def test_more_idle_connections_than_can_be_parked_keep_it_awake(start):
    moult = start("--parking-max", "1", *IDLE, "pids:asgi")
    wait_served(moult)
    clients = [KeptAlive(moult.address) for _ in range(2)]
    for client in clients:
        client.ask()
    moult.wait_for(lambda: idle(moult).get("blocked_by") == "no_room_to_park", "status says so")
    clients[0].client.close()
    wait_asleep(moult)
    assert clients[1].ask() > 0


def test_a_failing_hook_keeps_it_awake_and_says_why(start, scratch):
    events, allowed = Events(scratch / "moult.jsonl"), scratch / "allowed"
    moult = start(*IDLE, *events.flags, "--on-sleep", f"test -e {allowed}", "hello:app")
    pids = moult.wait_serving()
    failed = moult.wait_for(lambda: events.all("stop_failed"), "it fails")
    assert failed[0]["cause"] == "--on-sleep failed: exited with status 1"
    assert failed[0]["retry_in_seconds"] == 30
    moult.wait_for(lambda: idle(moult).get("blocked_by") == "failed_stop", "status says so")
    assert moult.worker_pids() == pids, "and the same worker serves"
    said = moult.client("sleep")
    assert (said.returncode, said.stderr) == (1, "moult: the sleep failed: --on-sleep failed: exited with status 1\n")
    allowed.touch()
    put_to_sleep(moult)


def test_the_hooks_are_run_before_the_sleep_and_after_the_wake(start, scratch):
    said = scratch / "said"
    moult = start("--on-sleep", f"echo $MOULT_EVENT >> {said}; sleep 0.3; kill -0 $(cat {scratch}/pid) && echo lives "
                  f">> {said}", "--on-wake", f"echo $MOULT_EVENT >> {said}", "hello:app")
    (scratch / "pid").write_text(str(moult.wait_serving()[0]))
    put_to_sleep(moult)
    assert said.read_text().split("\n") == ['{"event":"before_sleep","reason":"operator"}', "lives", ""]
    moult.fetch("/")
    moult.wait_for(lambda: '"event":"woke"' in said.read_text(), "the other is run")


def test_a_sleep_is_remembered_when_the_master_is_killed(start, scratch, leaves, manager):  # noqa: F811
    leaves.add("run/moult.control")
    state = scratch / "state"
    state.mkdir()
    flags = ["--state-dir", str(state), "hello:app"]
    moult = start(*flags)
    moult.wait_serving()
    put_to_sleep(moult)
    moult.wait_for(lambda: (state / "moult.idle").read_text() == "asleep\n", "it is written")
    moult.signal(signal.SIGKILL)
    moult.wait_exit()
    again = start(*flags, env={"NOTIFY_SOCKET": manager.path})
    again.wait_for(lambda: "READY=1" in manager.lines(), "it is ready")
    assert again.status()["workers"] == [] and idle(again)["state"] == "asleep"
    assert again.fetch("/").status == 200
    wait_awake(again)
    again.wait_for(lambda: (state / "moult.idle").read_text() == "active\n", "it is written")


def test_a_state_that_cannot_be_written_is_said_once_and_stops_nobody(start, scratch):
    state = scratch / "state"
    state.mkdir()
    moult = start("--state-dir", str(state), "hello:app")
    moult.wait_serving()
    moult.wait_for((state / "moult.idle").exists, "it is written")
    (state / "moult.idle").unlink()
    state.rmdir()
    for _ in range(2):
        put_to_sleep(moult)
        assert moult.fetch("/").status == 200
        wait_awake(moult)
    moult.wait_log("a restart would not know that the app sleeps")
    assert moult.log().count("a restart would not know") == 1


def test_a_stop_while_it_sleeps_ends_at_once(start):
    moult = start("hello:app")
    moult.wait_serving()
    put_to_sleep(moult)
    client = bare_connect(moult)
    assert moult.stop(deadline=10) == 0
    assert client.recv(100) == b""
    client.close()


def test_while_it_sleeps_workers_are_counted_and_not_launched(start):
    moult = start("hello:app")
    moult.wait_serving()
    put_to_sleep(moult)
    moult.signal(signal.SIGTTIN)
    moult.wait_for(lambda: moult.status()["wanted"] == 2, "two are wanted")
    assert moult.client("scale", "3").returncode == 0
    assert moult.status()["workers"] == []
    assert moult.client("wake").returncode == 0
    moult.wait_serving(3)


def test_no_command_sleeps_by_itself(scratch, environment):
    said = subprocess.run([BINARY, "run", "--idle", "5m", "--", "sleep", "1000"], capture_output=True, text=True,
                          env=environment, cwd=scratch)
    assert said.returncode == 2 and "let 'moult sleep' say when" in said.stderr
    assert os.listdir(scratch / "run") == []
