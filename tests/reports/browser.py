"""Chromium for tests of pages, and what must hold of every page in it."""

import shutil
from pathlib import Path

import pytest

WIDTHS = (390, 1200)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run",
)  # fmt: skip


def open_chromium():
    """A driver of Chromium that keeps the console's messages; skips where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))


def show(browser, path: Path, width: int, scheme: str = "light", media: str = "screen") -> None:
    """Open a page at a width, with every fold unfolded."""
    shape = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    browser.get(path.resolve().as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach(x => x.open = true)")


OVERFLOWING = """
const width = document.documentElement.clientWidth;
const parts = [...document.querySelectorAll(".scroll")];
const wide = parts.filter(x => x.scrollWidth > x.clientWidth + 1);
const outside = [...document.querySelectorAll("main *, header *")].filter(function (x) {
  const box = x.getBoundingClientRect();
  return box.width && box.right > width + 1 && !x.closest(".scroll") && !x.closest("svg");
});
return {
  page: document.documentElement.scrollWidth - width,
  tables: wide.map(x => (x.querySelector("caption") || x).textContent.slice(0, 60)),
  outside: outside.slice(0, 5).map(x => x.outerHTML.slice(0, 120)),
};
"""


def assert_fits(browser, path: Path, width: int, media: str = "screen") -> None:
    """Nothing is cut off: neither the page nor a table has to be scrolled sideways."""
    show(browser, path, width, media=media)
    state = browser.execute_script(OVERFLOWING)
    assert state == {"page": 0, "tables": [], "outside": []}, (path.name, width)


def messages(browser) -> list[str]:
    """What the console of the browser has printed since the last call."""
    return [entry["message"] for entry in browser.get_log("browser")]
