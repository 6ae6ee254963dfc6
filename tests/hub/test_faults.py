"""Failures: nothing is half done, messages are clear, and no token is ever shown."""

import hashlib
import json
import shutil
import time

import pytest
from safetensors.torch import load_file, save_file

from tests.hub.protocol import READER, WRITER

WRONG = "hf_wrongwrongwrongwrong"


@pytest.fixture(scope="module")
def other(folders, tmp_path_factory):
    """A joint discriminator with weights that are not on the Hub."""
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
    first, second = (oid(other / part / "model.safetensors") for part in ("first", "second"))
    fault = hub.fail(rf"PUT /lfs/models/me/stopped/{second}", 0)
    code = f"import sys; sys.argv = ['dialeval', 'push', {str(other)!r}, 'me/stopped']\n"
    process = started(code + "from dialeval.commands import main; main()")
    assert fault.reached.wait(240), process.stderr.read() if process.poll() else ""
    for _ in range(1200):
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
def runs(hub, commands, folders, tmp_path_factory):
    """Exit code, output and errors of commands while the Hub fails."""
    target = tmp_path_factory.mktemp("pulled")
    svm, length, network = (folders[name] for name in ("svm", "length", "hierarchical"))
    hub.fail(r"POST /api/models/me/limited/preupload", 429, headers={"Retry-After": "0"})
    hub.fail(r"GET /me/limited/resolve/.*skops", 503, times=2)
    hub.fail(r"GET /api/models/me/limited/revision", 502)
    hub.fail(r"POST /api/models/me/echo/commit", 400, message=f"{WRITER} is a strange token")
    gated = {"X-Error-Code": "GatedRepo"}
    hub.fail(r"GET /api/models/me/gated", 403, times=9, headers=gated)
    hub.put("models/me/gated", {"scorer.json": "{}"})
    hub.put("models/me/stale", {"scorer.json": (length / "scorer.json").read_bytes()})
    hub.fail(r"GET /api/models/me/stale(/revision/\w+)?$", 503, times=99, after=1)
    hub.put("models/me/foreign", {"weights.bin": b"\x80", "README.md": "not a dialeval card"})
    hub.put("models/me/brief", {"scorer.json": (length / "scorer.json").read_bytes()})
    lines = {
        "limited": ["push", svm, "me/limited"],
        "pulled": ["pull", "me/limited", "--output-dir", target / "svm"],
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
        "first": ["pull", "me/stale", "--type", "model"],
        "stale": ["pull", "me/stale", "--type", "model"],
        "cached": ["pull", "me/stale", "--local-files-only", "--output-dir", target / "air"],
        "uncached": ["pull", "me/none", "--local-files-only"],
        "type": ["pull", "me/stale", "--type", "bucket"],
        "reader": [f"HF_TOKEN={READER}", "push", length, "me/brief"],
        "reads": ["pull", "me/secret"],
        "wrong": [f"HF_TOKEN={WRONG}", "push", length, "me/brief"],
        "stranger": ["HF_TOKEN=", "pull", "me/secret", "--revision", "main"],
        "nobody": ["HF_TOKEN=", "push", length, "me/brief"],
    }
    return dict(zip(lines, commands(*lines.values()), strict=True)) | {"target": target}


def test_requests_are_retried(runs, hub, folders):
    code, _, err = runs["limited"]
    assert code == 0, err
    assert hub.count("POST /api/models/me/limited/preupload") >= 2
    code, out, err = runs["pulled"]
    assert code == 0 and "Pulled the discriminator me/limited, revision" in err, err
    assert "retrying in" in err and out.strip() == str(runs["target"] / "svm")
    same = (runs["target"] / "svm" / "model.skops").read_bytes()
    assert same == (folders["svm"] / "model.skops").read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "me/none: no such repository on the Hub, or no access to it. Check the name"),
        ("revision", "me/limited: it has no revision 'nope'. Name another"),
        (
            "uncached",
            "me/none: it is not in the cache, and the Hub was not contacted. Go online once",
        ),
        ("type", "unknown repository type 'bucket'. Choose one of model, dataset."),
        ("gated", "me/gated: access is restricted"),
        ("name", "no-owner: not a valid Hub name. Write owner/name."),
        ("public", "me/limited: it already exists and is public."),
        ("reader", "me/brief: your token has no permission for this (403)"),
        ("wrong", "me/brief: you are not logged in to the Hub (401). Log in: hf auth login"),
        ("stranger", "me/secret: no such repository on the Hub, or no access to it."),
        ("nobody", "me/brief: you are not logged in to the Hub (401). Log in: hf auth login"),
        ("other", "it holds something else (discriminator svm) than what is pushed"),
        ("foreign", "it holds something else (unknown) than what is pushed"),
        ("echo", "the Hub refused the request (400)"),
    ],
)
def test_refusals_of_the_hub_are_explained(runs, name, message):
    code, out, err = runs[name]
    assert code == 2 and message in err and not out and "Traceback" not in err, err


def test_another_architecture_is_replaced_only_by_force(runs, hub):
    code, _, err = runs["force"]
    assert code == 0, err
    files = hub.files("models/me/limited")
    assert "model.safetensors" in files and "model.skops" not in files
    assert json.loads(files["scorer.json"])["kind"] == "neural"
    assert set(hub.files("models/me/foreign")) == {"weights.bin", "README.md"}


def test_a_cached_copy_is_never_used_silently(runs, hub, folders):
    (first, second), cached = (runs[name] for name in ("first", "stale")), runs["cached"]
    assert [first[0], second[0], cached[0]] == [0, 0, 0] and first[1] == second[1]
    sha = hub.repos["models/me/stale"].branches["main"][:12]
    assert f"revision {sha}" in first[2] and "in the cache" not in first[2]
    assert f"The Hub does not answer; me/stale is the copy of revision {sha}" in second[2]
    same = (runs["target"] / "air" / "scorer.json").read_bytes()
    assert same == (folders["length"] / "scorer.json").read_bytes()


def test_a_private_push_stays_private(runs, hub):
    assert runs["private"][0] == 0 and hub.repos["models/me/secret"].private
    assert runs["reads"][0] == 0 and "revision" in runs["reads"][2]


def test_a_branch_leaves_main_alone(runs, hub):
    assert runs["branch"][0] == 0, runs["branch"][2]
    assert set(hub.files("models/me/brief")) == {"scorer.json"}
    assert "README.md" in hub.files("models/me/brief", "next")


def test_a_token_is_never_shown_and_never_stored(runs, hub):
    printed = "".join(text for name, run in runs.items() if name != "target" for text in run[1:])
    stored = [path.read_bytes() for path in hub.folder.iterdir()]
    for token in (WRITER, READER, WRONG):
        assert token not in printed
        assert not any(token.encode() in content for content in stored)
    assert "the Hub refused the request (400): ... is a strange token" in runs["echo"][2]
