"""Every combination of server, loop, parser and worker class that issue readers care about serves and stops."""
import os
import subprocess

import pytest

from harness import BINARY, DEBIAN_PYTHON, NEWEST_PYTHON, ROOT

PYTHONS = {"debian": DEBIAN_PYTHON, "newest": NEWEST_PYTHON}
UVICORN_CLASS = "uvicorn.workers.UvicornWorker"


def has(python: str, name: str) -> bool:
    return os.access(python, os.X_OK) and subprocess.run([python, "-c", name], capture_output=True).returncode == 0


def serves_and_stops(moult, framework: str) -> None:
    workers = moult.wait_serving(2)
    for _ in range(10):
        answer = moult.fetch().json()
        assert answer["framework"] == framework
        assert answer["pid"] in workers
    assert moult.stop() == 0, moult.log()
    assert "Traceback" not in moult.log()


@pytest.mark.parametrize("parser", ["httptools", "h11"])
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("python", PYTHONS)
def test_uvicorn_serves_an_asgi_app(start, python: str, loop: str, parser: str):
    moult = start("--python", PYTHONS[python], "-w", "2", "--server-option", f"loop={loop}", "--server-option",
                  f"http={parser}", "fast:app")
    serves_and_stops(moult, "fastapi")


@pytest.mark.parametrize("worker_class", ["sync", "gthread"])
@pytest.mark.parametrize("python", PYTHONS)
def test_gunicorns_classes_serve_a_wsgi_app(start, python: str, worker_class: str):
    moult = start("--python", PYTHONS[python], "-w", "2", "-k", worker_class, "flasky:app")
    serves_and_stops(moult, "flask")


@pytest.mark.parametrize("python", PYTHONS)
def test_gunicorns_uvicorn_worker_serves_an_asgi_app(start, python: str):
    if not has(PYTHONS[python], "import uvicorn.workers"):
        pytest.skip("this uvicorn has no gunicorn worker")
    serves_and_stops(start("--python", PYTHONS[python], "-w", "2", "-k", UVICORN_CLASS, "fast:app"), "fastapi")


@pytest.mark.parametrize("python", PYTHONS)
def test_gunicorns_asgi_class_serves_an_asgi_app(start, python: str):
    if not has(PYTHONS[python], "import gunicorn.workers.gasgi"):
        pytest.skip("this gunicorn has no asgi class")
    serves_and_stops(start("--python", PYTHONS[python], "-w", "2", "-k", "asgi", "fast:app"), "fastapi")


@pytest.mark.parametrize("python", PYTHONS)
def test_the_callable_decides_which_server_it_gets(start, python: str):
    moult = start("--python", PYTHONS[python], "-w", "2", "flasky:app")
    serves_and_stops(moult, "flask")


def test_a_factory_is_called_for_the_app(start):
    moult = start("hello:factory()")
    moult.wait_serving(1)
    assert moult.fetch().status == 200


def test_a_virtual_environment_needs_nothing_of_moults_in_it(start):
    moult = start("--python", os.path.dirname(os.path.dirname(NEWEST_PYTHON)), "fast:app")
    moult.wait_serving(1)
    assert moult.fetch().json()["framework"] == "fastapi"


def test_a_preloaded_app_is_loaded_once_for_all_workers(start):
    moult = start("-w", "3", "hello:app")
    workers = moult.wait_serving(3)
    loaded_by = {moult.fetch().json()["loaded_by"] for _ in range(20)}
    assert len(loaded_by) == 1
    assert not loaded_by & set(workers)


def test_without_preload_each_worker_loads_the_app(start):
    moult = start("-w", "2", "--no-preload", "hello:app")
    moult.wait_serving(2)
    answer = moult.fetch().json()
    assert answer["loaded_by"] == answer["pid"]


def test_workers_are_the_masters_own_children(start):
    moult = start("-w", "2", "hello:app")
    moult.wait_serving(2)
    assert moult.fetch().json()["parent"] == moult.pid


def test_a_native_app_serves(start):
    built = os.path.dirname(os.path.dirname(BINARY))
    library = os.path.join(built, "examples/native/libnative-example.so")
    if not os.path.exists(library):
        pytest.skip(f"{library} is not built")
    moult = start("-w", "2", "--app", f"native:{library}", chdir=ROOT)
    workers = moult.wait_serving(2)
    assert moult.fetch().status == 200
    os.kill(workers[0], 9)
    moult.wait_for(lambda: len(moult.worker_pids()) == 2 and workers[0] not in moult.worker_pids(), "a replacement")
    assert moult.stop() == 0


def test_what_is_not_installed_is_named_with_the_command_that_installs_it(start, scratch):
    bare = scratch / "bare"
    subprocess.run([DEBIAN_PYTHON, "-m", "venv", "--without-pip", bare], check=True)
    moult = start("--python", bare / "bin/python", "hello:app")
    assert moult.wait_exit() in (3, 4)
    assert "uvicorn" in moult.log()
    assert "pip install" in moult.log()
