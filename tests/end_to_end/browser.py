"""A real Chromium without a window, looking at a page as somebody at a desk or with a phone does, and asked by axe-core
what somebody without eyes or mouse would miss there."""
import base64
import os
from pathlib import Path
from typing import Iterator, List

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from harness import BINARY, PATIENCE, ROOT, wait_until

SCREENSHOTS = Path(os.environ.get("MOULT_SCREENSHOTS", Path(BINARY).resolve().parents[1] / "screenshots"))
DESKTOP, PHONE = (1280, 800, 1, False), (390, 844, 2, True)  # width and height in CSS pixels, scale, is it a phone
# As root Chromium wants no sandbox; the rest keeps it from calling home.
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--hide-scrollbars"]


def axe_source() -> str:
    found = sorted((ROOT / "build/venv-newest").glob("lib/*/site-packages/axe_playwright_python/axe.min.js"))
    assert found, "there is no axe-core: tools/setup installs it"
    return found[0].read_text()


class Browser:
    def __init__(self) -> None:
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(PATIENCE)
        self.show_as(DESKTOP, "light")

    def show_as(self, screen, scheme: str) -> None:
        width, height, scale, mobile = screen
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme},
                         {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def open(self, port: int) -> None:
        self.complaints()  # of an earlier page
        self.driver.get(f"http://127.0.0.1:{port}/")

    def text(self, selector: str = "body") -> str:
        """What can be seen of it."""
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def wait_text(self, wanted: str, selector: str = "body") -> str:
        try:
            wait_until(lambda: wanted in self.text(selector), f"{wanted!r} on the page")
        except AssertionError as failure:
            raise AssertionError(f"{failure}\n--- the page:\n{self.text()}") from None
        return self.text(selector)

    def script(self, source: str):
        return self.driver.execute_script(source)

    def picture(self, name: str) -> Path:
        """Of the whole page, to the end that one would have to scroll to."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        path = SCREENSHOTS / f"{name}.png"
        path.write_bytes(base64.b64decode(taken["data"]))
        return path

    def serious_findings(self) -> List[str]:
        """What axe-core calls serious or critical, with the place."""
        if not self.script("return Boolean(window.axe)"):
            self.script(axe_source())
        found = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations']}).then((found) => done(found.violations))")
        return [f"{each['id']}: {each['help']}: {node['html'][:120]}" for each in found
                if each["impact"] in ("serious", "critical") for node in each["nodes"]]

    def complaints(self) -> List[str]:
        """The console since the last look: scripts that failed, what the page's policy has refused."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    chromium.show_as(DESKTOP, "light")
    yield chromium
    chromium.driver.get("about:blank")  # so that nobody follows a moult that is to end
