"""Evaluators that are not retrained, systems trained against them, and a second human."""

import json
import logging
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

from dialeval.dialogues import BadInput, Pairing, iterate, to_passages
from dialeval.metrics.results import SECOND_HUMAN
from dialeval.protocols.comparison import signature_parts
from dialeval.protocols.evaluation import EvaluationRun, align, evaluate, second_humans
from dialeval.protocols.evaluation.evaluators import fitted_names, resolve_evaluators
from dialeval.protocols.evaluation.frozen import FrozenScorer, evaluator_name, frozen_names
from dialeval.protocols.transfer import OTHERS, transfer
from dialeval.scorers import Decision, save_scorer
from dialeval.scorers.baselines import NEUTRAL, ConstantScorer
from dialeval.scorers.linear import SvmScorer
from tests.protocols.test_evaluation import answers, marked, one, people, twin

GOLD = {"human_human": 0.5, "machine_machine": 0.5, "human_random": 0.0, "human_next": 0.0}


BARE = {"twins": False, "length_matched": False, "normalise": "off"}
"""Without what costs more fits and is tested elsewhere."""


class Counting:
    """Low for humans: the number of words, and how often each passage was scored."""

    name, higher_is_human, signature = "words", False, "words"
    fingerprint = "abc"

    def __init__(self, decision=Decision(7.0)):  # noqa: B008
        self.decision, self.calls = decision, Counter()

    def __call__(self, passages):
        rows = list(iterate(passages))
        keys = ((row.id, row.author, row.response, row.context) for row in rows)
        self.calls.update(keys)
        return np.array([len(row.response.split()) for row in rows], dtype=float)


def quick(folder, **settings) -> EvaluationRun:
    least = {"evaluators": ["length"], "folds": 2, "seeds": 2, "output_dir": str(folder)}
    return EvaluationRun(**{**least, **settings})


def scored(folder, evaluator: str, **wanted) -> list[dict]:
    rows = parquet.read_table(folder / "scores.parquet").to_pylist()
    return [row for row in rows if {"evaluator": evaluator, **wanted}.items() <= row.items()]


def metrics(results, evaluator: str) -> set[str]:
    return {row.metric for row in results.select(evaluator=evaluator)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A bag of words, trained on other dialogues and a system that says `beep`."""
    folder = tmp_path_factory.mktemp("saved") / "judge"
    others = [replace(passage, id=f"o{passage.id}", dialogue_id=f"o{passage.dialogue_id}")
              for passage in people(30)]  # fmt: skip
    pairs = Pairing("human_machine")(to_passages(others), marked(others))
    scorer = SvmScorer.fit(pairs, folds=3)
    save_scorer(scorer, folder)
    return folder, scorer


@pytest.fixture(scope="module")
def data():
    return align(to_passages(people()), {"marked": marked(people()), "twin": twin(people())})


@pytest.fixture(scope="module")
def frozen_run(saved, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frozen")
    return folder, evaluate(data, quick(folder, evaluators=[str(saved[0])], seeds=1))


def test_a_saved_evaluator_is_not_trained_again(saved, frozen_run, data):
    folder, results = frozen_run
    for system in ("marked", "twin"):
        for side, passages in ((1, data.human), (0, data.systems[system])):
            rows = scored(folder, "judge", system=system, scenario="human_machine", label=side)
            expected = dict(zip(passages["id"][:], saved[1](passages), strict=True))
            assert {row["id"]: row["score"] for row in rows} == pytest.approx(expected)
        rows = scored(folder, "judge", system=system, scenario="human_machine")
        wrong = np.mean([(row["score"] >= 0.5) != (row["label"] == 1) for row in rows])
        assert one(results, "adversuc", system, "judge").value == pytest.approx(wrong)
    assert one(results, "adversuc", "marked", "judge").value < 0.05


def test_its_reliability_error_has_another_name(frozen_run):
    folder, results = frozen_run
    assert metrics(results, "judge") == {"adversuc", "human_vs_random", "ere_transfer"}
    for system in ("marked", "twin"):
        result = one(results, "ere_transfer", system, "judge")
        off = []
        for name, gold in GOLD.items():
            answers_of = system if name == "machine_machine" else ""
            wrong = {0: [], 1: []}
            for row in scored(folder, "judge", scenario=name, system=answers_of):
                wrong[row["label"]].append((row["score"] >= 0.5) != (row["label"] == 1))
            off.append(abs((np.mean(wrong[0]) + np.mean(wrong[1])) / 2 - gold))
        assert result.value == pytest.approx(np.mean(off))
        assert result.details["ere_mode"] == "transfer"


def test_signatures_name_the_training_data(frozen_run, saved, data, tmp_path):
    parts = signature_parts(one(frozen_run[1], "adversuc", "twin", "judge").signature)
    expected = {"evaluator": "judge", "trained_on": "others", "folds": "none", "ctx": "1",
             "thr": "0.5", "seed": "0", "n_train": str(saved[1].n // 2), "n": "240"}  # fmt: skip
    assert expected.items() <= parts.items() and {"v", "scikit-learn", "numpy"} <= parts.keys()
    retrained = evaluate(data, quick(tmp_path, folds=3, curve=()))
    for row in retrained.results:
        if row.evaluator:
            names = {"evaluator", "trained_on", "folds", "ctx", "thr", "n_train", "seed", "v"}
            assert names <= signature_parts(row.signature).keys()
    parts = signature_parts(one(retrained, "adversuc", "twin", "length").signature)
    assert (parts["trained_on"], parts["n_train"], parts["folds"]) == ("this system", "80", "3")


def test_contexts_of_several_lengths_are_in_the_signature(tmp_path):
    rows = [replace(passage, context=passage.context * (1 + (number % 2)))
            for number, passage in enumerate(people(following=False))]  # fmt: skip
    results = evaluate(align(to_passages(rows), {"bot": marked(rows)}), quick(tmp_path, curve=()))
    assert "|ctx:1-2|" in one(results, "adversuc", "bot", "length").signature


def test_an_evaluator_that_was_not_trained_here_cannot_say_no(saved, data, tmp_path):
    run = quick(tmp_path, evaluators=[str(saved[0])], seeds=1, curve=())
    results = evaluate(data, run)
    [twin_verdict] = [row for row in results.verdicts if row.system == "twin"]
    assert "no evaluator was trained on this system" in twin_verdict.reservations
    assert twin_verdict.detectable == {} and twin_verdict.verdict == "inconclusive"
    assert not [row for row in results.curves if row.evaluator == "judge"]


def test_other_weights_under_one_name_do_not_replace_results(saved, frozen_run, data):
    folder = frozen_run[0]
    other = saved[0].parent / "other" / "judge"
    save_scorer(ConstantScorer(0.9), other)
    with pytest.raises(BadInput, match="the saved evaluator judge had other weights"):
        evaluate(data, quick(folder, evaluators=[str(other)], seeds=1))


def test_a_scorer_that_is_low_for_humans_changes_its_sign_and_is_called_once(data, tmp_path):
    evaluator = Counting()
    results = evaluate(data, quick(tmp_path), frozen={"words": evaluator})
    assert set(evaluator.calls.values()) == {1}
    rows = scored(tmp_path, "words", system="twin", scenario="human_machine")
    assert all(row["score"] == -len(row["response"].split()) for row in rows)
    assert all(row["predicted_human"] == (len(row["response"].split()) <= 7) for row in rows)
    result = one(results, "adversuc", "twin", "words")
    wrong = [row["predicted_human"] != (row["label"] == 1) for row in rows]
    assert result.value == pytest.approx(np.mean(wrong))
    human, machine = ([row["score"] for row in rows if row["label"] == side] for side in (1, 0))
    area = np.mean([(a > b) + (a == b) / 2 for a in human for b in machine])
    assert result.details["auroc"] == pytest.approx(area)


def test_without_a_threshold_one_human_in_twenty_lies_below(data, tmp_path):
    unset = Decision(0.0, "unset")
    results = evaluate(data, quick(tmp_path, curve=()), frozen={"words": Counting(unset)})
    lengths = sorted(len(text.split()) for text in data.human["response"])
    threshold = lengths[-1 - int(0.05 * 120)]
    below = np.mean([length > threshold for length in lengths])
    rows = scored(tmp_path, "words", system="twin", scenario="human_machine")
    assert all(row["predicted_human"] == (row["score"] >= -threshold) for row in rows)
    assert below <= 0.05
    assert any(
        f"classifies {below:.1%} of the human responses" in text for text in results.warnings
    )
    again = Counting(unset)
    assert evaluate(data, quick(tmp_path, curve=()), frozen={"words": again}).to_dict() == (
        results.to_dict()
    )
    assert not again.calls  # threshold and scores come from the cache


class Surprised(Counting):
    """Another scale without a context, and no threshold."""

    def __call__(self, passages):
        rows = list(iterate(passages))
        return super().__call__(passages) + [50 * (row.context[-1].text == NEUTRAL) for row in rows]


def test_without_contexts_a_chosen_threshold_is_another_one(data, tmp_path):
    frozen = {"words": Surprised(Decision(0.0, "unset"))}
    evaluate(data, quick(tmp_path, curve=()), frozen=frozen)
    rows = scored(tmp_path, "words", system="twin", scenario="human_machine", label=1)
    for name in ("predicted_human", "response_only_predicted_human"):
        assert 0.9 < np.mean([row[name] for row in rows]) <= 1


def test_names_of_evaluators_that_are_not_trained_here(tmp_path, monkeypatch):
    (tmp_path / "x" / "svm-unigram").mkdir(parents=True)
    folder = str(tmp_path / "x")
    assert evaluator_name("owner/judge", fitted_names()) == "owner/judge"
    assert evaluator_name(f"{folder}/svm-unigram", fitted_names()) == "svm-unigram (saved)"
    assert resolve_evaluators([f"mine={folder}", "zero-shot:log-rank", "svm-unigram"]) == [
        "mine", "zero-shot:log-rank", "svm-unigram", "coin", "length"
    ]  # fmt: skip
    assert frozen_names(["svm-unigram", folder], fitted_names()) == {"x": folder}
    with pytest.raises(BadInput, match="Unknown evaluator 'nobody'.*its folder, or zero-shot"):
        frozen_names(["nobody"], fitted_names())
    for texts in ([f"coin={folder}"], [f"={folder}"], [f"a={folder}", "a=owner/judge"]):
        with pytest.raises(BadInput, match="cannot be called"):
            frozen_names(texts, fitted_names())


# The discriminator that a system was trained against.


@pytest.mark.parametrize("given", ["training", "extra"])
def test_a_system_trained_against_the_evaluator_gets_a_warning(given, tmp_path, caplog):
    rows, recorded = people(following=False), {"discriminator_fingerprint": "abc"}
    responses = marked(rows)
    if given == "extra":
        responses = to_passages(replace(passage, extra=recorded) for passage in iterate(responses))
    training = {"bot": recorded} if given == "training" else None
    data = align(to_passages(rows), {"bot": responses, "two": twin(rows)}, training=training)
    with caplog.at_level(logging.WARNING):
        results = evaluate(data, quick(tmp_path, curve=()), frozen={"words": Counting()})
    [warning] = [text for text in results.warnings if "trained against" in text]
    assert warning.startswith("bot: words is the discriminator that the generator was trained")
    assert "trained against" in caplog.text


def test_another_discriminator_gets_no_warning(tmp_path, caplog):
    rows = people(following=False)
    training = {"bot": {"discriminator_fingerprint": ["xyz"]}}
    data = align(to_passages(rows), {"bot": marked(rows)}, training=training)
    results = evaluate(data, quick(tmp_path, curve=()), frozen={"words": Counting()})
    assert not [text for text in results.warnings if "trained against" in text]
    assert "trained against" not in caplog.text


def test_transfer_has_one_row_for_a_saved_evaluator_and_warns_too(saved, monkeypatch, tmp_path):
    rows = people()
    training = {"marked": {"discriminator_fingerprint": "abc"}}
    data = align(to_passages(rows), {"marked": marked(rows)}, training=training)
    matrix = transfer(data, str(saved[0]), folder=tmp_path)
    assert (matrix.evaluator, matrix.trained_on) == ("judge", [OTHERS])
    assert matrix.tested_on == ["random replies", "marked"] and matrix.matrix()[0, 1] > 0.95
    assert "lost" not in matrix.results[1].details and matrix.warnings == []
    parts = signature_parts(matrix.results[1].signature)
    assert (parts["trained_on"], parts["ctx"], parts["thr"]) == (OTHERS, "1", "0.5")
    monkeypatch.setattr("dialeval.protocols.evaluation.frozen.load_scorer", lambda _: Counting())
    [warning] = transfer(data, str(saved[0]), folder=tmp_path).warnings
    assert warning.startswith("marked: judge is the discriminator")


# A second human.


def several(rows, gone=()):
    """The same contexts answered by three people; some have no second one."""
    rng = twin(rows, 5)["response"][:]
    others = [replace(passage.with_response(f"{text} too", "human_3"))
              for passage, text in zip(rows, rng, strict=True)]  # fmt: skip
    second = [row.with_response(text, "human_2") for row, text in zip(rows, rng, strict=True)
              if row.id not in gone]  # fmt: skip
    return to_passages([*others, *second, *rows])


def test_the_first_further_human_is_used():
    rows = people()
    second = second_humans(several(rows, gone=("d0#1",)))
    replies = {passage.id: passage for passage in iterate(second)}
    assert len(replies) == 120 and {row.author for row in replies.values()} == {SECOND_HUMAN}
    assert [key for key, row in replies.items() if row.response.endswith(" too")] == ["d0#1"]
    assert second_humans(to_passages(rows)) is None


def test_a_second_human_has_a_row_and_no_verdict(tmp_path):
    rows = people()
    second = second_humans(several(rows))
    data = align(to_passages(rows), {"marked": marked(rows)}, second)
    run = quick(tmp_path, evaluators=["svm-unigram"], folds=3, seeds=1, curve=(), **BARE)
    results = evaluate(data, run)
    result = one(results, "adversuc", SECOND_HUMAN, "svm-unigram")
    assert result.n == 240 and result.low < 0.5 < result.high
    assert one(results, "machine_vs_random", SECOND_HUMAN, "svm-unigram").n == 240
    assert {row.system for row in results.verdicts} == {"marked"}
    assert set(results.examples) == {"marked"}
    assert one(results, "distinct_1", SECOND_HUMAN, "").n == 120
    rows = scored(tmp_path, "svm-unigram", system=SECOND_HUMAN, scenario="human_machine", label=0)
    assert {row["response"] for row in rows} == set(second["response"][:])


def test_no_context_is_left_out_for_a_second_human(tmp_path):
    rows = people()
    some = second_humans(several(rows)).select(range(90))
    data = align(to_passages(rows), {"marked": marked(rows)}, some)
    results = evaluate(data, quick(tmp_path, curve=()))
    assert one(results, "adversuc", "marked", "length").n == 240
    assert one(results, "adversuc", SECOND_HUMAN, "length").n == 180
    assert (
        "A second human answers 90 of 120 contexts: that row is based on them alone."
        in results.warnings
    )
    few = align(to_passages(rows), {"marked": marked(rows)}, some.select(range(9)))
    assert few.second is None and "9 of 120 contexts: too few for a row." in few.warnings[-1]
    with pytest.raises(BadInput, match="cannot be called 'second human'"):
        align(to_passages(rows), {SECOND_HUMAN: marked(rows)})


def test_extra_of_a_systems_responses_is_kept():
    rows = [replace(passage, extra={"rating": 5}) for passage in people()]
    responses = answers([replace(passage, extra={"rating": 1}) for passage in rows], lambda _: "no")
    data = align(to_passages(rows), {"bot": responses})
    assert {passage.extra["rating"] for passage in iterate(data.systems["bot"])} == {1}
    assert {passage.extra["rating"] for passage in iterate(data.human)} == {5}


def test_the_key_of_a_frozen_scorer_depends_on_its_weights():
    one_, two = (FrozenScorer(Counting(), "words") for _ in range(2))
    assert one_.key == two.key
    two.scorer.fingerprint = "xyz"
    assert FrozenScorer(two.scorer, "words").key != one_.key


@pytest.mark.shared
def test_multireference_dailydialog_has_a_second_human(shared, tmp_path):
    from dialeval.dialogues import ReadOptions, by_author, read
    from dialeval.dialogues.splits import sample_dialogues

    path = shared / "multirefeval" / "multireftest.json"
    everyone, _ = read(str(path), ReadOptions())
    human = sample_dialogues(by_author(everyone, "human"), 60)
    data = align(human, {"hredf": by_author(everyone, "hredf")}, second_humans(everyone))
    results = evaluate(data, quick(tmp_path, curve=()))
    assert one(results, "adversuc", SECOND_HUMAN, "length").n == 120
    json.dumps(results.to_dict(), allow_nan=False)
