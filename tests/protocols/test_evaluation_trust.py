"""Verdicts of whole runs: leaks are named, twins are blind, a "no" needs power."""

import json
import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import dialeval
from dialeval.dialogues import BadInput, Pairing, Passage, Turn, iterate, to_passages
from dialeval.dialogues.pairing import in_both_classes
from dialeval.dialogues.readers.chitchat import chitchat_path
from dialeval.protocols.evaluation import align, evaluate
from dialeval.protocols.evaluation.evaluators import FitContext, fit_function
from dialeval.protocols.evaluation.folds import scenario_folds, without_contexts
from dialeval.protocols.evaluation.next_turns import next_turns
from dialeval.protocols.evaluation.planted import planted_pairs
from dialeval.protocols.evaluation.study import Study
from dialeval.reports.evaluation.headline import headlines
from dialeval.settings.evaluation import EvaluationRun
from tests.protocols.test_evaluation import Spy, answers, one, people, quick, register_spy


@pytest.fixture(scope="module")
def chats(tmp_path_factory):
    """Real human replies, of 240 dialogues."""
    conversations = json.loads(chitchat_path().read_text("utf-8"))
    path = tmp_path_factory.mktemp("chats") / "some.json"
    path.write_text(json.dumps(dict(islice(conversations.items(), 280))))
    passages = dialeval.read_passages(path).shuffle(seed=1)
    seen, rows = set(), []
    for passage in iterate(passages):
        if passage.dialogue_id not in seen and len(passage.response.split()) > 3:
            seen.add(passage.dialogue_id)
            rows.append(passage)
    return rows[:240]


def written_out(text: str) -> str:
    pairs = {"n't": " not", "'m": " am", "'re": " are", "it's": "it is", "'ve": " have"}
    for short, full in pairs.items():
        text = re.sub(short, full, text, flags=re.I)
    return text


LEAKS = {
    "upper-case letters": str.upper,
    "inner white space": lambda text: text.replace(" ", "  "),
    "written-out contractions": written_out,
    "space before punctuation": lambda text: re.sub(r"\s*([.!?,])", r" \1", text),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_bot_that_only_changes_the_format_is_named_by_its_leak(tmp_path, chats, leak):
    bot = answers(chats, lambda passage: LEAKS[leak](passage.response))
    data = align(to_passages(chats), {"bot": bot})
    run = EvaluationRun(["surface"], folds=3, seeds=1, curve=(), length_matched=False,
                        output_dir=str(tmp_path))  # fmt: skip
    results = evaluate(data, run)
    [verdict] = results.verdicts
    assert leak in {item.name for item in results.leaks}
    assert verdict.verdict != "indistinguishable"
    [flag] = [text for text in verdict.flags if text.startswith("format leak")]
    assert leak in flag and "after normalising both sides the best evaluator's accuracy is" in flag
    [item] = headlines(results)  # the first screen and the terminal
    message = item.text if item.by_format else " ".join(caution.text for caution in item.warnings)
    rule = max(results.leaks, key=lambda row: row.accuracy)
    assert rule.rule in message and f"{100 * rule.accuracy:.0f} of 100" in message
    assert "ormalised" in message and f"{100 * verdict.accuracy:.0f}" in message
    after = one(results, "adversuc_normalised", "bot", "surface").value
    assert after > one(results, "adversuc", "bot", "surface").value
    assert after == pytest.approx(0.5, abs=0.03)  # there is nothing else to detect


def test_a_run_on_the_corpus_of_the_towers_says_that_it_does_without_them(tmp_path, chats):
    human, others = to_passages(chats), to_passages([replace(row, corpus="x") for row in chats])
    for passages, evaluator, expected in (
        (human, "stack", True), (human, "surface", False), (others, "stack", False),
    ):  # fmt: skip
        data = align(passages, {"bot": answers(chats, lambda passage: "fine")})
        study = Study(data, quick(tmp_path / "x", evaluators=[evaluator]))
        assert any("the towers" in text for text in study.collector.warnings) == expected


def test_normalising_is_a_setting(tmp_path, chats):
    bot = answers(chats, lambda passage: passage.response.upper())
    for mode, expected in (("off", 0), ("on", 1)):
        run = quick(tmp_path / mode, evaluators=["surface"], normalise=mode)
        results = evaluate(align(to_passages(chats), {"bot": bot}), run)
        assert len(results.select("adversuc_normalised")) == expected
        assert results.leaks and results.verdicts[0].flags  # the check runs in any case
    with pytest.raises(BadInput, match="unknown value 'maybe' of normalise"):
        EvaluationRun(normalise="maybe")
    with pytest.raises(BadInput, match="the margin is an accuracy above .5"):
        EvaluationRun(margin=0.4)


# Twins.


def test_a_twin_is_trained_and_tested_without_any_context():
    rows = people()
    folds = scenario_folds("human_random", to_passages(rows), None, 3, 0)
    blind = folds.blind_train(0)
    assert {passage.context for passage in iterate(blind)} == {(Turn("A", "…"),)}
    given = folds.train(0)
    for column in ("response", "label", "pair", "dialogue_id"):
        assert blind[column][:] == given[column][:]
    assert without_contexts(given)["scenario"][:] == given["scenario"][:]


def test_the_twin_shows_what_a_response_reveals_and_not_what_the_evaluator_relies_on(tmp_path):
    rows = people()
    bot = answers(rows, lambda passage: f"{passage.response} beep")
    results = evaluate(
        align(to_passages(rows), {"bot": bot}),
        quick(tmp_path, evaluators=["svm-unigram"], twins=True),
    )
    random = one(results, "machine_vs_random", "bot", "svm-unigram")
    assert random.details["response_only_accuracy"] > 0.95  # the marker is in the response
    assert random.details["gap"] == pytest.approx(0.0, abs=0.05)


# Next turns.


def chain(turns: int, dialogues: int = 30) -> list[Passage]:
    """Dialogues that open with "hello" and close with "bye", and in between count."""
    rows = []
    for number in range(dialogues):
        texts = ["hello", *(f"{word} {number}" for word in "abcdefgh"[: turns - 2]), "bye"]
        rows += [
            Passage((Turn("A", texts[at - 1]),), texts[at], id=f"{number}#{at}",
                    dialogue_id=str(number), following=texts[at + 1] if at + 1 < turns else None)
            for at in range(1, turns)
        ]  # fmt: skip
    return rows


def test_matched_positions_leave_out_turns_that_only_one_class_has():
    rows = to_passages(chain(7))
    plain = Pairing("human_next")(rows)
    by_label = {label: {p.response.split()[0] for p, at in zip(iterate(plain), plain["label"],
                                                               strict=True) if at == label}
                for label in (0, 1)}  # fmt: skip
    assert "a" in by_label[1] - by_label[0] and "bye" in by_label[0] - by_label[1]
    matched = Pairing("human_next", match_position=True)(rows)
    texts = {passage.response.split()[0] for passage in iterate(matched)}
    assert texts == {"b", "c", "d", "e"}  # neither the first reply nor the last turn
    assert in_both_classes(rows).sum() == len(matched) // 2 == 3 * 30


@pytest.mark.shared
def test_a_blind_twin_is_near_chance_on_matched_positions_of_real_dialogues(shared):
    """In DailyDialog the position of a turn gives it away; matching removes most of that."""
    passages = dialeval.read_passages(shared / "dailydialog" / "dialogues_test.txt").select(
        range(2_500)
    )
    accuracy = {}
    for scenario in ("human_next", "human_next_matched"):
        folds = scenario_folds(scenario, passages, None, 3, 0)
        correct = []
        for number, test in enumerate(folds):
            scorer = fit_function("surface")(folds.blind_train(number), 0, FitContext())
            predicted = scorer(without_contexts(test)) >= 0.5
            correct += (predicted == (np.asarray(test["label"]) == 1)).tolist()
        accuracy[scenario] = np.mean(correct)
    assert accuracy["human_next_matched"] < 0.53 and accuracy["human_next_matched"] > 0.47
    assert accuracy["human_next"] > accuracy["human_next_matched"]


@pytest.mark.parametrize(
    ("context", "following", "source", "count"),
    [(1, True, "following", 60), (2, False, "context", 60), (1, False, "none", 0),
     (2, True, "following", 60)],
)  # fmt: skip
def test_next_turns_come_from_the_data_or_from_inside_the_contexts(
    context, following, source, count
):
    rows = [
        replace(passage, context=tuple(Turn("A", f"{at} {passage.id}") for at in range(context)))
        for passage in people(20, following=following)
    ]
    turns = next_turns(to_passages(rows), needed=50)
    assert (turns.source, turns.count) == (source, count)
    if source == "context":
        first = next(iter(iterate(turns.passages)))
        assert [turn.text for turn in first.context] == [f"0 {rows[0].id}"]
        assert (first.response, first.following) == (f"1 {rows[0].id}", rows[0].response)


# Planted differences.


def test_planted_pairs_are_a_share_of_pairs_and_a_coin_for_the_rest():
    rows = people(60)
    bot = answers(rows, lambda passage: "beep")
    [pairs] = [folds.train(0) for folds in [scenario_folds("human_machine", to_passages(rows), bot,
                                                           2, 0)]]  # fmt: skip
    planted = planted_pairs(pairs, 0.2, seed=0)
    n = len(pairs) // 2
    authors, labels = np.array(planted["author"][:]), np.array(planted["label"])
    assert (authors == "bot").sum() == round(0.2 * n) and len(planted) == 2 * n
    assert set(labels[authors == "bot"]) == {0}
    numbers = np.array(planted["pair"])
    of_planted = np.isin(numbers, numbers[authors == "bot"])
    assert set(labels[of_planted & (authors == "human")]) == {1}
    coins = labels[~of_planted].reshape(-1, 2)  # a pair has the human reply twice
    assert 0.35 < coins.mean() < 0.65  # either class for a reply that is human either way
    assert 0.25 < (coins[:, 0] == coins[:, 1]).mean() < 0.75  # two coins, not one
    assert set(authors[~of_planted]) == {"human"}
    assert planted_pairs(pairs, 0.2, seed=0)["label"][:] == planted["label"][:]
    assert planted.features == pairs.features


def test_a_run_of_few_contexts_says_that_it_would_have_noticed_nothing(tmp_path, chats):
    """Replies of other people are no machine, but so few contexts cannot show it."""
    rows = chats[:60]
    shifted = [chats[(at + 60) % 120].response for at in range(60)]
    bot = to_passages(p.with_response(text, "bot") for p, text in zip(rows, shifted, strict=True))
    run = quick(tmp_path, evaluators=["surface"])
    [verdict] = evaluate(align(to_passages(rows), {"bot": bot}), run).verdicts
    assert verdict.verdict == "inconclusive"
    assert verdict.detectable == {"random human replies": None}
    assert any(
        "not certain that this run would have noticed" in reason for reason in verdict.reservations
    )
    assert any("read the context" in reason for reason in verdict.reservations)


# Relevance.


def test_relevance_is_measured_by_evaluators_that_read_the_context_only(monkeypatch, tmp_path):
    class Reader(Spy):
        def score(self, passage):
            return 0.9 if passage.response.split()[-1] in passage.context[-1].text else 0.1

    register_spy(monkeypatch)
    register_spy(monkeypatch, "reader", Reader)
    rows = people()
    on_topic = answers(rows, lambda passage: f"yes {passage.context[-1].text.split()[-1]}", "on")
    off_topic = answers(rows, lambda passage: "no elephants", "off")
    data = align(to_passages(rows), {"on": on_topic, "off": off_topic})
    results = evaluate(data, quick(tmp_path, evaluators=["reader", "spy"]))
    assert one(results, "relevance", "on", "reader").value == pytest.approx(1.0)
    assert one(results, "relevance", "off", "reader").value < 0.05
    assert not results.select("relevance", "on", "spy")  # its control is .5
    assert {row.system: row.relevance for row in results.verdicts}["on"] == pytest.approx(1.0)
    again = evaluate(data, quick(tmp_path, evaluators=["reader", "spy"]))  # from the cache
    assert again.to_dict() == results.to_dict()
