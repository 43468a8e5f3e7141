"""From what a worker weighs when it is ready to the limit at which it goes: refused, raised or drawn."""
import re
import subprocess

import pytest

from harness import BINARY, DEBIAN_PYTHON, holds_for
from load import Load
from recycling import memory_cgroup  # noqa: F401
from recycling import MEGABYTE, UNHURRIED, Run, private_bytes, rss_bytes

EXACT = ["--limit-jitter", "8%", "--limit-spread", "1MB", "--min-runway", "60MB"]
FIGURE = r"([\d.]+) MB"


def figures(log: str) -> list:
    """[base, weight, lowest, runway, asked for, smallest that works] of the text that refuses, in MB."""
    found = re.search(f"--memory-limit {FIGURE} is too low: a worker weighs {FIGURE} .* as low as {FIGURE}, which "
                      f"leaves {FIGURE} of runway where {FIGURE} are asked .* smallest that works is {FIGURE}", log)
    assert found, log
    return [float(figure) for figure in found.groups()]


def test_a_limit_without_runway_is_refused_and_the_printed_one_works(start, scratch):
    refused = Run(start, scratch, *EXACT, "--memory-limit", "70MB").moult
    assert refused.wait_exit() == 3
    base, weight, lowest, runway, asked, works = figures(refused.log())
    assert (base, lowest, asked) == (70, 64.4, 60)
    assert runway == pytest.approx(lowest - weight, abs=0.11)
    assert works == pytest.approx((weight + 60) / 0.92, abs=0.3)
    assert "--runway raise" in refused.log()
    # What a worker weighs differs by some pages from start to start.
    below = Run(start, scratch, *EXACT, "--memory-limit", f"{works - 2:.1f}MB", name="below").moult
    assert below.wait_exit() == 3
    taken = Run(start, scratch, *EXACT, "--memory-limit", f"{works + 0.5:.1f}MB", name="taken")
    taken.serve()
    worker = taken.moult.workers()[0]
    assert worker["limit_bytes"] - worker["boot_rss_bytes"] >= 60e6


def test_runway_raise_lifts_the_limit_and_says_so(start, scratch):
    run = Run(start, scratch, *EXACT, "--memory-limit", "70MB", "--runway", "raise", "-w", "3")
    run.serve(3)
    for worker in run.moult.workers():
        assert worker["limit_bytes"] - worker["boot_rss_bytes"] >= 60e6 - 1e6
        assert worker["hard_limit_bytes"] > worker["limit_bytes"]
    run.moult.wait_log("is raised from 64.4 MB to")
    said = [line for line in run.moult.log().splitlines() if "is raised from 64.4 MB to" in line]
    assert len(said) == 1, "once, not for each worker"


@pytest.mark.parametrize("flags", [
    ["--memory-limit", "150MB", "--hard-limit", "155MB"],  # 8 % above the base is 162 MB
    ["--memory-limit", "150MB", "--hard-limit", "180MB", "--limit-spread", "60MB"],  # 138 and 60 are 198 MB
])
def test_a_hard_limit_below_the_highest_draw_is_refused(start, scratch, flags):
    moult = Run(start, scratch, *EXACT, *flags).moult
    assert moult.wait_exit() == 3
    assert re.search(f"--hard-limit {FIGURE} is too low: the limit may be drawn as high as {FIGURE}", moult.log())


def test_a_hard_limit_below_the_limit_is_bad_usage(start, scratch):
    moult = Run(start, scratch, "--memory-limit", "150MB", "--hard-limit", "150MB").moult
    assert moult.wait_exit() == 2
    assert "--hard-limit must be above --memory-limit" in moult.log()


APP = """
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"VERSION"})
ballast = b"x" * (WEIGHT * 1000000)
"""


def version(name: str, megabytes: int) -> str:
    return APP.replace("VERSION", name).replace("WEIGHT", str(megabytes))


def test_a_reload_whose_code_weighs_too_much_fails_with_the_figures_and_the_old_code_serves_on(start, scratch,
                                                                                              write_app):
    folder = write_app(version("old", 0))
    run = Run(start, scratch, *EXACT, "--memory-limit", "120MB", chdir=folder, app="app:app")
    workers = run.serve()
    write_app(version("fat", 60))
    reload = run.moult.client("reload", "--wait")
    assert reload.returncode != 0
    base, weight, _, _, _, works = figures(reload.stderr)
    assert base == 120 and weight > 60 and works > 120
    finished = run.wait_events("reload_finished")[0]
    assert finished["outcome"] != "ok" and "too low" in finished["error"]
    assert run.moult.fetch().text == "old"
    assert run.serve() == workers


HEEDS_TERM_LATE = """
import asyncio, signal
async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while (await receive())["type"] == "lifespan.startup":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            asyncio.get_running_loop().call_later(1, signal.pthread_sigmask, signal.SIG_UNBLOCK, [signal.SIGTERM])
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"fat"})
ballast = b"x" * 60000000
"""


def test_a_reload_that_failed_is_told_when_no_visitor_can_meet_the_refused_code(start, scratch, write_app):
    folder = write_app(version("old", 0))
    run = Run(start, scratch, *EXACT, "--memory-limit", "120MB", chdir=folder, app="app:app")
    run.serve()
    write_app(HEEDS_TERM_LATE)
    assert run.moult.client("reload", "--wait").returncode != 0
    assert {run.moult.fetch().text for _ in range(40)} == {"old"}


def test_a_reload_whose_code_fits_draws_its_limits_from_the_new_weight(start, scratch, write_app):
    folder = write_app(version("old", 0))
    run = Run(start, scratch, *EXACT, "--memory-limit", "200MB", chdir=folder, app="app:app")
    run.serve()
    light = run.moult.workers()[0]["boot_rss_bytes"]
    write_app(version("new", 60))
    assert run.moult.client("reload", "--wait").returncode == 0
    run.serve()
    worker = run.moult.workers()[0]
    assert worker["boot_rss_bytes"] > light + 50e6
    assert 184e6 <= worker["limit_bytes"] <= 216e6
    assert run.moult.fetch().text == "new"


def test_at_a_respawn_a_heavier_worker_is_let_in_with_a_raised_limit_and_it_is_said(start, scratch, write_app):
    heavy = scratch / "heavy"
    text = version("same", 0).replace("ballast", "import os\nballast").replace(
        "(0 * 1000000)", f"(60 * 1000000 if os.path.exists({str(heavy)!r}) else 0)")
    folder = write_app(text)
    run = Run(start, scratch, *EXACT, "--memory-limit", "120MB", "--no-preload", chdir=folder, app="app:app")
    light = run.serve()[0]
    heavy.touch()
    run.moult.client("recycle", "0")
    line = run.the_recycle()
    assert line["pid"] == light
    run.serve()
    worker = run.moult.workers()[0]
    assert worker["boot_rss_bytes"] > 80e6
    assert worker["limit_bytes"] - worker["boot_rss_bytes"] >= 60e6 - 1e6
    assert worker["hard_limit_bytes"] > worker["limit_bytes"]
    run.moult.wait_log("its lowest limit is raised from 110.4 MB")
    assert not run.events.all("boot_failed")


def test_an_app_that_leaks_from_the_start_buys_its_successors_no_higher_limit(start, scratch):
    run = Run(start, scratch, "--memory-limit", "120MB", "--limit-jitter", "0%", "--limit-spread", "1MB",
              "--min-runway", "60MB", "--hard-limit", "160MB", "--sample-far", "100ms")
    run.serve()
    for _ in range(55):
        run.moult.fetch("/leak?mb=1")
    run.moult.wait_for(lambda: run.moult.workers()[0]["rss_bytes"] > run.moult.workers()[0]["boot_rss_bytes"] + 50e6,
                       "it was looked at after it had settled")
    run.moult.fetch("/leak?mb=60")
    run.recycled(1)
    run.serve()
    successor = run.moult.workers()[0]
    assert successor["limit_bytes"] <= 121 * MEGABYTE and successor["hard_limit_bytes"] == 160 * MEGABYTE


def test_auto_prints_its_terms_and_shares_out_what_the_cgroup_has(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(400)
    run = Run(start, scratch, "--memory-limit", "auto", "-w", "2", settings=["--min-headroom", "40MB"],
              wrapper=cgroup.inside())
    run.serve(2)
    run.moult.wait_log("/ 2 workers")
    log = run.moult.log()
    found = re.search(f"auto: {FIGURE} = {FIGURE} \\(a worker at READY\\) \\+ \\({FIGURE} \\(limit\\) - "
                      f"{FIGURE} \\(--min-headroom\\) - {FIGURE} \\(fork server\\) - 3 x {FIGURE} .* / 2 workers", log)
    assert found, log
    base, boot, limit, headroom, server, own = (float(figure) for figure in found.groups())
    assert limit == pytest.approx(cgroup.limit_bytes / 1e6, abs=0.1)
    assert headroom == 40
    assert base == pytest.approx(boot + (limit - headroom - server - 3 * own) / 2, abs=0.2)
    assert run.moult.status()["recycler"]["memory_limit_bytes"] == pytest.approx(base * MEGABYTE, abs=1e5)
    for worker in run.moult.workers():
        assert worker["boot_rss_bytes"] + 50e6 <= worker["limit_bytes"] <= base * 1.08 * MEGABYTE + 1e5


def test_auto_without_room_to_grow_is_refused_with_its_terms(start, scratch, memory_cgroup):  # noqa: F811
    cgroup = memory_cgroup(200)
    moult = Run(start, scratch, "--memory-limit", "auto", "-w", "6", settings=["--min-headroom", "20MB"],
                wrapper=cgroup.inside()).moult
    assert moult.wait_exit() == 3
    assert re.search(f"leaves each worker {FIGURE} to grow where 50 MB are asked for", moult.log())
    assert "fewer workers, or more memory" in moult.log()


def test_check_config_says_how_often_workers_can_be_replaced_at_most():
    flags = ["--python", DEBIAN_PYTHON, "-w", "4", "--memory-limit", "500MB",
             "--cooldown", "90s", "--recycle-rate", "2/h/worker"]
    checked = subprocess.run([BINARY, "run", "--check-config", *flags, "leaky:app"], capture_output=True, text=True,
                             timeout=30)
    assert checked.returncode == 0, checked.stderr
    routine, hard_limit, pressure = checked.stdout.splitlines()[-3:]
    assert routine.startswith("routine: at most 8 recycles an hour (bucket 8, cooldown 40, lease 3600)")
    assert "each of 4 workers once in 30 min" in routine
    assert hard_limit.startswith("hard_limit: at most 3600 recycles an hour (cooldown 3600)")
    assert pressure.startswith("pressure: at most 3600 recycles an hour")
    assert "ungated" in hard_limit and "ungated" in pressure


def test_of_a_fleet_these_lines_say_that_this_instances_workers_alone_are_counted():
    flags = ["--python", DEBIAN_PYTHON, "-w", "4", "--fleet", "redis://127.0.0.1:1", "--fleet-name", "shop",
             "--urgent-wait", "3s"]
    checked = subprocess.run([BINARY, "run", "--check-config", *flags, "leaky:app"], capture_output=True, text=True,
                             timeout=30)
    assert checked.returncode == 0, checked.stderr
    for line in checked.stdout.splitlines()[-3:]:
        assert "each of its own 4 workers" in line and "this instance's alone are counted here" in line
    assert "one alone waits at most 7 s" in checked.stdout.splitlines()[-2], "twice --urgent-wait and the cooldown"


def test_the_same_lines_are_logged_at_start(start, scratch):
    moult = Run(start, scratch, settings=[]).moult
    moult.wait_serving(1)
    for urgency in ("routine", "hard_limit", "pressure"):
        moult.wait_log(f"{urgency}: at most")


def test_workers_that_only_touch_shared_objects_are_never_recycled(start, scratch):
    env = {"SHARED_OBJECTS": "500000"}
    weighed = Run(start, scratch, env=env, name="weighed")
    weight = rss_bytes(weighed.serve()[0])
    weighed.moult.stop()
    limit = (weight + 13 * MEGABYTE) // MEGABYTE  # the least runway, and two megabytes for the requests themselves
    run = Run(start, scratch, "--memory-limit", f"{limit}MB", "--limit-jitter", "0%", "--limit-spread", "1",
              "--min-runway", "10MB", "-w", "2", settings=UNHURRIED, env=env)
    before = run.serve(2)
    own = {pid: private_bytes(pid) for pid in before}
    with Load(run.moult.address, clients=2, path="/touch") as load:
        holds_for(lambda: not run.events.all("worker_recycled"), 4, "nobody grew, and yet one was recycled")
    assert not load.failures and sum(load.answers.values()) > 20
    assert len(load.answers) == 2, "both of them touched"
    for pid in before:
        assert private_bytes(pid) > own[pid] + 15 * MEGABYTE, "the shared pages became its own"
    assert run.serve(2) == before and not run.events.all("hold_started")
