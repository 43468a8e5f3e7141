"""Where moult listens, who may have a path, and what becomes of it."""
import os
import signal
import socket
import stat

import pytest

from harness import fetch, wait_until


def test_the_second_master_on_one_unix_path_is_refused_and_the_first_serves_on(start, scratch):
    path = f"unix:{scratch}/run/app.sock"
    first = start("hello:app", bind=path)
    first.wait_serving(1)
    second = start("hello:app", bind=path, name="second")
    assert second.wait_exit() == 1
    assert f"pid {first.pid} (moult)" in second.log()
    assert "answers there" in second.log()
    assert first.fetch().status == 200
    assert first.stop() == 0


def test_of_several_that_start_in_the_same_moment_one_gets_the_path(start, scratch):
    path = f"unix:{scratch}/run/app.sock"
    rivals = [start("hello:app", bind=path, name=f"rival{number}") for number in range(4)]
    wait_until(lambda: sum(rival.process.poll() is not None for rival in rivals) == 3, "three are refused")
    assert sorted(rival.process.poll() for rival in rivals if rival.process.poll() is not None) == [1, 1, 1]
    winner = next(rival for rival in rivals if rival.process.poll() is None)
    winner.wait_serving(1)
    assert winner.fetch().status == 200


def test_a_path_that_another_has_taken_meanwhile_is_left_to_it(start, scratch, leaves):
    path = scratch / "run" / "app.sock"
    leaves.add("run/app.sock")
    moult = start("hello:app", bind=f"unix:{path}")
    moult.wait_serving(1)
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        assert moult.stop() == 0
        assert path.exists()


def test_a_file_that_is_no_socket_is_refused_and_kept(start, scratch):
    path = scratch / "precious"
    path.write_text("precious")
    moult = start("hello:app", bind=f"unix:{path}")
    assert moult.wait_exit() == 1
    assert "no socket" in moult.log()
    assert path.read_text() == "precious"


def test_a_unix_path_has_the_mode_that_was_asked_for(start, scratch):
    path = scratch / "run" / "app.sock"
    moult = start("hello:app", bind=f"unix:{path}?mode=0640")
    moult.wait_serving(1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert moult.fetch().status == 200


def test_several_addresses_are_served_by_the_same_workers(start, scratch, free_port):
    port = free_port()
    path = scratch / "run" / "app.sock"
    moult = start("-b", f"127.0.0.1:{port}", "-b", f"unix:{path}", "hello:app", bind=False)
    moult.address = port
    worker = moult.wait_serving(1)[0]
    assert fetch(port).json()["pid"] == fetch(str(path)).json()["pid"] == worker


def test_ipv6_is_served(start, free_port):
    port = free_port()
    try:
        socket.socket(socket.AF_INET6).bind(("::1", port))
    except OSError:
        pytest.skip("no IPv6 here")
    moult = start("hello:app", bind=f"[::1]:{port}")
    moult.wait_serving(1)
    assert moult.fetch().status == 200


def test_an_inherited_listener_is_used_and_its_path_never_unlinked(start, scratch, leaves):
    path = scratch / "run" / "given.sock"
    leaves.add("run/given.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(16)
        moult = start("hello:app", bind=f"fd://{listener.fileno()}", pass_fds=[listener.fileno()])
        moult.address = str(path)
        moult.wait_serving(1)
        assert moult.fetch().status == 200
        assert moult.stop() == 0
        assert path.exists()


def test_what_is_no_listener_is_refused_by_its_number(start):
    with open(os.devnull) as nothing:
        address = f"fd://{nothing.fileno()}"
        moult = start("hello:app", bind=address, pass_fds=[nothing.fileno()])
        assert moult.wait_exit() == 1
    assert f"{address} is no socket" in moult.log()


def test_systemds_sockets_are_used_instead_of_the_default_and_kept_from_workers(start, free_port):
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        given = listener.fileno()
        activate = ["/bin/bash", "-c", f'export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=web; exec "$@" 3<&{given}',
                    "bash"]
        moult = start("hello:app", bind=False, wrapper=activate, pass_fds=[given])
        moult.address = listener.getsockname()[1]
        moult.wait_serving(1)
        assert moult.fetch("/env?name=LISTEN_FDS").json() is None
        assert moult.stop() == 0


def test_sockets_for_another_process_are_not_taken(start):
    moult = start("hello:app", env={"LISTEN_PID": "1", "LISTEN_FDS": "1"})
    moult.wait_serving(1)
    assert moult.fetch().status == 200
    assert moult.stop(signal.SIGTERM) == 0
