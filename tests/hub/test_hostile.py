"""A hostile Hub: every lie ends in one sentence, nothing runs, nothing leaves the cache."""

import json
import pickle
from pathlib import Path

import pytest

from tests.hub import hostile
from tests.hub.protocol import WRITER

CODE = "open({!r}, 'w').write('code of a repository ran')\n"


class Payload:
    """Runs code when it is unpickled."""

    def __init__(self, path: Path):
        self.code = CODE.format(str(path))

    def __reduce__(self):
        return exec, (self.code,)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with the cache of the victim deep in it; `ran` appears if code ran."""
    folder = tmp_path_factory.mktemp("victim")
    (folder / "a/b/home").mkdir(parents=True)
    return folder


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    with hostile.hostile(tmp_path_factory.mktemp("elsewhere")) as server:
        yield server


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}


def _with_json(files: dict[str, bytes], name: str, **changes) -> dict[str, bytes]:
    return {**files, name: hostile.dumped({**json.loads(files[name]), **changes})}


def _repositories(folders, root, elsewhere) -> dict[str, tuple[dict[str, bytes], dict]]:
    """Files and lies of each repository."""
    length, zero, svm = (_files(folders[name]) for name in ("length", "zero-shot", "svm"))
    network, code = _files(folders["hierarchical"]), CODE.format(str(root / "ran")).encode()
    auto = {"AutoConfig": "evil.Evil", "AutoModelForCausalLM": "me/other--evil.Evil"}
    weights = {k: v for k, v in network.items() if k != "model.safetensors"}
    pickled = pickle.dumps(Payload(root / "ran"))
    elsewhere.put("models/me/far", {"scorer.json": length["scorer.json"].replace(b"0", b"9")})
    far = f"{elsewhere.url}/me/far/resolve/main/scorer.json"
    up = "../../../../../../escaped"
    only = hostile.only
    return {
        "automap": (
            {**_with_json(zero, "config.json", model_type="evil", auto_map=auto), "evil.py": code},
            {},
        ),
        "tokenizer": (
            {**_with_json(zero, "tokenizer_config.json", tokenizer_class="EvilTokenizer",
                          auto_map={"AutoTokenizer": ["evil.Evil", None]}), "evil.py": code}, {},
        ),
        "dots": (length, {"listed": [hostile.listed("../../../../../escaped.json")]}),
        "middle": (length, {"listed": [hostile.listed("a/../../../../../escaped.json")]}),
        "backslash": (length, {"listed": [hostile.listed("..\\..\\escaped.json")]}),
        "absolute": (length, {"listed": [hostile.listed(str(root / "escaped.json"))]}),
        "nul": (length, {"listed": [hostile.listed("a\0b.json")]}),
        "symlink": ({"scorer.json": b"../../../../../../secret.json"}, {}),
        "pickle": ({**weights, "pytorch_model.bin": pickled, "model.pkl": pickled}, {}),
        "disguised": ({**weights, "model.safetensors": pickled}, {}),
        "skops": ({**svm, "model.skops": pickled}, {}),
        "torn": ({"scorer.json": length["scorer.json"][:-20]}, {}),
        "deep": ({"scorer.json": b"[" * 200_000}, {}),
        "huge": ({"scorer.json": b'{"kind": "' + b"x" * (64 << 20) + b'"}'}, {}),
        "types": (_with_json(network, "config.json", hidden_size="x", vocab_size=[1]), {}),
        "negative": (_with_json(network, "config.json", hidden_size=-8), {}),
        "enormous": (_with_json(network, "config.json", hidden_size=10**9), {}),
        "kind": (_with_json(length, "scorer.json", kind="../../x"), {}),
        "list": ({"scorer.json": b"[]"}, {}),
        "redirect": (length, {"resolve": only("scorer.json", hostile.redirected(far))}),
        "file-url": (length, {"resolve": only("scorer.json", hostile.redirected("file:///etc/passwd"))}),
        "endless": (length, {"resolve": only("scorer.json", hostile.endless)}),
        "changed": (length, {"resolve": only("scorer.json", hostile.changed_after_head)}),
        "cut": (length, {"resolve": only("scorer.json", hostile.cut)}),
        "etag": (length, {"resolve": only("scorer.json", hostile.etag("0" * 40))}),
        "etag-path": (length, {"resolve": only("scorer.json", hostile.etag(up))}),
        "etag-root": (length, {"resolve": only("scorer.json", hostile.etag(f"{root}/escaped"))}),
        "commit-path": (length, {"resolve": only("scorer.json", hostile.commit(up))}),
        "commit": (length, {"resolve": only("scorer.json", hostile.commit("f" * 40))}),
        "sha-path": (length, {"info": {"sha": up}}),
        "sha-none": (length, {"info": {"sha": None}}),
        "sha-type": (length, {"info": {"sha": 5}}),
        "siblings": (length, {"info": {"siblings": 5}}),
    }  # fmt: skip


ACCEPTED = {
    "tokenizer": "the class that its config names is not looked up, and the tokens are the same",
    "etag": "the content is that of the list",
}
NAMES = [
    "automap", "tokenizer", "dots", "middle", "backslash", "absolute", "nul", "symlink", "pickle",
    "disguised", "skops", "torn", "deep", "huge", "types", "negative", "enormous", "kind", "list",
    "redirect", "file-url", "endless", "changed", "cut", "etag", "etag-path", "etag-root",
    "commit-path", "commit", "sha-path", "sha-none", "sha-type", "siblings",
]  # fmt: skip


@pytest.fixture(scope="module")
def runs(folders, commands, root, elsewhere, tmp_path_factory):
    """Exit code, output and errors of `score` with each repository."""
    with hostile.hostile(tmp_path_factory.mktemp("hostile")) as hub:
        for name, (files, lies) in _repositories(folders, root, elsewhere).items():
            hub.put(f"models/me/{name}", files).settings.update(lies)
        lines = [
            [
                "score",
                "-d",
                f"me/{name}",
                "--data",
                folders["passages"],
                "-o",
                root / f"a/{name}.jsonl",
            ]
            for name in NAMES
        ]
        results = commands(*lines, home=root / "a/b/home", HF_ENDPOINT=hub.url)
        return dict(zip(NAMES, results, strict=True)), hub, elsewhere


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_repository_ends_in_one_sentence(runs, name):
    code, out, err = runs[0][name]
    print(name, code, err[-600:])
    assert "Traceback" not in err and "[y/N]" not in out + err
    if name in ACCEPTED:
        assert code == 0
    else:
        assert code == 2 and not out and len(err) < 3_000
        assert len([line for line in err.splitlines() if "retrying" not in line]) == 1


def test_nothing_ran_and_nothing_was_written_outside_the_cache(runs, root):
    outside = [p for p in root.rglob("*") if root / "a/b/home" not in (p, *p.parents)]
    assert {str(p.relative_to(root)) for p in outside} == {
        "a",
        "a/b",
        "a/tokenizer.jsonl",
        "a/etag.jsonl",
    }


def test_pickles_and_code_are_not_even_downloaded(runs):
    log = "\n".join(runs[1].log)
    assert not any(ending in log for ending in (".pkl", ".bin", ".py"))


def test_an_endless_file_is_left_early(runs):
    assert runs[1].sent < 64 << 20


def test_the_token_does_not_go_to_another_host(runs):
    assert runs[1].tokens == {WRITER} and runs[2].tokens == {None}
