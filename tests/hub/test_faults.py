"""When something goes wrong: nothing is half done, words are plain, and no token is ever shown."""

import hashlib
import json
import shutil
import time

import pytest
from safetensors.torch import load_file, save_file

from tests.hub.server import READER, WRITER

WRONG = "hf_wrongwrongwrongwrong"


@pytest.fixture(scope="module")
def other(folders, tmp_path_factory):
    """A joint judge with weights that the Hub has never seen."""
    folder = tmp_path_factory.mktemp("other") / "joint"
    shutil.copytree(folders["joint"], folder)
    for path in folder.rglob("*.safetensors"):
        save_file({k: v + 1 for k, v in load_file(path).items()}, path, {"format": "pt"})
    return folder


def oid(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_upload_that_is_interrupted_leaves_the_old_revision(
    hub, started, commands, other, folders
):
    old = {"scorer.json": (folders["joint"] / "scorer.json").read_bytes(), "notes.txt": b"mine"}
    hub.put("models/me/stopped", old)
    first, second = (oid(other / each / "model.safetensors") for each in ("first", "second"))
    fault = hub.fail(rf"PUT /lfs/models/me/stopped/{second}", 0)
    code = f"import sys; sys.argv = ['dialeval', 'push', {str(other)!r}, 'me/stopped']\n"
    process = started(code + "from dialeval.commands import main; main()")
    assert fault.reached.wait(60), process.stderr.read() if process.poll() else ""
    for _ in range(200):
        if hub.blob(first).is_file():
            break
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert (
        hub.files("models/me/stopped") == old and len(hub.repos["models/me/stopped"].commits) == 1
    )
    [(code, _, err)] = commands(["push", other, "me/stopped"])
    assert code == 0, err
    files = hub.files("models/me/stopped")
    assert files["first/model.safetensors"] == (other / "first/model.safetensors").read_bytes()
    assert "notes.txt" not in files and hub.count(rf"PUT /lfs/models/me/stopped/{first}") == 1


@pytest.fixture(scope="module")
def told(hub, commands, folders, tmp_path_factory):
    """What commands say, one after another in one process, to a Hub that misbehaves."""
    place = tmp_path_factory.mktemp("pulled")
    svm, length, network = (folders[name] for name in ("svm", "length", "hierarchical"))
    hub.fail(r"POST /api/models/me/limited/preupload", 429, headers={"Retry-After": "0"})
    hub.fail(r"GET /me/limited/resolve/.*skops", 503, times=2)
    hub.fail(r"GET /api/models/me/limited/revision", 502)
    hub.fail(r"POST /api/models/me/echo/commit", 400, message=f"{WRITER} is a strange token")
    gated = {"X-Error-Code": "GatedRepo"}
    hub.fail(r"GET /api/models/me/gated", 403, times=9, headers=gated)
    hub.put("models/me/gated", {"scorer.json": "{}"})
    hub.put("models/me/stale", {"scorer.json": (length / "scorer.json").read_bytes()})
    hub.fail(r"GET /api/models/me/stale(/revision/\w+)?$", 503, times=99, after=2)
    hub.put("models/me/foreign", {"weights.bin": b"\x80", "README.md": "of somebody else"})
    hub.put("models/me/brief", {"scorer.json": (length / "scorer.json").read_bytes()})
    lines = {
        "limited": ["push", svm, "me/limited"],
        "pulled": ["pull", "me/limited", "--output-dir", place / "svm"],
        "echo": ["push", length, "me/echo"],
        "gated": ["pull", "me/gated"],
        "none": ["pull", "me/none"],
        "revision": ["pull", "me/limited", "--revision", "nope"],
        "name": ["push", length, "no-owner"],
        "private": ["push", length, "me/secret", "--private"],
        "public": ["push", svm, "me/limited", "--private"],
        "branch": ["push", length, "me/brief", "--revision", "next"],
        "other": ["push", network, "me/limited"],
        "foreign": ["push", length, "me/foreign"],
        "force": ["push", network, "me/limited", "--force"],
        "asked": ["pull", "me/stale", "--type", "model"],
        "stale": ["pull", "me/stale", "--type", "model"],
        "cached": ["pull", "me/stale", "--local-files-only", "--output-dir", place / "air"],
        "uncached": ["pull", "me/none", "--local-files-only"],
        "type": ["pull", "me/stale", "--type", "bucket"],
        "reader": [f"HF_TOKEN={READER}", "push", length, "me/brief"],
        "reads": ["pull", "me/secret"],
        "wrong": [f"HF_TOKEN={WRONG}", "push", length, "me/brief"],
        "stranger": ["HF_TOKEN=", "pull", "me/secret", "--revision", "main"],
        "nobody": ["HF_TOKEN=", "push", length, "me/brief"],
    }
    return dict(zip(lines, commands(*lines.values()), strict=True)) | {"place": place}


def test_a_hub_that_wants_fewer_requests_is_asked_again(told, hub, folders):
    code, _, err = told["limited"]
    assert code == 0, err
    assert hub.count("POST /api/models/me/limited/preupload") >= 2
    code, out, err = told["pulled"]
    assert code == 0 and "Pulled the discriminator me/limited, revision" in err, err
    assert "asking again" in err and out.strip() == str(told["place"] / "svm")
    same = (told["place"] / "svm" / "model.skops").read_bytes()
    assert same == (folders["svm"] / "model.skops").read_bytes()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none", "me/none: the Hub has no such repository, or does not show it. Check the name"),
        ("revision", "me/limited: it has no revision 'nope'. Name another"),
        ("uncached", "me/none: it is not in the cache, and the Hub was not asked. Go online once"),
        ("type", "unknown type of repository 'bucket'. Choose one of model, dataset."),
        ("gated", "me/gated: its owner has to let you in"),
        ("name", "no-owner: this is no name on the Hub. Write owner/name."),
        ("public", "me/limited: it is there already, and public."),
        ("reader", "me/brief: your token may not do this (403)"),
        ("wrong", "me/brief: the Hub does not know who you are (401). Log in: hf auth login"),
        ("stranger", "me/secret: the Hub has no such repository, or does not show it."),
        ("nobody", "me/brief: the Hub does not know who you are (401). Log in: hf auth login"),
        ("other", "it holds something else (discriminator svm) than what is pushed"),
        ("foreign", "it holds something else (unknown) than what is pushed"),
        ("echo", "the Hub says no (400)"),
    ],
)
def test_what_the_hub_refuses_is_said_in_plain_words(told, name, words):
    code, out, err = told[name]
    assert code == 2 and words in err and not out and "Traceback" not in err, err


def test_another_architecture_is_replaced_only_by_force(told, hub):
    code, _, err = told["force"]
    assert code == 0, err
    files = hub.files("models/me/limited")
    assert "model.safetensors" in files and "model.skops" not in files
    assert json.loads(files["scorer.json"])["kind"] == "neural"
    assert set(hub.files("models/me/foreign")) == {"weights.bin", "README.md"}


def test_an_old_copy_is_never_taken_in_silence(told, hub, folders):
    (first, second), cached = (told[name] for name in ("asked", "stale")), told["cached"]
    assert [first[0], second[0], cached[0]] == [0, 0, 0] and first[1] == second[1]
    sha = hub.repos["models/me/stale"].branches["main"][:12]
    assert f"revision {sha}" in first[2] and "in the cache" not in first[2]
    assert f"The Hub does not answer; me/stale is the copy of revision {sha}" in second[2]
    same = (told["place"] / "air" / "scorer.json").read_bytes()
    assert same == (folders["length"] / "scorer.json").read_bytes()


def test_a_private_push_stays_private(told, hub):
    assert told["private"][0] == 0 and hub.repos["models/me/secret"].private
    assert told["reads"][0] == 0 and "revision" in told["reads"][2]


def test_a_branch_leaves_main_alone(told, hub):
    assert told["branch"][0] == 0, told["branch"][2]
    assert set(hub.files("models/me/brief")) == {"scorer.json"}
    assert "README.md" in hub.files("models/me/brief", "next")


def test_a_token_is_never_shown_and_never_stored(told, hub):
    said = "".join(text for name, each in told.items() if name != "place" for text in each[1:])
    stored = [path.read_bytes() for path in hub.folder.iterdir()]
    for token in (WRITER, READER, WRONG):
        assert token not in said
        assert not any(token.encode() in content for content in stored)
    assert "the Hub says no (400): ... is a strange token" in told["echo"][2]
