"""The status page in a real browser: what it shows as it happens, on a desk and on a phone, by day and by night."""
import datetime
import json
import os
import re
import signal
from typing import List

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import DESKTOP, PHONE, browser, chromium  # noqa: F401
from harness import fetch, start_request, wait_until
from recycling import LIMIT, OVER_LIMIT, Run
from sleeping import ask_once, put_to_sleep
from test_admin_safety import view
from test_delivery import SMALL, early
from test_fleet import EAGER
from test_wake import serve_failing, shelf  # noqa: F401
from versions import BROKEN_IMPORT, version

LOOKS = [("desktop", DESKTOP, "light"), ("desktop-dark", DESKTOP, "dark"), ("phone", PHONE, "light"),
         ("phone-dark", PHONE, "dark")]
TOKEN = "0123456789abcdef-token"


@pytest.fixture
def admin_port(free_port) -> int:
    return free_port()


def admin(port: int) -> List[str]:
    return ["--admin", f"127.0.0.1:{port}"]


def assert_fit_to_look_at(browser, name: str) -> None:
    """In each way of looking, with a picture of each; nothing serious, nothing that has to be pushed sideways."""
    for look, screen, scheme in LOOKS:
        browser.show_as(screen, scheme)
        assert browser.serious_findings() == []
        assert browser.script("return document.documentElement.scrollWidth <= window.innerWidth"), look
        browser.picture(f"{name}-{look}")
    assert browser.complaints() == []


def one_held_and_one_retiring(start, scratch, port: int, browser) -> Run:
    """Of three workers the first is over its limit and waits for the budget, which its forerunner has spent; the last
    is retiring, and finishes a request. The browser looks on from before, for that does not last."""
    run = Run(start, scratch, *LIMIT, "-n", "shop", "-w", "3", "--recycle-rate", "1/h", "--recycle-burst", "1",
              *admin(port))
    run.serve(3)
    run.grow(run.pid_of(0), OVER_LIMIT)
    run.recycled(1)
    run.serve(3)
    run.grow(run.pid_of(0), OVER_LIMIT)
    run.wait_events("hold_started", reason="no_tokens")
    browser.open(port)
    browser.wait_text("no_tokens", "#holds")
    run.slow = []

    def last_is_busy() -> bool:
        if any(worker["slot"] == 2 and worker["in_flight"] for worker in run.moult.workers()):
            return True
        if len(run.slow) < 40:
            run.slow.append(start_request(run.moult.address, "/slow?seconds=25"))
        return False
    run.moult.wait_for(last_is_busy, "a request is with the last worker")
    run.moult.client("scale", "2")
    run.moult.wait_for(lambda: run.moult.workers("retiring"), "the last worker retires")
    return run


def test_each_hold_is_there_with_its_reason_and_its_end(start, scratch, admin_port, browser):
    run = one_held_and_one_retiring(start, scratch, admin_port, browser)
    browser.wait_text("retiring", "#workers")
    shown = browser.wait_text("no_tokens", "#holds")
    held = [worker for worker in run.moult.status()["workers"] if worker["hold"]]
    assert [worker["hold"] for worker in held] == ["no_tokens"]
    assert "Worker 0 is over its limit and waits for the budget" in shown
    end = re.search(r"until \d\d:\d\d:\d\d, in (\d+) min", shown)
    assert end and abs(int(end.group(1)) - held[0]["hold_ends_in_seconds"] / 60) < 2
    workers = browser.text("#workers")
    limit = round(held[0]["limit_bytes"] / 1e6)  # each worker's own: workers that are alike do not go together
    assert f"limit {limit} MB" in workers and "hard limit 156 MB" in workers and "baseline" in workers
    assert re.search(r"\+1\d\d MB in ", workers)
    assert "Worker 0" in browser.text("#recycles") and "over its limit" in browser.text("#recycles")
    assert "0 of 1 replacements" in browser.text().replace("\n", " ")
    assert_fit_to_look_at(browser, "held-and-retiring")
    for client in run.slow:
        client.close()


def test_what_happens_is_shown_without_asking_again(start, admin_port, browser):
    moult = start("-w", "2", *admin(admin_port), "hello:app")
    moult.wait_serving(2)
    browser.open(admin_port)
    browser.wait_text("2 of 2 serve")
    moult.client("scale", "3")
    browser.wait_text("3 of 3 serve")
    assert str(moult.worker_pids()[0]) in browser.text("#workers")
    assert browser.script("return performance.getEntriesByType('resource').map((each) => each.name)"
                          ".filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))") == []
    assert browser.complaints() == []


def test_a_slot_that_waits_to_boot_is_shown_with_its_next_attempt(start, scratch, write_app, admin_port, browser):
    broken = scratch / "broken"
    startup = f"if os.path.exists({str(broken)!r}): raise ValueError('no bread')"
    moult = start("-w", "2", *admin(admin_port), "app:app", chdir=write_app(version("x", startup=startup)))
    moult.wait_serving(2)
    browser.open(admin_port)
    browser.wait_text("2 of 2 serve")
    broken.touch()
    os.kill(next(worker["pid"] for worker in moult.workers() if worker["slot"] == 0), signal.SIGKILL)
    waits = r"Slot 0\s+waiting\s+Next attempt in (a moment|\d+ s), after \d+ failed boots?\."
    wait_until(lambda: re.match(waits, browser.text("#workers")), "the slot stands at the top of the list")
    assert re.fullmatch(r"\d+ s ago, at (\S+ )?\d\d:\d\d:\d\d\.", browser.text("#trouble-when"))
    assert_fit_to_look_at(browser, "slot-waits")
    broken.unlink()
    browser.wait_text("2 of 2 serve")
    assert "Slot 0" not in browser.text("#workers")


def test_the_trouble_of_a_refused_reload_is_shown_with_its_age_and_that_everybody_serves(start, write_app, admin_port,
                                                                                         browser):
    moult = start(*admin(admin_port), "app:app", chdir=write_app(version("fine")))
    moult.wait_serving(1)
    browser.open(admin_port)
    browser.wait_text("1 of 1 serve")
    write_app(BROKEN_IMPORT)
    assert moult.client("reload", "--wait").returncode != 0
    assert "the shelf is empty" in browser.wait_text("ago, at ", "#trouble")
    browser.wait_text("Every wanted worker serves now.", "#trouble-when")
    assert_fit_to_look_at(browser, "past-trouble")


def test_when_the_store_is_away_the_page_says_so(start, scratch, store, admin_port, browser):
    redis = store()
    run = Run(start, scratch, *LIMIT, "--fleet", redis.url, "--fleet-name", "shop", "-w", "2", *admin(admin_port),
              settings=EAGER)
    run.serve(2)
    browser.open(admin_port)
    browser.wait_text("shared in the fleet shop", "#gate-said")
    redis.kill()
    said = browser.wait_text("Serving is not touched", "#store")
    assert "store is away" in said
    run.grow(run.pid_of(0), OVER_LIMIT)
    held = browser.wait_text("store_unreachable", "#holds")
    said = r"Worker 0 is over its limit and waits for the fleet’s store until \d\d:\d\d:\d\d, in "
    assert re.search(said, held), held
    assert_fit_to_look_at(browser, "store-down")


def in_twelve_hours(name: str, **more) -> dict:
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12)
    return {"name": name, "cron": f"{at.minute} {at.hour} * * *", "path": "/", **more}


def test_asleep_the_page_says_what_wakes_it_and_what_the_clock_calls(start, scratch, admin_port, browser):
    config = scratch / "schedule.json"
    config.write_text(json.dumps({"schedule": [in_twelve_hours("nightly"), in_twelve_hours("poll", method="GET")]}))
    moult = start("-n", "shop", "-w", "2", "--idle", "15m", "-c", str(config), *admin(admin_port), "hello:app")
    moult.wait_serving(2)
    browser.open(admin_port)
    browser.wait_text("2 of 2 serve")
    assert browser.text("#idle-now") == "awake" and "not called yet" in browser.text("#calls")
    assert moult.client("schedule", "run", "nightly").returncode == 0
    browser.wait_text("last answered 200 after ", "#calls")
    put_to_sleep(moult)
    shown = browser.wait_text("The next caller wakes it. It is kept warm until ", "#idle-said")
    assert re.search(r"kept warm until (\S+ )?\d\d:\d\d:\d\d, in 3 h 59 min", shown), shown
    assert browser.text("#idle-now") == "asleep"
    assert browser.text("#state") == "asleep, the next caller wakes it"
    assert browser.text("#no-workers") == "There are none: the app sleeps."
    assert re.fullmatch(r"\d+ %", browser.text("#awake-share"))
    said = browser.text("#calls")
    for call in moult.status()["schedule"]:
        assert call["name"] in said and call["when"] in said
        assert "Holds the app awake? " + call["holds_awake_words"] in said
    assert len(re.findall(r"next at (\S+ )?\d\d:\d\d:\d\d, in (12 h 00|11 h 5\d) min · ", said)) == 2, said
    assert_fit_to_look_at(browser, "asleep")
    table = moult.client("status").stdout
    assert re.search(r"asleep for \S+: the next caller wakes the app, which is kept warm for (3h5\d|4h00)m", table)
    assert "nightly" in table and "holds the app awake?" in table
    assert moult.fetch().status == 200
    browser.wait_text("2 of 2 serve")
    browser.wait_text("The last wake was for a visitor.", "#idle-said")


def test_a_call_that_holds_the_app_awake_is_said_to(start, scratch, admin_port, browser):
    config = scratch / "schedule.json"
    config.write_text(json.dumps({"schedule": [{"name": "poll", "every": "10m", "path": "/"}]}))
    moult = start("--idle", "1h", "-c", str(config), *admin(admin_port), "hello:app")
    moult.wait_serving(1)
    browser.open(admin_port)
    words, = (call["holds_awake_words"] for call in moult.status()["schedule"])
    assert words.startswith("yes")
    browser.wait_text("Holds the app awake? " + words, "#calls")
    assert "poll: " + words in moult.client("status").stdout


def test_when_it_cannot_be_woken_the_page_says_why_and_until_when_callers_are_refused(start, scratch, shelf, admin_port,
                                                                                       browser):
    moult, _ = serve_failing(start, scratch, shelf, *admin(admin_port))
    browser.open(admin_port)
    browser.wait_text("asleep", "#idle-now")

    def is_told() -> str:
        """Who asks in vain makes the next refusal longer, up to 30 s: one is seen, however slow the browser is."""
        said = browser.text("#unwoken-said")
        if "is told 503 until " not in said:
            ask_once(moult)
            return ""
        return said
    said = wait_until(is_told, "the page says that callers are refused", 120)
    assert re.search(r"until \d\d:\d\d:\d\d, in (\d+ s|a moment)", said), said
    assert browser.text("#unwoken-title") == "The app could not be woken"
    assert browser.text("#state") in ("asleep, callers are refused", "asleep, the next caller wakes it")
    assert "No such file or directory" in browser.text("#unwoken-why")
    assert_fit_to_look_at(browser, "unwoken")
    shelf.file.touch()
    assert moult.client("wake").returncode == 0
    browser.wait_text("awake", "#idle-now")
    wait_until(lambda: browser.text("#unwoken") == "", "that is over")


def test_what_is_on_its_way_is_shown_until_it_has_arrived_and_how_it_ended(start, admin_port, browser):
    moult = start(*admin(admin_port), "large:app")
    moult.wait_serving(1)
    browser.open(admin_port)
    browser.wait_text("None has ended so far.", "#linger-said")
    with early(moult.address, SMALL, "Connection: close") as client:
        browser.wait_text("1", "#watched")
        assert client.read(2 * SMALL) == SMALL
        browser.wait_text("So far: 1 delivered.", "#linger-said")
    wait_until(lambda: browser.text("#watched") == "0", "it is over")
    assert re.search("on its way to clients: 0 connections .* ended: 1 delivered", moult.client("status").stdout)


def test_with_a_token_the_page_asks_for_it_and_keeps_it_for_this_tab(start, admin_port, browser):
    moult = start(*admin(admin_port), "hello:app", env={"MOULT_ADMIN_TOKEN": TOKEN})
    moult.wait_serving(1)
    browser.open(admin_port)
    browser.wait_text("asks for its token", "#ask")
    assert_fit_to_look_at_but_for_the_refusal(browser)
    for typed, told in (("not this one", "this is not the token"), (TOKEN, "1 of 1 serve")):
        field = browser.driver.find_element(By.ID, "token")
        field.send_keys(typed, Keys.ENTER)
        browser.wait_text(told)
    browser.driver.refresh()
    browser.wait_text("1 of 1 serve")
    assert TOKEN not in browser.driver.current_url
    browser.script("sessionStorage.clear()")


def assert_fit_to_look_at_but_for_the_refusal(browser) -> None:
    complaints = browser.complaints()
    assert all("401" in each for each in complaints), complaints
    assert_fit_to_look_at(browser, "token")


def test_a_moult_that_comes_back_is_followed_again(start, admin_port, browser):
    first = start("-n", "first", *admin(admin_port), "hello:app")
    first.wait_serving(1)
    browser.open(admin_port)
    browser.wait_text("first", "#name")
    first.stop()
    browser.wait_text("no connection", "#live")
    second = start("-n", "second", *admin(admin_port), "hello:app", name="second")
    second.wait_serving(1)
    browser.wait_text("second", "#name")
    browser.wait_text("live", "#live")


def test_a_moult_that_says_nothing_any_more_is_not_called_live(start, admin_port, browser):
    """Its connection stays: a machine that is gone, or a process that is stopped, ends none."""
    moult = start(*admin(admin_port), "hello:app")
    moult.wait_serving(1)
    browser.open(admin_port)
    browser.wait_text("1 of 1 serve")
    os.kill(moult.pid, signal.SIGSTOP)
    try:
        browser.wait_text("what is shown is old", "#live")
        assert browser.text("#live").startswith("nothing has come for")
        spoken = browser.script("return document.getElementById('spoken').textContent")
        assert spoken.startswith("Not live any more: nothing has come for"), spoken
        browser.wait_text("no connection", "#live")  # it tries anew
    finally:
        os.kill(moult.pid, signal.SIGCONT)
    wait_until(lambda: browser.text("#live") == "live", "it is live again")
    assert browser.complaints() == []


def test_one_page_too_many_says_so_and_gets_in_when_somebody_leaves(start, admin_port, browser):
    moult = start(*admin(admin_port), "hello:app")
    moult.wait_serving(1)
    viewers = [view(admin_port) for _ in range(24)]
    browser.open(admin_port)
    browser.wait_text("24 look already", "#live")
    viewers.pop().close()
    browser.wait_text("1 of 1 serve")
    wait_until(lambda: browser.text("#live") == "live", "it is live")
    for viewer in viewers:
        viewer.close()
    assert all("503" in each for each in browser.complaints())


def test_the_keyboard_goes_past_the_head_to_the_workers(start, admin_port, browser):
    moult = start(*admin(admin_port), "hello:app")
    moult.wait_serving(1)
    browser.open(admin_port)
    browser.wait_text("1 of 1 serve")
    body = browser.driver.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    assert browser.script("return document.activeElement.textContent") == "To the workers"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.script("return document.activeElement.id") == "workers-title"


def test_an_app_cannot_write_into_the_page(start, scratch, write_app, admin_port, browser):
    folder = write_app("")
    (folder / "app.py").write_text("async def app(scope, receive, send):\n    assert scope['type'] == 'lifespan'\n"
                                   "    await receive()\n    await send({'type': 'lifespan.startup.complete'})\n"
                                   "    await receive()\n")
    moult = start(*admin(admin_port), "app:app", chdir=folder)
    moult.wait_serving(1)
    (folder / "app.py").write_text("raise RuntimeError('<b id=planted>bold</b>')\n")
    moult.client("reload", "--wait")
    browser.open(admin_port)
    browser.wait_text("<b id=planted>bold</b>", "#trouble")
    assert browser.driver.find_elements(By.ID, "planted") == []
    assert_fit_to_look_at(browser, "trouble")


def test_the_page_and_what_it_follows_have_the_headers_of_a_page_that_trusts_nobody(start, admin_port):
    moult = start(*admin(admin_port), "hello:app")
    moult.wait_serving(1)
    for path in ("/", "/status.json", "/metrics", "/livez", "/nothing"):
        headers = fetch(admin_port, path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"], path
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY", path
        assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store", path
    page = fetch(admin_port, "/")
    assert not re.search(r"(?:https?:)?//[a-z]", re.sub(r"(?m)^\s*//.*|\s// .*", "", page.text))
    assert fetch(admin_port, "/status.json", headers={"Host": "elsewhere.example"}).status == 403
