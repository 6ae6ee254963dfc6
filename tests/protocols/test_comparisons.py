"""Evaluators on the same pairs, and decoding strategies under the same evaluators."""

import json
from dataclasses import replace

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import BadInput, Passage, Turn, to_passages, write_passages
from dialeval.models.tokenizers import word_tokenizer
from dialeval.protocols.decodings import DecodingsRun, compare_decodings, spread
from dialeval.protocols.evaluator_comparison import compare_evaluators
from dialeval.reports.generation import decodings_table
from dialeval.reports.training import TrainingProgress, evaluators_table
from dialeval.training import DiscriminatorConfig
from dialeval.training.discriminator_settings import DiscriminatorRun

WORDS = ("tea", "rain", "chess", "trains", "cats", "bread", "snow")


def human(start: int, count: int) -> list[Passage]:
    return [
        Passage(
            (Turn("A", f"do you like {WORDS[n % 7]} {n} ?"),),
            f"yes {WORDS[n % 7]} {WORDS[n % 5]} are fine",
            id=str(n),
            dialogue_id=str(n),
        )
        for n in range(start, start + count)
    ]


@pytest.fixture
def generator(tmp_path):
    tokenizer = word_tokenizer([" ".join(WORDS), "do you like yes are fine ?"])
    torch.manual_seed(0)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    model.save_pretrained(tmp_path / "lm")
    tokenizer.save_pretrained(tmp_path / "lm")
    return str(tmp_path / "lm")


def test_evaluators_learn_from_the_same_pairs_and_are_not_trained_twice(tmp_path, monkeypatch):
    machine = [passage.with_response("beep boop", "bot") for passage in human(0, 200)]
    write_passages(to_passages([*human(0, 200), *machine]), tmp_path / "chat.jsonl")
    run = DiscriminatorRun(["chat.jsonl"], "human_machine", output_dir="run")
    compared = compare_evaluators(run, DiscriminatorConfig(), ["length", "svm-unigram"])
    accuracy = {name: compared[name].get("accuracy", evaluator=name) for name in compared}
    assert accuracy["svm-unigram"].value > 0.95
    assert accuracy["svm-unigram"].n == accuracy["length"].n
    rows = json.loads((tmp_path / "run" / "evaluators.json").read_text())
    assert [row["trained"] for row in rows] == ["length"] * 4 + ["svm-unigram"] * 4
    assert rows[4]["value"] == accuracy["svm-unigram"].value
    assert evaluators_table(compared).row_count == 2

    monkeypatch.setattr("dialeval.protocols.evaluator_comparison.train_discriminator", None)
    assert compare_evaluators(run, DiscriminatorConfig(), ["length", "svm-unigram"]) == compared


def test_an_unknown_evaluator_lists_the_choices():
    with pytest.raises(BadInput, match="minilm"):
        compare_evaluators(DiscriminatorRun(), DiscriminatorConfig(), ["oracle"])


def test_strategies_answer_the_same_contexts_and_evaluators_train_on_others(generator, tmp_path):
    write_passages(to_passages(human(0, 120)), tmp_path / "train.jsonl")
    write_passages(to_passages(human(500, 30)), tmp_path / "test.jsonl")
    run = DecodingsRun(
        generator, ["train.jsonl"], ["test.jsonl"], evaluators=["svm-unigram"],
        decodings=["greedy", "sampling", "mmi-penalty"], test_contexts=20, train_contexts=100,
        max_new_tokens=6, output_dir="run",
    )  # fmt: skip
    rows = compare_decodings(run, DiscriminatorConfig())
    # Without a model of p(t) there is no MMI - p(t).
    assert [row["decoding"] for row in rows] == ["greedy", "sampling"]
    contexts = [
        [json.loads(line)["id"] for line in (tmp_path / "run" / name / "test.jsonl").open()]
        for name in ("greedy", "sampling")
    ]
    assert contexts[0] == contexts[1]
    for row in rows:
        assert row["n"] == 40
        assert 0 <= row["low"] <= row["adversuc"] <= row["high"] <= 1
    assert decodings_table(rows).row_count == 2


def test_evaluators_do_not_train_on_dialogues_of_the_test(generator, tmp_path):
    write_passages(to_passages(human(0, 120)), tmp_path / "train.jsonl")
    write_passages(to_passages(human(100, 20)), tmp_path / "test.jsonl")
    run = DecodingsRun(
        generator, ["train.jsonl"], ["test.jsonl"], evaluators=["svm-unigram"],
        decodings=["greedy"], test_contexts=20, train_contexts=120, max_new_tokens=6,
        output_dir="run",
    )  # fmt: skip
    compare_decodings(run, DiscriminatorConfig())
    learnt, tested = (
        {json.loads(line)["id"] for line in (tmp_path / "run" / "greedy" / name).open()}
        for name in ("train.jsonl", "test.jsonl")
    )
    assert len(learnt) == 100 and len(tested) == 20 and not learnt & tested
    with pytest.raises(BadInput, match="no human passage is left"):
        compare_decodings(replace(run, train=run.test, output_dir="other"), DiscriminatorConfig())


def test_unknown_strategies_list_the_choices(generator, tmp_path):
    write_passages(to_passages(human(0, 40)), tmp_path / "some.jsonl")
    run = DecodingsRun(generator, ["some.jsonl"], ["some.jsonl"], decodings=["oracle"])
    with pytest.raises(BadInput, match="sibling-beam"):
        compare_decodings(run, DiscriminatorConfig())


def test_spread_by_hand():
    diversity = spread(["Yes yes no", "no", "no"])
    assert diversity["distinct_1"] == 2 / 5
    assert diversity["distinct_2"] == 2 / 5  # two bigrams over five words, as Li et al. divide
    assert diversity["tokens"] == pytest.approx(5 / 3)
    assert diversity["most_frequent"] == pytest.approx(2 / 3)
    assert spread([])["distinct_1"] == 0


def test_a_validation_without_samples_prints_no_empty_table(capsys):
    numbers = {"step": 1, "epoch": 0, "total": 1, "validation_loss": 1.0, "perplexity": 2.718}
    with TrainingProgress() as progress:
        progress(numbers)
        progress({**numbers, "samples": [{"context": "hi", "human": "yo", "generator": "hm"}]})
    printed = "".join(capsys.readouterr())
    assert printed.count("perplexity 2.7") == 2 and printed.count("generator") == 1
