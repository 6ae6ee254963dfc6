"""Two piles of conversations: detection, controls of the topic, verdicts, bad input."""

import random
import zlib
from dataclasses import dataclass, replace

import numpy as np
import pandas
import pyarrow as pa
import pytest

import dialeval
from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
)
from dialeval.metrics.results import versions
from dialeval.metrics.unpaired_results import CONFOUNDED, UnpairedResults
from dialeval.protocols.evaluation.frozen import FrozenScorer
from dialeval.protocols.unpaired import evaluate_piles, make_piles, shares_contexts
from dialeval.protocols.unpaired.findings import pile_verdicts
from dialeval.protocols.unpaired.piles import pair_piles
from dialeval.protocols.unpaired.scoring import Accuracy, pile_test
from dialeval.protocols.unpaired.verdict import Piled, PileReading, pile_verdict
from dialeval.scorers import Decision
from dialeval.scorers.baselines import NEUTRAL
from dialeval.settings.evaluation import EvaluationRun

COMMON = ["i", "you", "we", "it", "was", "nice", "and", "then", "maybe", "so", "to", "the", "old"]
SPORT = ["football", "goal", "match", "team", "coach", "player", "league", "stadium"]
COOKING = ["recipe", "oven", "salt", "dinner", "pasta", "soup", "kitchen", "flour"]


def pile(topic, seed, dialogues=40, author="human", style=None):
    """Conversations in which both sides talk about a topic."""
    rng = random.Random(seed)

    def turn(words):
        return " ".join(rng.choice(words) if rng.random() < 0.3 else rng.choice(COMMON)
                        for _ in range(10))  # fmt: skip

    passages = []
    for number in range(dialogues):
        for at in range(5):
            context = (Turn("partner", turn(topic)),)
            response = turn(topic) if style is None else style(turn(topic))
            key = f"{author}-{seed}-{number}"
            passages.append(
                Passage(context, response, author, f"{key}#{at}", key, speaker="evaluated")
            )
    return to_passages(passages)


def evaluated(human, system, folder):
    run = EvaluationRun(evaluators=["surface"], seeds=1, folds=3, output_dir=str(folder))
    return evaluate_piles(make_piles(human, {"bot": system}), run)


def test_two_human_piles_on_different_topics_are_not_called_distinguishable(tmp_path):
    results = evaluated(pile(SPORT, 1), pile(COOKING, 2, author="bot"), tmp_path)
    verdict = results.verdicts[0]
    assert verdict.p_value < 0.05 and verdict.accuracy > 0.6  # the piles do differ
    assert verdict.verdict == CONFOUNDED and "topic" in verdict.text
    assert results.get("topic_control", "bot", "surface").value > 0.6


def test_a_style_on_the_same_topic_is_distinguishable(tmp_path):
    loud = pile(SPORT, 2, author="bot", style=lambda text: f"Well, {text.upper()}!")
    results = evaluated(pile(SPORT, 1), loud, tmp_path)
    assert results.verdicts[0].verdict == DISTINGUISHABLE
    assert results.get("topic_control", "bot", "surface").value < 0.6
    assert results.get("dialogue_accuracy", "bot", "surface").value > 0.95
    assert UnpairedResults.load(tmp_path) == results


def test_equal_piles_are_inconclusive_without_a_positive_control(tmp_path):
    results = evaluated(pile(SPORT, 1), pile(SPORT, 2, author="bot"), tmp_path)
    assert results.verdicts[0].verdict == INCONCLUSIVE


def test_common_openers_do_not_make_piles_paired():
    human, system = pile(SPORT, 1), pile(SPORT, 2, author="bot")
    assert not shares_contexts(human, {"bot": system})
    assert shares_contexts(human, {"bot": human})


def test_a_pile_of_one_dialogue_is_refused():
    with pytest.raises(BadInput, match="the pile of bot has 1 dialogue with 5"):
        make_piles(pile(SPORT, 1), {"bot": pile(SPORT, 2, dialogues=1, author="bot")})


def test_a_pile_that_repeats_the_human_one_is_refused():
    human = pile(SPORT, 1)
    with pytest.raises(BadInput, match="the two piles overlap"):
        pair_piles(human, human, "bot")


def test_dialogues_with_a_shared_long_context_are_held_out_together():
    human = pile(SPORT, 1)
    turns = [human[0]["context"][0]["text"]]
    other = Passage((Turn("partner", turns[0]),), "something else", "bot", "x#1", "x", speaker="e")
    system = to_passages([other, Passage((Turn("p", "hi"),), "yo", "bot", "y#1", "y", speaker="e")])
    piles = pair_piles(human, system, "bot")
    assert piles.units["system/x"] == piles.units["human/human-1-0"]
    assert piles.units["system/y"] == "system/y"


@pytest.mark.parametrize(
    ("control", "control_p", "expected"),
    [(0.5, 0.6, DISTINGUISHABLE), (0.5, 0.001, CONFOUNDED), (0.89, 0.001, CONFOUNDED)],
)
def test_a_control_that_explains_the_difference_is_named(control, control_p, expected):
    reading = PileReading(
        "svm", Accuracy(0.9, 0.88, 0.92, 100), 0.001, style_p=0.001, control_p=control_p,
        control=Accuracy(control, control - 0.02, control + 0.02, 100),
    )  # fmt: skip
    assert pile_verdict("bot", [reading], Piled(50, 50)).verdict == expected


def test_no_sentence_says_that_there_is_nothing_where_nothing_was_shown():
    unsure = PileReading(
        "svm", Accuracy(0.8, 0.72, 0.88, 100), 0.001, style_p=0.001, control_p=0.06,
        control=Accuracy(0.68, 0.6, 0.76, 100),
    )  # fmt: skip
    text = pile_verdict("bot", [unsure], Piled(50, 50)).text
    assert "by svm (p = .060): nothing shows that the partners reveal the pile." in text
    assert text.endswith(
        "the responses may reveal no more than the partners' turns alone: the interval of the ones "
        "begins at 72.0 %, that of the others ends at 76.0 %."
    )


def scored(rows) -> pa.Table:
    """Scores of dialogues of one turn: unit, label and score of each."""
    units, labels, scores = zip(*rows, strict=True)
    names = [f"dialogue {number}" for number in range(len(rows))]
    columns = {"dialogue_id": names, "unit": units, "label": labels, "score": scores}
    return pa.table(columns)


def test_dialogues_that_share_a_context_count_once():
    rng = np.random.default_rng(0)
    alone = [(f"alone {n}", int(n < 10), rng.normal(0.5, 0.1)) for n in range(40)]
    shared = [("shared", 1, rng.normal(0.8, 0.05)) for _ in range(30)]  # by their context
    assert pile_test(scored([*alone, *shared, ("shared", 0, 0.8)]), 0) > 0.1
    apart = [(f"apart {n}", label, score) for n, (_, label, score) in enumerate(shared)]
    assert pile_test(scored([*alone, *apart]), 0) < 0.001


@dataclass(frozen=True)
class Found:
    """Numbers about one system, without their tables."""

    readings: list[PileReading]
    size: int = 50

    def sizes(self):
        return 50, self.size

    def piled(self, detected):
        return Piled(*self.sizes(), detected=tuple(detected))


def reading(value, p_value, control=0.5, control_p=0.6):
    near = Accuracy(control, control - 0.02, control + 0.02, 100)
    return PileReading("svm", Accuracy(value, value - 0.02, value + 0.02, 100), p_value,
                       style_p=0.001, control_p=control_p, control=near)  # fmt: skip


@pytest.mark.parametrize(
    ("other", "size", "expected"),
    [
        (reading(0.9, 0.001), 50, INDISTINGUISHABLE),
        (reading(0.9, 0.001), 51, INCONCLUSIVE),  # found with more dialogues than the bot has
        (reading(0.9, 0.001, control=0.89, control_p=0.001), 50, INCONCLUSIVE),  # by its topic
    ],
)
def test_only_a_machine_on_the_same_topic_is_a_positive_control(other, size, expected):
    findings = {"bot": Found([reading(0.5, 0.6)]), "other": Found([other], size)}
    assert pile_verdicts(findings, 0.55)[0].verdict == expected


class Surprise:
    """A scorer whose scale depends on whether it sees a context, and which has no threshold."""

    kind, name, signature, higher_is_human = "surprise", "surprise", "surprise", True
    decision = Decision(0.0, "unset")

    def __call__(self, passages):
        return np.array([
            len(set(passage.response)) + zlib.crc32(passage.response.encode()) / 2**32
            + 100 * (passage.context[-1].text != NEUTRAL)
            for passage in iterate(passages)
        ])  # fmt: skip


def test_a_threshold_fits_what_an_evaluator_reads(tmp_path, monkeypatch):
    load = lambda name, where: FrozenScorer(Surprise(), name)  # noqa: E731
    monkeypatch.setattr("dialeval.protocols.unpaired.study.load_frozen", load)
    run = EvaluationRun(evaluators=["zero-shot"], seeds=1, folds=3, output_dir=str(tmp_path))
    results = evaluate_piles(
        make_piles(pile(SPORT, 1), {"bot": pile(SPORT, 2, author="bot")}), run
    )  # fmt: skip
    scores = pandas.read_parquet(tmp_path / "scores.parquet")
    human = scores[scores.label == 1]
    for view in ("response", "partner"):
        assert human[human.scenario == view].predicted_human.mean() == pytest.approx(0.95, abs=0.01)
    assert any("classifies 5.0% of the human responses" in text for text in results.warnings)


def test_tables_of_another_version_are_not_used_again(tmp_path, monkeypatch):
    human, system = pile(SPORT, 1, dialogues=12), pile(SPORT, 2, dialogues=12, author="bot")
    evaluated(human, system, tmp_path)
    tables = set((tmp_path / "cache").iterdir())
    evaluated(human, system, tmp_path)
    assert set((tmp_path / "cache").iterdir()) == tables
    newer = {**versions(), "dialeval": "99.0"}
    monkeypatch.setattr("dialeval.protocols.unpaired.study.versions", lambda: newer)
    evaluated(human, system, tmp_path)
    assert len(set((tmp_path / "cache").iterdir())) == 2 * len(tables)


def test_tables_of_the_same_texts_by_other_speakers_are_not_used_again(tmp_path):
    sides = pile(SPORT, 1, dialogues=15), pile(COOKING, 2, dialogues=15, author="bot")
    controls = []
    for speakers in (("evaluated", "partner"), ("partner", "evaluated")):
        human, system = (
            to_passages(
                replace(p, context=(Turn(speakers[0], "so what"), replace(p.context[0],
                        speaker=speakers[1]))) for p in iterate(side)
            )
            for side in sides
        )  # fmt: skip
        results = evaluated(human, system, tmp_path)
        [control] = results.select("topic_control")
        controls.append(control.value)
    assert controls[0] > 0.8 and controls[1] == 0.5  # "so what" has no topic


def test_a_difference_in_rare_words_alone_may_be_the_topic():
    reading = PileReading(
        "svm", Accuracy(0.9, 0.88, 0.92, 100), 0.001, style_p=0.4, control_p=0.6,
        control=Accuracy(0.5, 0.48, 0.52, 100),
    )  # fmt: skip
    assert pile_verdict("bot", [reading], Piled(50, 50)).verdict == CONFOUNDED


def chats(seed, style, count=30):
    """Whole conversations as chat messages, from Python."""
    rng = random.Random(seed)
    talk = lambda: " ".join(rng.choice(COMMON + SPORT) for _ in range(8))  # noqa: E731
    return [
        [{"role": role, "content": style(talk()) if role == "user" else talk()}
         for _ in range(4) for role in ("assistant", "user")]
        for _ in range(count)
    ]  # fmt: skip


def test_piles_of_chat_messages_are_compared_from_python(tmp_path):
    results = dialeval.evaluate(
        chats(1, str), {"sim": chats(2, lambda text: f"Sure! {text}.")}, role="user",
        evaluators="surface", seeds=1, folds=3, output_dir=tmp_path,
    )  # fmt: skip
    assert isinstance(results, UnpairedResults)
    assert results.verdicts[0].verdict == DISTINGUISHABLE
    assert results.verdicts[0].human_dialogues == 30
    assert {trait.name for trait in results.profile} >= {"turns per dialogue", "words per turn"}
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "turns read" in page and "Behaviour: sim" in page and "share matched" in page
    with pytest.raises(BadInput, match="no turn is by 'agent', only by assistant"):
        dialeval.evaluate(chats(1, str), {"sim": chats(2, str)}, role="agent")


def test_a_pile_in_two_languages_and_piles_in_different_ones_are_named():
    english = "I do not know what you think of that, but it is nice to have one."
    german = "Ich weiß nicht, was du meinst, aber das ist auch nicht so wichtig."

    def spoken(texts, name):
        return to_passages(
            Passage((Turn("p", "hi"),), f"{text} {at}", name, f"{name}{at}#1", f"{name}{at}")
            for at, text in enumerate(texts)
        )

    mixed = make_piles(
        spoken([english] * 20 + [german] * 12, "human"), {"bot": spoken([german] * 30, "bot")}
    ).warnings
    assert any("human is in several languages (English 62 %, German 38 %" in text for text in mixed)
    assert any("bot is in another language (German)" in text for text in mixed)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_real_human_piles_on_two_topics_are_not_called_distinguishable(shared, tmp_path, seed):
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    passages = dialeval.read(shared / "dailydialog" / "dialogues_test.txt")[0]
    dialogues: dict[str, list[Passage]] = {}
    for passage in dialeval.iterate(passages):
        dialogues.setdefault(passage.dialogue_id, []).append(passage)
    texts = [
        " ".join([*(turn.text for item in items for turn in item.context), items[-1].response])
        for items in dialogues.values()
    ]
    words = TfidfVectorizer(stop_words="english", min_df=5, sublinear_tf=True).fit_transform(texts)
    points = TruncatedSVD(20, random_state=0).fit_transform(words)[:, 1:]
    topic = KMeans(4, random_state=seed, n_init=5).fit(points).labels_
    largest = np.argsort(-np.bincount(topic))[:2]
    every = list(dialogues.values())
    piles = [
        to_passages(
            replace(item, author=author)
            for at in np.flatnonzero(topic == number)[:120]
            for item in every[at]
            if item.speaker == "B"
        )
        for number, author in zip(largest, ("human", "bot"), strict=True)
    ]  # fmt: skip
    results = evaluated(*piles, tmp_path)
    assert results.verdicts[0].p_value < 0.05  # the topics do differ
    assert results.verdicts[0].verdict != DISTINGUISHABLE
