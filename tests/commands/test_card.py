"""`dialeval card` after the commands whose work it describes."""

import sys

import pytest
from huggingface_hub import DatasetCard, ModelCard

from dialeval.commands import main
from dialeval.dialogues import write_passages


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    told = capsys.readouterr()
    assert not stop.value.code, told.err
    return told.out


def test_a_trained_judge_has_a_card_with_its_numbers(monkeypatch, capsys, human, tmp_path):
    write_passages(human, "human.jsonl")
    settings = ["--data", tmp_path / "human.jsonl", "--model", "svm-unigram", "--filter", "none"]
    run(monkeypatch, capsys, "train", *settings, "--output_dir", "judge")
    card = run(monkeypatch, capsys, "card", "judge", "--name", "me/judge", "--dataset", "me/talk")
    found = ModelCard(card).data
    assert found.library_name == "dialeval" and found.model_name == "me/judge"
    (accuracy,) = found.eval_results
    assert f"| all | {accuracy.metric_value:.3f} [" in card and "length only" in card
    assert 'dialeval.load_scorer("me/judge")' in card and "trust_remote_code" not in card
    assert str(tmp_path) not in card
    files = run(monkeypatch, capsys, "card", "judge", "--dataset", "me/talk", "--files").split()
    assert files == [".eval_results/me--talk.yaml", "README.md", "model.skops", "results.json",
                     "scorer.json"]  # fmt: skip


def test_an_evaluation_has_a_card_with_its_verdicts(monkeypatch, capsys, human, machine):
    write_passages(human, "human.jsonl")
    write_passages(machine, "bot.jsonl")
    asked = ["--human", "human.jsonl", "--system", "bot=bot.jsonl", "--evaluator", "svm-unigram"]
    run(monkeypatch, capsys, "evaluate", *asked, "--output-dir", "run", "--limit", "60")
    card = run(monkeypatch, capsys, "card", "run")
    assert "**bot** before svm-unigram" in card and "| bot | svm-unigram |" in card
    (config,) = DatasetCard(card).data.configs
    assert config["data_files"] == [{"split": "scores", "path": "scores.parquet"}]


def test_passages_have_a_card_that_counts_them(monkeypatch, capsys, human):
    for name in ("talk.jsonl", "talk.csv", "talk.parquet"):
        write_passages(human, name)
        assert f"| {name} | {len(human)} |" in run(monkeypatch, capsys, "card", name)
