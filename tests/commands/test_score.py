"""`dialeval train` and `dialeval score` as a user runs them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from dialeval.commands import main

TALK = "".join(
    " ".join(f"word{(number * 7 + turn) % 40} of talk {number} . __eou__" for turn in range(4))
    + "\n"
    for number in range(150)
)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def scores(path):
    return [json.loads(line)["score"] for line in path.read_text().splitlines()]


@pytest.fixture
def discriminator(monkeypatch, capsys, write, tmp_path):
    data = write("talk.txt", TALK)
    settings = ["--data", data, "--model", "hierarchical", "--hidden_size", 8, "--filter", "none"]
    settings += ["--epochs", 1, "--output_dir", "discriminator"]
    code, out, err = run(monkeypatch, capsys, "train", *settings)
    assert code == 0, err
    assert "Held-out accuracy" in out and "length only" in out and "epoch 1:" in err
    return tmp_path / "discriminator"


def test_train_then_score(discriminator, monkeypatch, capsys, tmp_path):
    arguments = ["score", "--discriminator", discriminator, "--data", "talk.txt"]
    code, _, err = run(monkeypatch, capsys, *arguments, "--cache", "cache.txt")
    assert code == 0 and "classified as human" in err and "disc:hierarchical" in err
    records = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text().splitlines()]
    assert len(records) == 450
    assert all(0 < record["score"] < 1 and record["tokens"] > 5 for record in records)
    assert all(record["tokens_cut"] == 0 for record in records)
    threshold = json.loads((discriminator / "scorer.json").read_text())["decision"]["threshold"]
    assert all(r["predicted_human"] == (r["score"] >= threshold) for r in records)

    code, _, _ = run(monkeypatch, capsys, *arguments, "--cache", "cache.txt", "-o", "again.jsonl")
    np.testing.assert_allclose(scores(tmp_path / "again.jsonl"), scores(tmp_path / "scored.jsonl"))


def test_two_processes_give_the_scores_of_one(discriminator, monkeypatch, capsys, tmp_path):
    arguments = [
        "score",
        "--discriminator",
        str(discriminator),
        "--data",
        "talk.txt",
        "--max-tokens",
        "200",
    ]
    run(monkeypatch, capsys, *arguments)
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu"]
    launcher += ["--num_processes", "2", "--main_process_port", "0", "-m", "dialeval"]
    done = subprocess.run(
        [*launcher, *arguments, "-o", "two.jsonl"],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    one, two = scores(tmp_path / "scored.jsonl"), scores(tmp_path / "two.jsonl")
    assert len(one) == len(two) == 450
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_an_earlier_checkpoint_is_not_overwritten(discriminator, monkeypatch, capsys, tmp_path):
    (tmp_path / "other" / "checkpoint").mkdir(parents=True)
    settings = ["--data", "talk.txt", "--model", "rnn", "--filter", "none", "--output_dir", "other"]
    code, _, err = run(monkeypatch, capsys, "train", *settings)
    assert code == 2 and "--resume" in err and "checkpoint" in err


def test_a_folder_that_is_no_scorer_is_named(discriminator, monkeypatch, capsys, tmp_path):
    (discriminator / "scorer.json").unlink()
    code, _, err = run(monkeypatch, capsys, "score", "-d", discriminator, "--data", "talk.txt")
    assert code == 2 and "no scorer.json here" in err and "Traceback" not in err


def test_a_misspelt_setting_is_refused(monkeypatch, capsys):
    code, _, err = run(monkeypatch, capsys, "train", "--lerning_rate", "3")
    assert code == 2 and "No such option: --lerning-rate" in err and "--learning-rate" in err
    code, _, err = run(monkeypatch, capsys, "train", "--config", "nowhere.yaml")
    assert code == 2 and "no config 'nowhere.yaml'" in err and "li2017" in err
