"""Spaces: the page of a metric computes, shows text as text, and its folder can be uploaded."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from unittest.mock import create_autospec
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from huggingface_hub import HfApi

import dialeval
from dialeval.hub.spaces import compute_boxes, page, parse_box, push
from dialeval.registration import scripts

NAMES = list(scripts())
TAG = "<img src=x onerror=\"document.title='pwned'\">"


@contextmanager
def serving(name: str, folder):
    """The address of `python app.py`, run where a Space runs it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"GRADIO_SERVER_PORT": str(port)}
    with (folder / "app.log").open("w") as log:
        command = [sys.executable, "app.py"]
        process = subprocess.Popen(
            command, cwd=scripts()[name].parent, env=environment, stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urlopen(address, timeout=5).close()
                break
            except (URLError, ConnectionError, TimeoutError):
                assert process.poll() is None, (folder / "app.log").read_text()
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def call_endpoint(address: str, boxes: list[str]) -> dict:
    """The answer of the page's endpoint."""
    body = json.dumps({"data": boxes}).encode()
    head = {"Content-Type": "application/json"}
    endpoint = f"{address}/gradio_api/call/compute"
    with urlopen(Request(endpoint, body, head), timeout=120) as answer:
        event = json.load(answer)["event_id"]
    with urlopen(f"{endpoint}/{event}", timeout=120) as answer:
        event, data = answer.read().decode().split("\n")[:2]
    assert event == "event: complete"
    return json.loads(data.removeprefix("data: "))[0]


@pytest.mark.parametrize("name", NAMES)
def test_an_app_serves_its_own_metric(name):
    lines = (scripts()[name].parent / "app.py").read_text().splitlines()
    assert lines[0] == "from dialeval.hub.spaces import launch"
    assert lines[-1].strip() == f'launch("{name}")'


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_the_example_and_computes_it(name):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install 'dialeval[app]'")
    metric = dialeval.load(name, keep_in_memory=True)
    interface = page(name)
    boxes = [box.value for box in interface.input_components]
    assert [box.label for box in interface.input_components] == list(metric.example)
    assert [json.loads(box) for box in boxes] == list(metric.example.values())
    assert interface.fn(*boxes) == metric.compute(**metric.example)


def test_an_app_starts_and_answers(tmp_path):
    pytest.importorskip("gradio", reason="gradio is not installed: pip install 'dialeval[app]'")
    with serving("adversuc", tmp_path) as address:
        page_text = urlopen(address, timeout=120).read().decode()
        result = call_endpoint(address, ["[0.9, 0.2, 0.8, 0.7]", "[1, 0, 1, 0]", "", "", "0.5"])
        refused = call_endpoint(address, [TAG, "[1, 0]", "", "", "0.5"])
    assert "dialeval/adversuc" in page_text
    given = {"predictions": [0.9, 0.2, 0.8, 0.7], "references": [1, 0, 1, 0], "threshold": 0.5}
    assert result == dialeval.load("adversuc").compute(**given)
    assert refused["error"].startswith("predictions: expected JSON")


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ({"predictions": "[0.9", "references": "[1]"}, "predictions: expected JSON, such as"),
        ({"predictions": "[0.9]", "references": "[1, 0]"}, "got 1 predictions and 2 references"),
        ({"predictions": "[0.9]", "references": " "}, "references is missing"),
        ({"predictions": "7", "references": "[1]"}, "has no len"),
        ({"predictions": None, "references": None, "threshold": "0.5"}, "the box is empty"),
        ({"predictions": "[0.9]", "references": "[1]"}, "all 1 responses are human"),
        ({"predictions": f'["{TAG[:8]}"]', "references": "[1]"}, TAG[:8]),
    ],
)
def test_errors_of_a_box_are_returned_as_data(boxes, message):
    """They contain what the user typed, and gradio shows its own errors as HTML."""
    metric = dialeval.load("adversuc")
    assert message in compute_boxes(metric, boxes)["error"]
    valid = {"predictions": "[0.9, 0.2]", "references": "[1, 0]"}
    assert compute_boxes(metric, valid)["adversuc"] == 0.0  # a failure leaves no state


def test_a_deep_nesting_is_refused():
    with pytest.raises(ValueError, match="predictions: expected JSON"):
        parse_box("predictions", "[" * 100_000)


def test_a_page_without_gradio_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gradio", None)
    with pytest.raises(ModuleNotFoundError, match="pip install 'dialeval\\[app\\]'"):
        page("adversuc")


LOAD = """
import json
import evaluate

metric = evaluate.load("dialeval/adversuc")
given = {"predictions": [0.9, 0.2, 0.8, 0.7], "references": [1, 0, 1, 0]}
print("\\n" + json.dumps([metric.compute(**given)["adversuc"], type(metric).__module__]))
"""


def test_spaces_are_pushed_tagged_and_loaded_by_evaluate(hub, commands, fresh):
    runs = commands(
        ["spaces", "push"],
        ["spaces", "push", "ere", "--namespace", "me"],
        ["spaces", "push", "ere", "--namespace", "me"],
        ["spaces", "push", "eree"],
        ["HF_TOKEN=", "spaces", "push", "ere", "--namespace", "me"],
    )
    assert [code for code, *_ in runs] == [0, 0, 0, 2, 2], runs
    assert runs[0][1].splitlines() == [f'evaluate.load("dialeval/{name}")' for name in NAMES]
    assert "Choose one of adversuc" in runs[3][2] and "hf auth login" in runs[4][2]
    for name in NAMES:
        uploaded = hub.files(f"spaces/dialeval/{name}", f"dialeval-{dialeval.__version__}")
        expected = {f"{name}.py", "README.md", "app.py", "requirements.txt"}
        assert set(uploaded) == expected
        assert uploaded == {p: (scripts()[name].parent / p).read_bytes() for p in expected}
    assert hub.repos["spaces/dialeval/ere"].settings["sdk"] == "gradio"
    value, module = fresh(LOAD)
    assert value == 0.25 and module.startswith("evaluate_modules.metrics.dialeval--adversuc")
    assert hub.count("GET /spaces/dialeval/adversuc/resolve/main/adversuc.py") == 1


def test_a_folder_is_uploaded_to_its_space():
    api = create_autospec(HfApi, instance=True)
    assert push("ere", "somebody", api=api) == "somebody/ere"
    space = {"repo_type": "space"}
    api.create_repo.assert_called_once_with(
        "somebody/ere", space_sdk="gradio", exist_ok=True, **space
    )
    uploaded = api.upload_folder.call_args.kwargs
    assert uploaded["repo_id"] == "somebody/ere" and uploaded["repo_type"] == "space"
    assert uploaded["folder_path"] == scripts()["ere"].parent
    tag = api.create_tag.call_args.kwargs["tag"]
    assert tag == f"dialeval-{dialeval.__version__}"  # `evaluate` looks for v0.4.6 first
    with pytest.raises(ValueError, match="Choose one of adversuc"):
        push("eree", api=api)


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    pytest.importorskip("gradio", reason="gradio is not installed: pip install 'dialeval[app]'")
    programs = shutil.which("chromium"), shutil.which("chromedriver")
    if None in programs:
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--window-size=1200,1000")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
    yield driver
    driver.quit()


def press(browser, until: str) -> str:
    """Press Compute, and return the page's text once it contains `until`."""
    browser.find_element("xpath", "//button[normalize-space()='Compute']").click()
    for _ in range(600):
        text = "".join(browser.find_element("tag name", "body").text.split())
        if until in text:
            return text
        time.sleep(0.2)
    raise AssertionError(f"no {until!r} in {text}")


@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
def test_a_page_computes_in_a_browser_and_shows_text_as_text(name, browser, tmp_path):
    metric = dialeval.load(name, keep_in_memory=True)
    expected = metric.compute(**metric.example)
    key = next(iter(expected))
    with serving(name, tmp_path) as address:
        browser.get(address)
        browser.implicitly_wait(30)
        text = press(browser, f'"{key}":{expected[key]}')
        assert all(f'"{name}"' in text for name in expected)
        picture = tmp_path / f"{name}.png"
        assert browser.save_screenshot(str(picture)) and picture.stat().st_size > 20_000
        box = browser.find_element("tag name", "textarea")
        box.clear()
        rest = metric.example["predictions"][1:]
        box.send_keys(json.dumps([3, TAG] if name == "distinct" else [TAG, *rest]))
        if name == "agreement":  # any text is an answer there
            assert "<imgsrc=x" not in press(browser, '"fleiss_pi":')
        else:
            assert "<imgsrc=x" in press(browser, '"error":')
        assert browser.title == f"dialeval/{name}"
        browser.implicitly_wait(0)
        assert not browser.find_elements("css selector", "img[src=x]")
