"""What a kill leaves behind is continued, and what is damaged is said or computed again."""

import json

import pytest

from dialeval.dialogues import BadInput, to_passages
from dialeval.perturbations import perturbations
from dialeval.protocols.robustness import robustness
from dialeval.responders import load_responder
from dialeval.responders.journal import Journal, generate
from dialeval.run_folder import RunFolder
from dialeval.scorers import load_scorer
from dialeval.settings.robustness import RobustnessRun
from dialeval.settings.training import DiscriminatorConfig, DiscriminatorRun
from dialeval.training.discriminator import train_discriminator
from tests.conftest import talk
from tests.faults.material import write_zero_shot


@pytest.mark.parametrize("name", ["out.jsonl", "x[1].jsonl"])
def test_a_run_killed_between_output_and_manifest_is_continued(tmp_path, monkeypatch, name):
    passages, output = talk(4, 3), tmp_path / name
    whole = generate(load_responder("parrot"), passages, tmp_path / "whole.jsonl")

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dialeval.responders.journal.atomic_write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            generate(load_responder("parrot"), passages, output)
    assert output.exists()
    summary = generate(load_responder("parrot"), passages, output)
    assert summary.answers == whole.answers == 8
    assert output.read_bytes() == whole.path.read_bytes()
    assert not list(tmp_path.glob(".*.journal"))


def test_an_output_of_somebody_else_is_still_refused(tmp_path):
    output = tmp_path / "out.jsonl"
    output.write_text("{}\n")
    with pytest.raises(BadInput, match="another run wrote here"):
        generate(load_responder("parrot"), talk(2, 3), output)


@pytest.mark.parametrize("content", ["", "[1, ", "\x00", "[1, 2, 3]", '{"value": 3, "digest": ""}'])
def test_a_torn_cache_is_computed_again(tmp_path, content):
    folder = RunFolder(tmp_path)
    path = folder.cache("key.json")
    path.parent.mkdir()
    path.write_text(content)
    assert folder.cached_json("key", lambda: [1, 2]) == [1, 2]
    assert json.loads(path.read_text())["value"] == [1, 2]
    assert folder.cached_json("key", lambda: pytest.fail("not cached")) == [1, 2]


def test_the_lock_says_which_process_holds_it(tmp_path):
    with (
        RunFolder(tmp_path).lock(),
        pytest.raises(BadInput, match=r"process \d+, since 0 minutes"),
        RunFolder(tmp_path).lock(),
    ):
        pass
    assert not (tmp_path / ".lock.owner").exists()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("kind", 5, r"scorer.json: `kind` is a text, but got a whole number"),
        ("decision", [], "`decision` is an object or null"),
        ("decision", {"threshold": float("nan")}, "`decision.threshold` is a finite number"),
        ("fingerprint", "other", "its weights are not those"),
        ("measure", None, "expected a saved evaluator|measure"),
    ],
)
def test_a_damaged_evaluator_is_refused_with_file_and_key(tmp_path, key, value, message):
    write_zero_shot(tmp_path / "zero")
    path = tmp_path / "zero" / "scorer.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, key: value}))
    with pytest.raises(BadInput, match=message):
        load_scorer(tmp_path / "zero")


def test_training_that_was_killed_leaves_no_evaluator_under_old_settings(tmp_path, monkeypatch):
    from dialeval.scorers.zeroshot import ZeroShotScorer

    write_zero_shot(tmp_path / "zero")
    with monkeypatch.context() as patch:
        patch.setattr(ZeroShotScorer, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write_zero_shot(tmp_path / "zero")
    with pytest.raises(BadInput, match="no scorer.json here"):
        load_scorer(tmp_path / "zero")
    assert to_passages(talk(1, 2)) is not None


def test_what_killed_processes_left_is_removed(tmp_path, monkeypatch):
    import os
    import subprocess
    import sys

    from dialeval.dialogues import scratch
    from dialeval.files import atomic_write_text, remove_dir

    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, used = (tmp_path / f".a[1].json.{pid}.partial" for pid in (dead.pid, os.getppid()))
    journal = left.with_name(f"{left.name}-journal")  # of SQLite
    for path in (left, used, journal):
        path.write_text("{")
    atomic_write_text(tmp_path / "a[1].json", "{}")
    assert not left.exists() and not journal.exists() and used.exists()

    for word in ("old", "partial", "trash"):
        (tmp_path / f".checkpoint.{word}").mkdir()
    (tmp_path / "checkpoint").mkdir()
    remove_dir(tmp_path / "checkpoint")
    assert not list(tmp_path.glob("*checkpoint*"))

    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    for age in (0, 1000):
        folder = tmp_path / f"dialeval-scratch-{age}"
        folder.mkdir()
        (folder / ".lock").touch()
        moment = scratch.time.time() - age
        os.utime(folder / ".lock", (moment, moment))
    current = scratch.scratch.__wrapped__()
    names = {path.name for path in tmp_path.glob("dialeval-scratch-*")}
    assert names == {"dialeval-scratch-0", current.name}


def test_vectors_do_not_depend_on_the_other_texts():
    import numpy as np

    from dialeval.models.embedding import CachedEmbedder

    texts = [" ".join(["well", "then"] * size) + f" {size}" for size in range(1, 25)]
    together, apart = CachedEmbedder(), CachedEmbedder()
    whole = together(texts)
    apart(texts[7:9])
    assert np.array_equal(apart(texts[::-1])[::-1], whole)
    assert np.array_equal(apart.states(texts), together.states(texts))


def test_a_finished_model_of_other_settings_is_not_overwritten(tmp_path):
    from dialeval.settings.training import DiscriminatorConfig, DiscriminatorRun
    from dialeval.training.discriminator import train_discriminator
    from dialeval.training.pairs import pair_parts

    def train(**settings):
        settings = {"max_pairs": 20, "max_eval_pairs": 10, "filter": "none", **settings}
        run = DiscriminatorRun(model="svm-unigram", output_dir=str(tmp_path / "svm"), **settings)
        config = DiscriminatorConfig()
        pairs = pair_parts(to_passages(talk(60, 4)), None, run, config.seed)
        return train_discriminator(run, config, pairs=pairs)

    train()
    before = (tmp_path / "svm" / "scorer.json").read_bytes()
    train()  # the same one
    assert (tmp_path / "svm" / "scorer.json").read_bytes() == before
    with pytest.raises(BadInput, match=r"another run wrote here.*\(max_pairs\).*--overwrite"):
        train(max_pairs=10)
    assert (tmp_path / "svm" / "scorer.json").read_bytes() == before
    train(max_pairs=10, overwrite=True)
    train(max_pairs=10)


def test_the_previous_version_of_a_folder_is_removed_once_the_new_one_is_complete(tmp_path):
    from dialeval.files import last_complete

    old = tmp_path / ".checkpoint.old"
    old.mkdir()
    (old / "state.json").write_text("{}")
    assert last_complete(tmp_path / "checkpoint") == old and old.exists()
    (tmp_path / "checkpoint").mkdir()
    assert last_complete(tmp_path / "checkpoint") == tmp_path / "checkpoint"
    assert not old.exists()


def test_a_model_without_results_is_not_a_finished_training(tmp_path):
    from dialeval.training.output import is_trained

    (tmp_path / "generator.json").write_text("{}")
    (tmp_path / "checkpoint").mkdir()
    assert not is_trained(tmp_path) and (tmp_path / "checkpoint").exists()
    (tmp_path / "results.json").write_text("{}")
    (tmp_path / ".checkpoint.trash").mkdir()
    assert is_trained(tmp_path)
    assert not list(tmp_path.glob("*checkpoint*"))


@pytest.mark.parametrize("content", ["null", "[]", "5", '"x"', "{", "[" * 100_000])
def test_a_card_is_not_written_from_damaged_results(tmp_path, content):
    from dialeval.hub.kinds import recognise

    write_zero_shot(tmp_path / "zero")
    recognise(tmp_path / "zero")
    (tmp_path / "zero" / "results.json").write_text(content)
    with pytest.raises(BadInput, match=r"results.json.*expected (an object|JSON)"):
        recognise(tmp_path / "zero")


def test_a_second_training_is_refused(tmp_path):
    with RunFolder(tmp_path / "out").lock():
        with pytest.raises(BadInput, match="another process is writing here"):
            train_discriminator(
                DiscriminatorRun(model="length", output_dir=str(tmp_path / "out")),
                DiscriminatorConfig(),
            )
        assert not list((tmp_path / "out").glob("*.json"))


def test_a_second_generation_is_refused_and_leaves_no_lock(tmp_path):
    passages, path = talk(4), tmp_path / "a.jsonl"
    with Journal(path, "run").lock(), pytest.raises(BadInput, match="another process"):
        generate(load_responder("parrot"), passages, path)
    generate(load_responder("parrot"), passages, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "a.jsonl.run.json"]


def test_a_refused_study_does_not_touch_the_settings_of_the_first(tmp_path):
    folder = RunFolder(tmp_path / "out")
    folder.write_json("run.json", {"first": 1})
    run = RobustnessRun(output_dir=str(folder.path), overwrite=True)
    with folder.lock(), pytest.raises(BadInput, match="another process"):
        robustness(talk(4), [load_responder("parrot")], perturbations("random-swap"), run)
    assert folder.read_json("run.json") == {"first": 1}


def test_a_lock_leaves_no_empty_folder(tmp_path):
    with RunFolder(tmp_path / "out").lock():
        pass
    assert not (tmp_path / "out").exists()
