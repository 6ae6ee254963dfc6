"""`dialeval card` after the commands whose results it describes."""

import sys
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard, ModelCard

from dialeval.commands import main
from dialeval.dialogues import write_passages
from dialeval.scorers.seen import SEEN


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    return printed.out


def test_a_trained_discriminator_has_a_card_with_its_numbers(monkeypatch, capsys, human, tmp_path):
    write_passages(human, "human.jsonl")
    settings = ["--data", tmp_path / "human.jsonl", "--model", "svm-unigram", "--filter", "none"]
    run(monkeypatch, capsys, "train", *settings, "--output_dir", "svm")
    card = run(monkeypatch, capsys, "card", "svm", "--name", "me/svm", "--dataset", "me/talk")
    metadata = ModelCard(card).data
    assert metadata.library_name == "dialeval" and metadata.model_name == "me/svm"
    (accuracy,) = metadata.eval_results
    assert f"| all | {accuracy.metric_value:.3f} [" in card and "length only" in card
    assert 'dialeval.load_scorer("me/svm")' in card and "trust_remote_code" not in card
    assert str(tmp_path) not in card
    printed = run(monkeypatch, capsys, "card", "svm", "--dataset", "me/talk", "--files")
    files, _, left_out = printed.partition("left out")
    assert files.split() == [".eval_results/me--talk.yaml", "README.md", "model.skops",
                             "results.json", "scorer.json"]  # fmt: skip
    assert SEEN in left_out and Path("svm", SEEN).is_file()


def test_an_evaluation_has_a_card_with_its_verdicts(monkeypatch, capsys, human, machine):
    write_passages(human, "human.jsonl")
    write_passages(machine, "bot.jsonl")
    options = ["--human", "human.jsonl", "--system", "bot=bot.jsonl", "--evaluator", "svm-unigram"]
    run(monkeypatch, capsys, "evaluate", *options, "--output-dir", "run", "--limit", "60")
    card = run(monkeypatch, capsys, "card", "run")
    assert "**bot**: distinguishable. svm-unigram" in card and "| bot | svm-unigram |" in card
    (config,) = DatasetCard(card).data.configs
    assert config["data_files"] == [{"split": "scores", "path": "scores.parquet"}]


def test_passages_have_a_card_that_counts_them(monkeypatch, capsys, human):
    for name in ("talk.jsonl", "talk.csv", "talk.parquet"):
        write_passages(human, name)
        assert f"| {name} | {len(human)} |" in run(monkeypatch, capsys, "card", name)
