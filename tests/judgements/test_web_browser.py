"""The annotation page in Chromium: by keyboard, on a phone, through a crash of the server."""

import shutil
import time

import pytest

from dialeval.judgements.store import JudgementStore
from tests.judgements.annotation import make_store, serving

pytestmark = pytest.mark.browser


def driver(width: int, height: int = 800):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    browser.implicitly_wait(20)
    return browser


@pytest.fixture
def browsers():
    opened = []

    def open_browser(width: int):
        opened.append(driver(width))
        return opened[-1]

    yield open_browser
    for browser in opened:
        browser.quit()


def join(browser, address: str, name: str) -> None:
    browser.get(address)
    browser.find_element("id", "name").send_keys(name + "\n")
    browser.find_element("id", "answer")


def item_of(browser) -> str:
    return browser.find_element("css selector", "#answer [name=item]").get_attribute("value")


STATE = """
const item = document.querySelector("#answer [name=item]");
const state = item ? item.value : document.getElementById("end") && "end";
return document.readyState === "complete" ? state : null
"""


def press(browser, key: str) -> None:
    """Press a key, and wait until another item, or the end, is shown."""
    item = item_of(browser)
    browser.find_element("tag name", "body").send_keys(key)
    for _ in range(200):
        time.sleep(0.05)
        if browser.execute_script(STATE) not in (None, item):
            return
    raise AssertionError(f"the page stayed at {item} after {key!r}")


def answers(store, name):
    pseudonym = store.identities.pseudonym(name)
    return [row for row in JudgementStore(store.path).judgements() if row.annotator == pseudonym]


def test_twenty_items_by_keyboard_through_a_crash_beside_a_second_annotator(browsers, tmp_path):
    from selenium.webdriver.common.keys import Keys

    store = make_store(tmp_path, count=20)
    with serving(store.path) as server:
        desk, phone = browsers(1200), browsers(390)
        join(desk, server.address, "ann")
        join(phone, server.address, "bob")
        keys = ["1", "2", Keys.ARROW_LEFT, Keys.ARROW_RIGHT, "1"]
        for key in (*keys, *keys):
            press(desk, key)
            press(phone, "2")
        assert desk.find_element("css selector", ".progress span").text.startswith("10 of 20")
        last = answers(store, "ann")[-1].item
        press(desk, "u")
        assert item_of(desk) == last and len(answers(store, "ann")) == 9
        server.kill()
        server.start()
        press(desk, "2")  # the page that was open before the crash
        for key in (*keys, *keys):
            press(desk, key)
        for _ in range(10):
            press(phone, "1")
        assert "All answers are saved" in desk.find_element("id", "end").text
        assert "All answers are saved" in phone.find_element("id", "end").text
        assert not [line for line in desk.get_log("browser") if line["level"] == "SEVERE"
                    and "favicon" not in line["message"]]  # fmt: skip
    first, second = answers(store, "ann"), answers(store, "bob")
    assert len(first) == len({row.item for row in first}) == 20
    assert len(second) == len({row.item for row in second}) == 20
    expected = ["real", "fake", "real", "fake", "real"]
    assert [row.answer for row in first] == [*expected, *expected[:4], "fake", *expected, *expected]
    assert all(0 < row.seconds < 60 for row in first)


def test_a_page_fits_a_phone_shows_text_as_text_and_can_be_dark(browsers, tmp_path):
    store = make_store(tmp_path, "better", count=4)
    with serving(store.path) as server:
        for width in (390, 1200):
            browser = browsers(width)
            join(browser, server.address, f"ann {width}")
            page = browser.find_element("tag name", "html")
            assert int(page.get_property("scrollWidth")) <= width
            assert browser.title == "Which one is better?"
            assert "<script>" in browser.find_element("css selector", ".context").text
            picture = tmp_path / f"{width}.png"
            assert browser.save_screenshot(str(picture)) and picture.stat().st_size > 8_000
        colour = "return getComputedStyle(document.body).backgroundColor"
        light = browser.execute_script(colour)
        browser.find_element("id", "theme").click()
        dark = browser.execute_script(colour)
        press(browser, "3")
        assert browser.execute_script(colour) == dark != light  # kept on the next page
        assert answers(store, "ann 1200")[0].answer == "tie"


def test_ratings_by_keyboard(browsers, tmp_path):
    store = make_store(tmp_path, "rating", count=2)
    with serving(store.path) as server:
        browser = browsers(390)
        join(browser, server.address, "ann")
        body = browser.find_element("tag name", "body")
        body.send_keys("4")
        body.send_keys("2")
        browser.switch_to.active_element.send_keys("\n")
        for _ in range(100):
            if len(answers(store, "ann")) == 2:
                break
            time.sleep(0.05)
    rows = {row.scale: row.answer for row in answers(store, "ann")}
    assert rows == {"relevance": 4.0, "fluency": 2.0}


def test_a_double_click_is_one_answer(browsers, tmp_path):
    from selenium.webdriver import ActionChains

    store = make_store(tmp_path, count=6)
    with serving(store.path) as server:
        browser = browsers(1200)
        join(browser, server.address, "ann")
        button = browser.find_element("css selector", "button[value=fake]")
        ActionChains(browser).double_click(button).perform()
        time.sleep(1)
        done = browser.find_element("css selector", ".progress span").text
    assert len(answers(store, "ann")) == 1 and done.startswith("1 of 6")
