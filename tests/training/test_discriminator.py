"""From a corpus to a judge: every kind of evaluator, its report, and what is saved."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.dialogues import (
    BadInput,
    Pairing,
    Passage,
    Turn,
    by_author,
    iterate,
    read,
    to_passages,
    write_passages,
)
from dialeval.metrics.training_results import TrainingResults
from dialeval.models.tokenizers import word_tokenizer
from dialeval.protocols.evaluation import EvaluationRun, align, evaluate
from dialeval.protocols.evaluation.frozen import load_frozen
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.joint import JointScorer
from dialeval.scorers.representation import NeuralRepresentation
from dialeval.training import DiscriminatorConfig
from dialeval.training.discriminator import train_discriminator
from dialeval.training.discriminator_settings import DiscriminatorRun
from dialeval.training.pairs import make_pairs, pair_accuracy
from tests.closeness import assert_close, tolerance

TOPICS = ("tea", "rain", "chess", "trains", "cats", "bread")
CONFIG = DiscriminatorConfig(epochs=3, learning_rate=0.02, batch_size=16)


def chat(corpus: str, number: int) -> list[Passage]:
    """A human who keeps to the topic, and a machine that says what it always says."""
    topic = TOPICS[number % len(TOPICS)]
    fields = {"id": f"{corpus}{number}", "dialogue_id": f"{corpus}{number}", "corpus": corpus}
    context = (Turn("A", f"do you like {topic} number {number} of {corpus} ?"),)
    return [
        Passage(context, f"yes i like {topic} {number} a lot", **fields),
        Passage(context, f"i am a machine {number % 3}", "bot", **fields),
    ]


@pytest.fixture
def files(tmp_path):
    for corpus in ("one", "two"):
        made = [passage for number in range(150) for passage in chat(corpus, number)]
        write_passages(to_passages(made), tmp_path / f"{corpus}.jsonl")
    return [str(tmp_path / f"{corpus}.jsonl") for corpus in ("one", "two")]


@pytest.fixture
def language_model(tmp_path):
    tokenizer = word_tokenizer(f"do you like {topic} number yes i a lot am machine"
                               for topic in TOPICS)  # fmt: skip
    torch.manual_seed(0)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids)).save_pretrained(
        tmp_path / "lm"
    )
    tokenizer.save_pretrained(tmp_path / "lm")
    return str(tmp_path / "lm")


def run_of(files, tmp_path, **settings):
    return DiscriminatorRun(
        data=files, scenario="human_machine", hidden_size=8, output_dir=str(tmp_path / "run"),
        **settings,
    )  # fmt: skip


@pytest.mark.parametrize("model", ["rnn", "svm-unigram"])
@pytest.mark.parametrize("tune", ["lora", "head"])
def test_a_part_of_a_model_that_is_no_transformer_is_not_trained(files, tmp_path, model, tune):
    with pytest.raises(BadInput, match=f"--tune {tune} is for transformers, but the model is"):
        train_discriminator(run_of(files, tmp_path, model=model, tune=tune), CONFIG)
    with pytest.raises(BadInput, match="`tune` is one of full, lora, head, but got 'half'"):
        run_of(files, tmp_path, tune="half")


def test_accuracy_over_pairs_by_hand():
    human = to_passages(row for number in range(4) for row in chat("one", number)[:1])
    machine = to_passages(row for number in range(4) for row in chat("one", number)[1:])
    pairs = Pairing("human_machine")(human, machine)
    by_pair = {(0, 1): 0.9, (0, 0): 0.1, (1, 1): 0.2, (1, 0): 0.8, (2, 1): 0.5, (2, 0): 0.5,
               (3, 1): 0.7, (3, 0): 0.6}  # fmt: skip
    keys = zip(pairs["pair"], pairs["label"], strict=True)
    value, low, high, count = pair_accuracy(np.array([by_pair[key] for key in keys]), pairs)
    assert (value, count) == (2.5 / 4, 4)
    assert 0 < low < value < high <= 1


@pytest.mark.parametrize("setting", ["prefixes", "all_prefixes"])
def test_a_discriminator_remembers_that_it_learnt_from_prefixes(files, tmp_path, setting):
    run = run_of(files, tmp_path, model="rnn")
    train_discriminator(run, replace(CONFIG, epochs=1, max_steps=2, **{setting: True}))
    assert load_scorer(run.output_dir).training["prefixes"] is True


def test_several_corpora_are_trained_on_together_and_reported_apart(files, tmp_path):
    results = train_discriminator(run_of(files, tmp_path, model="svm-unigram"), CONFIG)
    rows = results.select("accuracy", evaluator="svm-unigram")
    assert [row.details["corpus"] for row in rows] == ["", "one", "two"]
    assert rows[0].n == rows[1].n + rows[2].n
    for row in rows:
        assert 0.9 < row.value <= 1.0
    assert TrainingResults.load(tmp_path / "run") == results


def test_a_saved_evaluator_says_that_it_was_trained_on_the_passages_that_it_evaluates(
    files, tmp_path
):
    run = run_of(files[:1], tmp_path, model="svm-unigram")
    train_discriminator(run, CONFIG)
    saved = load_frozen("mine", run.output_dir)
    passages = [by_author(read(name)[0], "human") for name in files]
    cut = to_passages(replace(p, context=(Turn("B", "well"), *p.context))
                      for p in iterate(passages[0]))  # fmt: skip
    for known in (passages[0], cut):  # however many turns are read
        assert " of these 150 human passages" in saved.check_seen(known)
    assert saved.check_seen(passages[1]) == ""
    test = make_pairs(run, CONFIG.seed)["test"]
    assert saved.check_seen(test.select(np.flatnonzero(np.array(test["label"]) == 1))) == ""
    data = align(read(files[0])[0], {"bot": by_author(read(files[0])[0], "bot")})
    settings = EvaluationRun([f"mine={run.output_dir}"], seeds=1, folds=2, curve=(), twins=False,
                             length_matched=False, output_dir=str(tmp_path / "out"))  # fmt: skip
    warnings = evaluate(data, settings).warnings
    assert any(text.startswith("mine was trained on ") for text in warnings)


KINDS = (
    "hierarchical", "concat", "attention", "rnn", "transformer", "svm-unigram", "svm-response",
    "svm-features", "zero-shot", "length",
)  # fmt: skip
ASK = """
import json, sys
from dialeval.dialogues import read
from dialeval.scorers import load_scorer
passages, _ = read(sys.argv[1])
print(json.dumps({name: load_scorer(name)(passages).tolist() for name in sys.argv[2:]}))
"""


def test_every_kind_scores_the_same_in_a_fresh_process(files, tmp_path, language_model):
    passages, _ = read(files[0])
    for model in KINDS:
        run = run_of(
            files, tmp_path, model=model, forward=language_model, backward=language_model,
            backbone=language_model, input_format="words", measure="log-rank", max_pairs=60,
            max_eval_pairs=20,
        )  # fmt: skip
        results = train_discriminator(replace(run, output_dir=model), CONFIG)
        assert len(results.results) == 12  # it and three baselines, in all and by corpus
    scorers = {model: load_scorer(model) for model in KINDS}
    save_scorer(JointScorer(scorers["hierarchical"], scorers["rnn"]), "joint")
    here = {name: load_scorer(name)(passages) for name in (*KINDS, "joint")}
    assert all(np.ptp(scores) > 0 for scores in here.values())
    done = subprocess.run(
        [sys.executable, "-c", ASK, files[0], *here], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    there = json.loads(done.stdout.splitlines()[-1])
    for name, scores in here.items():
        np.testing.assert_allclose(
            there[name], scores, rtol=0, atol=tolerance(np.abs(scores).max()), err_msg=name
        )


def test_features_are_named_and_weigh_in(files, tmp_path, language_model):
    run = run_of(files, tmp_path, model="svm-features", forward=language_model)
    train_discriminator(run, CONFIG)
    scorer = load_scorer(tmp_path / "run")
    assert list(scorer.features) == ["forward"]
    assert isinstance(scorer.represent, NeuralRepresentation)
    assert "forward:lm log-probability" in scorer.signature
    assert scorer.parts["scaler"].n_features_in_ == 1 + scorer.width


def test_a_representation_is_what_the_last_layer_reads(files, tmp_path):
    train_discriminator(run_of(files, tmp_path, model="hierarchical"), CONFIG)
    scorer = load_scorer(tmp_path / "run", device="cpu")
    passages, _ = read(files[0])
    vectors = NeuralRepresentation(scorer)(passages)
    head = scorer.model.classifier
    logits = vectors @ head.weight.detach().numpy().T + head.bias.detach().numpy()
    assert_close(logits[:, 1] - logits[:, 0], scorer.margins(passages))


def test_a_zero_shot_threshold_comes_from_validation(files, tmp_path, language_model):
    run = run_of(files, tmp_path, model="zero-shot", forward=language_model, measure="entropy")
    train_discriminator(run, CONFIG)
    decision = load_scorer(tmp_path / "run").decision
    assert decision.chosen == "validation"
    assert decision.n == len(make_pairs(run, 0)["validation"])


def test_an_unknown_model_lists_the_choices(files, tmp_path):
    with pytest.raises(BadInput, match="svm-features"):
        train_discriminator(run_of(files, tmp_path, model="oracle"), CONFIG)


def test_numbers_reach_a_tracker(files, tmp_path, monkeypatch):
    from accelerate import Accelerator

    seen = []
    monkeypatch.setattr(Accelerator, "log", lambda self, values, step=None: seen.append(values))
    train_discriminator(run_of(files, tmp_path, model="rnn"), CONFIG)
    assert any("loss" in values for values in seen)
    assert any("validation_accuracy" in values for values in seen)


def test_a_filter_says_how_many_passages_it_leaves_out(tmp_path, caplog):
    rows = [row for number in range(60) for row in chat("x", number) if row.author == "human"]
    short = [replace(row, response="ok") for row in rows[:20]]
    write_passages(to_passages([*short, *rows[20:]]), tmp_path / "x.jsonl")
    run = DiscriminatorRun(data=[str(tmp_path / "x.jsonl")], filter="li")
    make_pairs(run, seed=0)
    [text] = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert text == (
        "Filter li: 20 of 60 passages are left out, and 40 remain. --filter none keeps them all."
    )
    caplog.clear()
    make_pairs(replace(run, filter="none"), seed=0)
    assert not caplog.records


def test_pairs_of_one_dialogue_are_no_independent_evidence():
    human = to_passages(
        Passage((Turn("A", f"question {n}"),), f"answer {n}", "human", str(n), f"d{n // 20}")
        for n in range(200)
    )
    pairs = Pairing("human_random", seed=0)(human)
    scores = np.array([n // 20 % 2 for n in map(int, pairs["id"])], dtype=float)
    scores = np.where(np.asarray(pairs["label"]) == 1, scores, 0.5)
    value, low, high, count = pair_accuracy(scores, pairs)
    assert value == 0.5 and count == 200
    assert high - low > 0.5  # 10 dialogues; Wilson's interval of 200 pairs would be .14 wide
