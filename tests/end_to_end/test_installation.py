"""The installed copy is complete: it works from any directory, without the tree that it was built from."""
import subprocess
from pathlib import Path

import pytest

import harness


@pytest.fixture
def prefix(scratch, monkeypatch):
    built = Path(harness.BINARY).resolve().parent.parent
    if not (built / "cmake_install.cmake").exists():
        pytest.skip(f"{built} is no build folder")
    prefix = scratch / "prefix"
    installed = subprocess.run(["cmake", "--install", built, "--prefix", prefix], capture_output=True, text=True)
    assert installed.returncode == 0, installed.stderr
    monkeypatch.setattr(harness, "BINARY", str(prefix / "bin/moult"))
    return prefix


def test_binary_python_part_and_man_page_are_in_place(prefix):
    assert (prefix / "bin/moult").exists()
    for name in ("native-fork-server", "doctor", "correlate"):
        assert (prefix / f"libexec/moult/moult-{name}").exists()
    assert list((prefix / "share/moult/python/moult").glob("*.py"))
    assert (prefix / "share/man/man1/moult.1").exists()


def test_the_installed_copy_serves_from_another_directory(prefix, start):
    moult = start("-w", "2", "hello:app", cwd="/")
    moult.wait_serving(2)
    assert moult.fetch().status == 200
    assert moult.client("reload", "--wait").returncode == 0
    assert moult.stop() == 0


def test_an_installation_of_another_release_over_a_running_moult_is_not_mixed_with_it(prefix, start):
    moult = start("-w", "2", "hello:app")
    moult.wait_serving(2)
    before = {worker["pid"] for worker in moult.workers()}
    contract = prefix / "share/moult/python/moult/contract.py"
    contract.write_text(contract.read_text().replace('RELEASE = "', 'RELEASE = "1'))
    reload = moult.client("reload", "--wait")
    assert reload.returncode == 1
    assert "another release was installed over the one that runs. Restart moult" in reload.stderr
    assert {worker["pid"] for worker in moult.workers()} == before and moult.fetch().status == 200
    assert moult.stop() == 0


def test_the_installed_doctor_is_found(prefix):
    incident = Path(__file__).resolve().parents[1] / "fixtures/incident-events.jsonl"
    read = subprocess.run([prefix / "bin/moult", "doctor", incident], capture_output=True, text=True, cwd="/")
    assert read.returncode == 0 and "4 findings" in read.stdout
    (prefix / "libexec/moult/moult-doctor").unlink()
    missing = subprocess.run([prefix / "bin/moult", "doctor", incident], capture_output=True, text=True, cwd="/")
    assert missing.returncode == 1 and "was not installed whole" in missing.stderr


def test_the_installed_copy_works_under_another_name(prefix, start, scratch, monkeypatch):
    link = scratch / "link"
    link.symlink_to(prefix / "bin/moult")
    monkeypatch.setattr(harness, "BINARY", str(link))
    moult = start("hello:app", cwd="/")
    moult.wait_serving(1)
    assert moult.fetch().status == 200
