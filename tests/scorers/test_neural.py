"""The scoring engine: order, batches, cache and folders do not change a score."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, local
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.dialogues.encoding import input_format
from dialeval.models import HierarchicalConfig, HierarchicalDiscriminator
from dialeval.models.batching import token_batches
from dialeval.models.tokenizers import word_tokenizer
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.neural import NeuralScorer
from tests.closeness import assert_close

WORDS = [f"word{n}" for n in range(40)]


@pytest.fixture(scope="module")
def passages():
    rng = np.random.default_rng(0)

    def text():
        return " ".join(rng.choice(WORDS, rng.integers(1, 30)))

    return to_passages(
        Passage((Turn("A", text()), Turn("B", text())), text(), id=f"{n}", dialogue_id=f"{n // 2}")
        for n in range(150)
    )


def make_scorer(**options):
    torch.manual_seed(0)
    tokenizer = word_tokenizer([" ".join(WORDS)], 100)
    model = HierarchicalDiscriminator(
        HierarchicalConfig(vocab_size=len(tokenizer), hidden_size=12, init_range=1.0)
    )
    return NeuralScorer(model, tokenizer, input_format("words"), "tiny", **options)


def test_scores_do_not_depend_on_batches_or_order(passages):
    scores = make_scorer()(passages)
    assert scores.std() > 1e-5
    for max_tokens in (1, 100, 1000):
        assert_close(make_scorer(max_tokens=max_tokens)(passages), scores)
    order = np.random.default_rng(1).permutation(len(passages))
    assert_close(make_scorer()(passages.select(order)), scores[order])
    assert_close(make_scorer()(list(iterate(passages))), scores)


def test_temperature_flattens_and_keeps_the_order(passages):
    sharp, flat = make_scorer()(passages), make_scorer(temperature=3.0)(passages)
    logit = np.log(sharp / (1 - sharp))
    assert_close(np.log(flat / (1 - flat)), logit / 3)


def test_a_saved_scorer_gives_equal_scores_in_a_fresh_process(passages, tmp_path):
    scorer = make_scorer(temperature=2.0)
    save_scorer(scorer, tmp_path / "judge")
    passages.select_columns(["id"])
    from dialeval.dialogues import write_passages

    write_passages(passages, tmp_path / "data.jsonl")
    code = (
        "import dialeval; s = dialeval.load_scorer('judge');"
        "print(*[x.hex() for x in s(dialeval.read_passages('data.jsonl')).tolist()]); "
        "print(s.signature)"
    )
    lines = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    scores = [float.fromhex(word) for word in lines[-2].split()]
    assert_close(scores, scorer(passages))
    assert lines[-1] == scorer.signature


def test_a_cache_remembers_and_survives_a_torn_line(passages, tmp_path):
    path = tmp_path / "cache" / "scores.txt"
    scores = make_scorer(cache=path)(passages)
    lines = path.read_text().splitlines()
    assert len(lines) == len(passages)
    path.write_text("\n".join(lines[:70]) + "\n" + lines[70][:30])

    resumed = make_scorer(cache=path)
    calls = []
    forward = resumed._forward
    resumed._forward = lambda rows: (calls.append(len(rows)), forward(rows))[1]
    assert_close(resumed(passages), scores)
    assert sum(calls) == len(passages) - 70

    other = make_scorer(cache=path)
    with torch.no_grad():
        other.model.classifier.bias[1] += 1.0
    assert not np.allclose(other(passages), scores)  # other weights, other keys


def test_numbers_that_are_none_are_an_error(passages):
    scorer = make_scorer()
    with torch.no_grad():
        scorer.model.classifier.bias.fill_(float("nan"))
    with pytest.raises(BadInput, match="scores that are not numbers.*smaller learning rate"):
        scorer(passages)


def test_swapped_labels_are_refused():
    scorer = make_scorer()
    scorer.model.config.id2label = {0: "human", 1: "machine"}
    with pytest.raises(BadInput, match="labels are {0: machine, 1: human}"):
        NeuralScorer(scorer.model, scorer.tokenizer, scorer.input_format)


def test_foreign_and_broken_folders_say_what_is_missing(tmp_path):
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "weights.bin").write_text("x")
    with pytest.raises(BadInput, match="no scorer.json here, only weights.bin"):
        load_scorer(tmp_path / "foreign")
    save_scorer(make_scorer(), tmp_path / "judge")
    settings = tmp_path / "judge" / "scorer.json"
    content = json.loads(settings.read_text("utf-8"))
    settings.write_text(json.dumps({**content, "training": {"signature": 0.5}}), "utf-8")
    with pytest.raises(BadInput, match=r"`training.signature` has a text"):
        load_scorer(tmp_path / "judge")
    settings.write_text(json.dumps(content), "utf-8")
    (tmp_path / "judge" / "model.safetensors").unlink()
    with pytest.raises(BadInput, match="cannot be loaded"):
        load_scorer(tmp_path / "judge")
    with pytest.raises(BadInput, match="expected a folder or a name on the Hub"):
        load_scorer("nowhere")


def test_an_empty_response_is_scored_with_a_word(caplog):
    scores = make_scorer()([Passage((Turn("A", "word1"),), "")])
    assert np.isfinite(scores).all() and "1 responses are empty" in caplog.text


@pytest.mark.parametrize("limits", [{"max_response": 3}, {"max_length": 3},
                                    {"max_response": 3, "max_length": 50}])  # fmt: skip
def test_a_response_that_is_cut_is_reported_with_the_limit_that_cut_it(limits, caplog):
    scorer = make_scorer()
    scorer.input_format = replace(scorer.input_format, **limits)
    scorer([Passage((Turn("A", "word1"),), "word2 word3 word4 word5")])
    assert "tiny reads at most 3 tokens of a response; 1 of the first 1 were cut" in caplog.text


def test_batches_respect_the_budget_and_lose_nobody():
    lengths = np.random.default_rng(0).integers(1, 60, 500)
    batches = list(token_batches(lengths, 256))
    assert sorted(np.concatenate(batches)) == list(range(500))
    assert all(lengths[batch].max() * len(batch) <= 256 for batch in batches)
    spent = sum(lengths[batch].max() * len(batch) for batch in batches)
    assert lengths.sum() / spent > 0.9


@pytest.fixture
def two_processes(monkeypatch):
    """Runs a function of the number of a process as two processes would, each in a thread."""
    rank, barrier, sent = local(), Barrier(2), {}

    def gather(items):
        sent[rank.number] = list(items)
        barrier.wait(timeout=30)
        everything = [*sent[0], *sent[1]]
        barrier.wait(timeout=30)
        return everything

    monkeypatch.setattr("dialeval.scorers.neural.gather_object", gather)

    def run(work):
        def in_process(number):
            rank.number = number
            return work(number)

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(in_process, range(2)))

    return run


def test_processes_with_different_caches_leave_no_row_out(passages, tmp_path, two_processes):
    scorers = [
        make_scorer(
            accelerator=SimpleNamespace(process_index=number, num_processes=2),
            cache=tmp_path / f"{number}.txt", max_tokens=100, device="cpu",
        )
        for number in range(2)
    ]  # fmt: skip

    def score_twice(number):
        return scorers[number](passages.select(range(100))), scorers[number](passages)

    expected = make_scorer(device="cpu")(passages)
    for first, second in two_processes(score_twice):
        assert_close(first, expected[:100])
        assert_close(second, expected)
