"""The admin server, and the control socket's client."""
import json
import os
import signal
import socket
import stat
import subprocess
import time

import pytest

from harness import BINARY, fetch

HEALTH = ["/livez", "/readyz", "/healthz"]


@pytest.fixture
def admin_port(free_port):
    return free_port()


def code(port: int, path: str, **request) -> int:
    try:
        return fetch(port, path, timeout=5, **request).status
    except OSError:
        return 0


def test_status_json_is_what_moult_status_prints(start, admin_port):
    moult = start("-w", "2", "--admin", f"127.0.0.1:{admin_port}", "hello:app")
    moult.wait_serving(2)

    def shown_pids() -> list:  # the picture may be a second old: of a worker that boots it may not know the pid yet
        return [worker["pid"] for worker in fetch(admin_port, "/status.json").json()["workers"]]
    moult.wait_for(lambda: set(shown_pids()) == set(moult.worker_pids()), "the admin's picture shows both workers")
    served = fetch(admin_port, "/status.json").json()
    assert served["pid"] == moult.pid
    assert served["wanted"] == 2
    asked = json.loads(moult.client("status", "--json").stdout)
    assert set(served) == set(asked) == set(moult.status())
    assert asked["pid"] == moult.pid


def test_health_is_good_while_workers_serve(start, admin_port):
    moult = start("--admin", f"127.0.0.1:{admin_port}", "hello:app")
    moult.wait_serving(1)
    for path in HEALTH:
        moult.wait_for(lambda: code(admin_port, path) == 200, f"{path} is good")


def test_readyz_waits_for_the_first_worker_and_livez_does_not(start, admin_port):
    moult = start("--admin", f"127.0.0.1:{admin_port}", "hello:app", env={"STARTUP_SECONDS": "2"})
    moult.wait_for(lambda: code(admin_port, "/livez") == 200, "it lives")
    assert code(admin_port, "/readyz") == 503
    moult.wait_serving(1)
    moult.wait_for(lambda: code(admin_port, "/readyz") == 200, "it is ready")


def test_readyz_is_503_at_once_when_a_stop_begins_while_serving_goes_on(start, admin_port):
    moult = start("--admin", f"127.0.0.1:{admin_port}", "--stop-delay", "2s", "hello:app")
    moult.wait_serving(1)
    moult.wait_for(lambda: code(admin_port, "/readyz") == 200, "it is ready")
    moult.signal(signal.SIGTERM)
    began = time.monotonic()
    moult.wait_for(lambda: code(admin_port, "/readyz") == 503, "front ends are told")
    assert time.monotonic() - began < 1
    assert moult.fetch().status == 200
    assert moult.wait_exit() == 0


def test_with_a_token_only_its_bearer_sees_the_status(start, admin_port):
    token = "0123456789abcdef-token"
    moult = start("--admin", f"127.0.0.1:{admin_port}", "hello:app", env={"MOULT_ADMIN_TOKEN": token})
    moult.wait_serving(1)
    assert code(admin_port, "/status.json") in (401, 403)
    assert code(admin_port, "/status.json", headers={"Authorization": f"Bearer {token}x"}) in (401, 403)
    assert code(admin_port, "/status.json", headers={"Authorization": f"Bearer {token}"}) == 200
    assert token not in moult.log()


def test_the_health_door_shows_health_and_not_the_status(start, admin_port):
    moult = start("--health-bind", f"127.0.0.1:{admin_port}", "hello:app")
    moult.wait_serving(1)
    moult.wait_for(lambda: code(admin_port, "/readyz") == 200, "it is ready")
    assert code(admin_port, "/status.json") == 404


def test_an_admin_port_in_use_is_exit_1(start, admin_port):
    first = start("hello:app")
    first.wait_serving(1)
    second = start("--admin", f"127.0.0.1:{first.address}", "hello:app", name="second")
    assert second.wait_exit() == 1
    assert str(first.address) in second.log()


def test_a_slow_admin_client_does_not_stop_the_master(start, admin_port):
    moult = start("--admin", f"127.0.0.1:{admin_port}", "hello:app")
    before = moult.wait_serving(1)
    clients = [socket.create_connection(("127.0.0.1", admin_port)) for _ in range(20)]
    for client in clients:
        client.sendall(b"GET /status")
    os.kill(before[0], signal.SIGKILL)
    moult.wait_for(lambda: moult.worker_pids() not in ([], before), "a replacement serves")
    for client in clients:
        client.close()


@pytest.mark.parametrize("door", ["--admin", "--health-bind"])
def test_a_health_check_is_answered_soon_behind_50_half_open_connections(start, admin_port, door: str):
    moult = start(door, f"127.0.0.1:{admin_port}", "hello:app")
    moult.wait_serving(1)
    clients = []

    def hold(count: int) -> None:
        for _ in range(count):
            clients.append(socket.create_connection(("127.0.0.1", admin_port)))
            clients[-1].sendall(b"GET /livez HT")
    try:
        for _ in range(3):  # those that the server has closed meanwhile are opened anew
            hold(50)
            began = time.monotonic()
            assert fetch(admin_port, "/livez", timeout=10).status == 200
            assert time.monotonic() - began < 3  # half a second, on a calm machine
    finally:
        for client in clients:
            client.close()


def test_the_control_socket_is_for_its_owner_alone(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    assert stat.S_IMODE(os.stat(moult.control).st_mode) == 0o600


def test_status_prints_a_table_for_people(start):
    moult = start("-w", "2", "hello:app")
    workers = moult.wait_serving(2)
    table = moult.client("status").stdout
    for pid in workers:
        assert str(pid) in table
    assert "serving" in table


def test_a_status_that_cannot_be_printed_is_exit_1(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    for more in ([], ["--json"]):
        with open("/dev/full", "w") as full:
            asked = subprocess.run([BINARY, "status", "--control", moult.control, *more], stdout=full,
                                   stderr=subprocess.PIPE, text=True, timeout=30)
        assert asked.returncode == 1
        assert "cannot write to stdout" in asked.stderr


def test_status_has_the_keys_that_others_depend_on(start):
    moult = start("-n", "kiosk", "hello:app")
    moult.wait_serving(1)
    moult.fetch()
    status = moult.status()
    assert status["name"] == "kiosk" and status["pid"] == moult.pid and status["state"]
    assert {"version", "generation", "uptime_seconds", "wanted", "workers", "boot_error"} <= set(status)
    worker = status["workers"][0]
    assert {"slot", "pid", "state", "generation", "uptime_seconds", "requests", "in_flight"} <= set(worker)
    moult.wait_for(lambda: moult.workers()[0]["requests"] == 1, "the request is counted")


def test_version_says_what_runs(start):
    moult = start("hello:app")
    moult.wait_serving(1)
    assert str(moult.pid) in moult.client("version").stdout


def test_without_a_moult_the_client_says_what_to_do(scratch, start):
    moult = start("hello:app")
    moult.wait_serving(1)
    assert moult.stop() == 0
    asked = moult.client("status")
    assert asked.returncode != 0
    assert "moult run" in asked.stderr


def test_garbage_on_the_control_socket_is_refused_and_changes_nothing(start):
    moult = start("hello:app")
    workers = moult.wait_serving(1)
    for garbage in (b"\0" * 100 + b"\n", b"{}\n", b'{"command": "stop"}\n', b"x" * 2_000_000):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(5)
            client.connect(moult.control)
            try:
                client.sendall(garbage)
                said = client.recv(65536)
                assert not said or "error" in json.dumps(json.loads(said.splitlines()[0]))
            except OSError:
                pass  # hung up on us
    assert moult.wait_serving(1) == workers
