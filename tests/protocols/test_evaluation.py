"""Adversarial evaluation: training data, what is written, and errors on bad input."""

import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.dialogues import BadInput, Passage, Turn, count_tokens, iterate, to_passages
from dialeval.metrics import ere
from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.metrics.results import Result
from dialeval.protocols.evaluation import EvaluationRun, align, evaluate
from dialeval.protocols.evaluation.collector import ResultCollector
from dialeval.protocols.evaluation.crossfit import crossfit
from dialeval.protocols.evaluation.evaluators import EVALUATORS, FitContext, fit_function
from dialeval.protocols.evaluation.folds import Folds, fold_numbers, scenario_folds
from dialeval.protocols.evaluation.measures import accuracy_interval
from dialeval.protocols.evaluation.study import Study
from dialeval.registry import Entry
from dialeval.responders.base import respond
from dialeval.responders.simple import RandomResponder
from dialeval.scorers import Decision
from dialeval.scorers.linear import SvmScorer

TOPICS = ("tea", "rain", "chess", "bread", "trains", "music", "paint", "snow", "ships", "bees")
WORDS = ("i", "we", "you", "often", "like", "see", "know", "really", "never", "always", "maybe")


def reply(rng, topic: str) -> str:
    return " ".join([*rng.choices(WORDS, k=rng.randint(1, 11)), topic])


def people(dialogues: int = 40, turns: int = 3, following: bool = True) -> list[Passage]:
    """Invented dialogues: each stays with its topic, and every turn names it."""
    rng, passages = random.Random(0), []
    for number in range(dialogues):
        turn_texts = [reply(rng, TOPICS[number % 10]) for _ in range(turns + 2)]
        passages += [
            Passage((Turn("A", turn_texts[turn - 1]),), turn_texts[turn], id=f"d{number}#{turn}",
                    dialogue_id=f"d{number}", following=turn_texts[turn + 1] if following else None)
            for turn in range(1, turns + 1)
        ]  # fmt: skip
    return passages


def answers(passages, say, author: str = "bot"):
    return to_passages(passage.with_response(say(passage), author) for passage in passages)


def marked(passages):
    return answers(passages, lambda passage: f"{passage.response} beep")


def twin(passages, seed: int = 1):
    """Another human, as far as anybody can tell."""
    rng = random.Random(seed)
    return answers(passages, lambda passage: reply(rng, passage.context[-1].text.split()[-1]))


@dataclass
class Spy:
    """A judge that remembers what it learnt from and what it judged; `beep` is a machine's."""

    pairs: list[Passage]
    labels: list[int]
    scored: list[list[Passage]] = field(default_factory=list)
    name: str = "spy"
    higher_is_human: bool = True
    decision: Decision = field(default_factory=Decision)
    signature: str = "spy"

    def __call__(self, passages):
        rows = list(iterate(passages))
        if "label" in passages.column_names:  # not read without the true context
            self.scored.append(rows)
        return np.array([self.score(passage) for passage in rows])

    def score(self, passage: Passage) -> float:
        return 0.1 if "beep" in passage.response else 0.9


def register_spy(patch, name: str = "spy", kind: type = Spy) -> list[Spy]:
    """Register a judge; gives all that are fitted from now on."""
    scorers: list[Spy] = []

    def fit(pairs, seed, fit_context):
        scorers.append(kind(list(iterate(pairs)), pairs["label"][:], name=name))
        return scorers[-1]

    patch.setitem(EVALUATORS._entries, name, Entry(name, fit))
    return scorers


def quick(folder, **settings) -> EvaluationRun:
    """The least that an evaluation does."""
    least = {"evaluators": ["spy"], "folds": 2, "seeds": 1, "curve": (), "length_matched": False,
             "twins": False, "normalise": "off"}  # fmt: skip
    return EvaluationRun(**{**least, "output_dir": str(folder), **settings})


def one(results: EvaluationResults, metric: str, system: str, evaluator: str) -> Result:
    [result] = results.select(metric, system, evaluator)
    return result


def read_scores(folder, **wanted) -> list[dict]:
    rows = parquet.read_table(folder / "scores.parquet").to_pylist()
    return [row for row in rows if wanted.items() <= row.items()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """One evaluation with everything in it: two systems, a spy and a support vector machine."""
    folder = tmp_path_factory.mktemp("whole")
    data = align(to_passages(people()), {n: f(people()) for n, f in SYSTEMS.items()})
    steps: list[tuple[int, int, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        spies = register_spy(patch)
        run = EvaluationRun(["svm-unigram", "spy"], folds=3, seeds=2, output_dir=str(folder))
        results = evaluate(data, run, on_progress=lambda *step: steps.append(step))
    return folder, results, spies, steps


SYSTEMS = {"marked": marked, "twin": twin}


# Cross-fitting.


def sources(passages) -> set[str]:
    """Dialogues that passages were cut from, and those that their replies were taken from."""
    dialogues = {passage.dialogue_id for passage in passages}
    return dialogues | {
        passage.source_dialogue_id for passage in passages if passage.source_dialogue_id
    }


def test_no_response_is_judged_by_a_judge_that_saw_its_dialogue(whole):
    _, _, spies, _ = whole
    scored = [(spy, rows) for spy in spies for rows in spy.scored]
    # 4 tables of humans, 3 of each system, one more seed, 2 parts and 1 of like lengths, by folds;
    # halves of the control and of each system; the marked one normalised; planted replies.
    tables = 3 * (4 + 2 * 3 + 2 * 4) + 3 + 3
    blind = [spy for spy in spies if {p.context[-1].text for p in spy.pairs} == {"…"}]
    assert len(blind) == 3 * (2 * 2 + 2)  # two systems and random replies, two kinds of next turns
    planted = len(spies) - len(blind) - tables
    assert 1 <= planted <= 2 * 3  # of random replies and of the marked system, up to three shares
    for spy, rows in scored:
        assert rows and not sources(spy.pairs) & sources(rows)


@dataclass
class Margin(Spy):
    """The same judge by the log odds of machine: low for humans, and 0 is its threshold."""

    higher_is_human: bool = False
    decision: Decision = field(default_factory=lambda: Decision(0.0))

    def score(self, passage: Passage) -> float:
        return -float(np.log(9)) if super().score(passage) > 0.5 else float(np.log(9))


def test_a_judge_may_give_humans_low_scores_and_have_another_threshold(monkeypatch, tmp_path):
    register_spy(monkeypatch, "spy")
    register_spy(monkeypatch, "margin", Margin)
    human = to_passages(people())
    data = align(human, {"marked": marked(people())})
    results = evaluate(data, quick(tmp_path, evaluators=["spy", "margin"], twins=True))
    verdicts = {row.evaluator: row for row in results.select("adversuc", "marked")}
    assert verdicts["margin"].value == verdicts["spy"].value == 0
    names = ("auroc", "pairwise_accuracy", "p_value", "held_out_pairwise_accuracy",
             "response_only_accuracy", "shuffled_context_accuracy")  # fmt: skip
    assert verdicts["spy"].details["auroc"] == 1
    for name in names:
        assert verdicts["margin"].details[name] == verdicts["spy"].details[name]
    for metric in ("human_vs_random", "ere"):
        first, second = (one(results, metric, "marked" if metric == "ere" else "", name).value
                         for name in ("spy", "margin"))  # fmt: skip
        assert first == second


CODE = """
from dialeval import Decision


class Mine:
    name, higher_is_human, decision, signature = "mine", True, Decision(), "mine"

    @classmethod
    def fit(cls, pairs, *, seed=0):
        return cls()

    def __call__(self, passages):
        return [{value} if "beep" in text else 0.9 for text in passages["response"]]
"""


def test_scores_by_code_that_was_edited_are_computed_again(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    human = to_passages(people(20))
    data, values = align(human, {"marked": marked(people(20))}), []
    for number, value in enumerate((0.1, 0.95)):
        (tmp_path / "my_code.py").write_text(CODE.replace("{value}", str(value)) + "#" * number)
        sys.modules.pop("my_code", None)
        results = evaluate(data, quick(tmp_path / "run", evaluators=["my_code:Mine"]))
        values.append(one(results, "adversuc", "marked", "my_code:Mine").value)
    assert values == [0.0, 0.5]


def test_the_seed_shuffles_the_contexts():
    human = to_passages(people())
    drawn = [
        scenario_folds("human_random", human, None, 3, 0).context_ablations(0)[1],
        Folds(scenario_folds("human_random", human, None, 3, 0), seed=1).context_ablations(0)[1],
    ]
    assert drawn[0]["context"][:] != drawn[1]["context"][:]


def replies_of(passages) -> set[tuple[str, str]]:
    """Each reply with the dialogue that it was said in."""
    return {(p.source_dialogue_id or p.dialogue_id, p.response) for p in passages}


@dataclass
class Memory(Spy):
    """A judge that knows the replies it learnt from, and guesses all others."""

    def score(self, passage: Passage) -> float:
        known = {p.response: label for p, label in zip(self.pairs, self.labels, strict=True)}
        return {1: 0.9, 0: 0.1}.get(known.get(passage.response), 0.5)


def test_no_judge_knows_a_human_reply_that_a_system_repeats(monkeypatch, tmp_path):
    judges = register_spy(monkeypatch, kind=Memory)
    human = to_passages(people())
    repeated = to_passages(respond(RandomResponder(human), people()))
    data = align(human, {"random": repeated})
    results = evaluate(data, quick(tmp_path, folds=4))
    scored = [(judge, rows) for judge in judges for rows in judge.scored]
    assert sum(any(p.author == "random" for p in rows) for _, rows in scored) >= 5
    for judge, rows in scored:
        assert not replies_of(judge.pairs) & replies_of(rows)
    # It guesses; with the replies of other folds it would be wrong more often than right.
    details = one(results, "adversuc", "random", "spy").details
    assert details["pairwise_accuracy"] == pytest.approx(0.5, abs=0.03)
    assert any(text.startswith("random repeats human replies") for text in results.warnings)


def test_a_system_that_repeats_too_few_dialogues_is_refused_in_a_sentence(monkeypatch, tmp_path):
    register_spy(monkeypatch)
    rows = people(12, 1)
    source = rows[0]
    repeated = [
        replace(p.with_response(source.response, "same"), source_dialogue_id=source.dialogue_id)
        for p in rows
    ]
    data = align(to_passages(rows), {"same": to_passages(repeated)})
    with pytest.raises(BadInput, match="repeats human replies of other dialogues"):
        evaluate(data, quick(tmp_path))


@pytest.mark.parametrize("evaluator", ["spy", "svm-unigram", "length", "coin"])
def test_every_response_is_judged_once(whole, evaluator):
    for system in SYSTEMS:
        rows = read_scores(whole[0], scenario="human_machine", system=system, evaluator=evaluator)
        counts = Counter((row["id"], row["author"], row["label"]) for row in rows)
        sides = (("human", 1), (system, 0))
        assert counts == Counter((passage.id, *side) for passage in people() for side in sides)
        assert len({(row["pair"], row["label"]) for row in rows}) == len(rows) == 240
        by_pair = {}
        for row in rows:
            by_pair.setdefault(row["pair"], set()).add((row["id"], row["fold"]))
        assert all(len(sides) == 1 for sides in by_pair.values())


def test_folds_do_not_depend_on_the_order_of_rows_and_are_of_like_size():
    rows = people(43, 2)
    shuffled = random.Random(3).sample(rows, len(rows))

    def fold_of(passages) -> dict[str, int]:
        numbers = fold_numbers(to_passages(passages), 5, seed=0).tolist()
        return {passage.id: number for passage, number in zip(passages, numbers, strict=True)}

    assert fold_of(rows) == fold_of(shuffled)
    dialogues = {passage.dialogue_id: fold_of(rows)[passage.id] for passage in rows}
    assert all(fold_of(rows)[passage.id] == dialogues[passage.dialogue_id] for passage in rows)
    assert sorted(Counter(dialogues.values()).values()) == [8, 8, 9, 9, 9]
    other = fold_numbers(to_passages(rows), 5, seed=1)
    assert (other != fold_numbers(to_passages(rows), 5, seed=0)).mean() > 0.5


def test_a_planted_marker_is_found_and_a_second_human_is_not(whole):
    _, results, _, _ = whole
    for evaluator in ("svm-unigram", "spy"):
        result = one(results, "adversuc", "marked", evaluator)
        assert result.value == 0.0 and result.high < 0.1 and result.n == 240
        assert result.details["p_value"] < 0.001 and result.details["auroc"] == 1.0
    result = one(results, "adversuc", "twin", "svm-unigram")
    assert result.low < 0.5 < result.high and result.value == pytest.approx(0.5, abs=0.08)
    assert result.details["p_value"] > 0.05


def test_progress_ends_when_everything_is_done(whole):
    _, _, _, steps = whole
    done, total = ([step[at] for step in steps] for at in (0, 1))
    assert done == sorted(done) and done[-1] == total[-1] and len(set(total)) == 1
    assert steps[-2][0] >= total[-1] - 1  # it was really counted, not set at the end


# Machine against random replies.


def test_machine_random_sets_both_classes_on_the_same_contexts(whole):
    rows = read_scores(whole[0], scenario="machine_random", system="marked", evaluator="spy")
    human = {passage.id: passage for passage in people()}
    assert {(row["label"], row["author"]) for row in rows} == {(1, "marked"), (0, "random")}
    for row in rows:
        is_system = f"{human[row['id']].response} beep" == row["response"]
        assert is_system == (row["label"] == 1)
    assert all(count == 2 for count in Counter(row["id"] for row in rows).values())
    responses = sorted(row["response"] for row in rows if row["label"] == 0)
    assert responses == sorted(
        passage.response for passage in people()
    )  # a permutation of the human ones


def test_without_the_context_machine_vs_random_is_one_minus_adversuc(whole, monkeypatch, tmp_path):
    _, results, _, _ = whole
    for system in SYSTEMS:  # the same responses with the labels exchanged
        result = one(results, "machine_vs_random", system, "length")
        assert result.value == pytest.approx(1 - one(results, "adversuc", system, "length").value)
        assert result.details["gap"] == 0.0

    def without_context(pairs, seed, fit_context):
        return SvmScorer.fit(pairs, seed=seed, use_context=False, folds=3, words=fit_context.words)

    entry = Entry("without-context", without_context)
    monkeypatch.setitem(EVALUATORS._entries, entry.name, entry)
    half = answers(people(), lambda passage: passage.response + " beep" * (int(passage.id[-1]) < 3))
    data = align(to_passages(people()), {"half": half})
    results = evaluate(data, quick(tmp_path / "x", evaluators=["without-context"], folds=3,
                                    twins=True))  # fmt: skip
    random_, success = (
        one(results, m, "half", "without-context") for m in ("machine_vs_random", "adversuc")
    )
    assert 0.75 < random_.value < 0.95  # two of three have the marker
    assert random_.value == pytest.approx(1 - success.value, abs=0.05)
    assert random_.details["gap"] == 0.0


def decided(predicted: np.ndarray, dialogues: int) -> pa.Table:
    """Both sides of contexts, in so many dialogues; the judge is right about both or about none."""
    contexts = len(predicted)
    return pa.table(
        {
            "id": [f"c{row}" for row in (*range(contexts), *range(contexts))],
            "dialogue_id": [f"d{row % dialogues}" for row in (*range(contexts), *range(contexts))],
            "label": np.repeat([1, 0], contexts),
            "predicted_human": np.concatenate([predicted, ~predicted]),
        }
    )


def test_the_interval_of_a_judge_that_is_always_right_has_a_width():
    measure = accuracy_interval(decided(np.ones(40, dtype=bool), 20), seed=0)
    assert measure.high == 1.0 and measure.low == pytest.approx(20 / (20 + 1.96**2), abs=1e-3)


# Reliability.


@pytest.mark.parametrize("evaluator", ["spy", "svm-unigram"])
def test_ere_is_that_of_the_pooled_folds(whole, evaluator):
    folder, results, _, _ = whole
    gold = {"human_human": 0.5, "machine_machine": 0.5, "human_random": 0.0, "human_next": 0.0}
    for system in SYSTEMS:
        rows = [
            row
            for name in gold
            for row in read_scores(folder, scenario=name, evaluator=evaluator)
            if row["system"] == (system if name == "machine_machine" else "")
        ]
        scores, labels, scenarios = ([row[k] for row in rows] for k in ("score", "label",
                                                                        "scenario"))  # fmt: skip
        result = one(results, "ere", system, evaluator)
        pooled = ere(scores, labels, scenarios, groups=[row["dialogue_id"] for row in rows])
        assert (result.value, result.low, result.n) == tuple(
            pooled[key] for key in ("ere", "low", "n")
        )
        off = []
        for name, standard in gold.items():
            wrong = {0: [], 1: []}
            for row in rows:
                if row["scenario"] == name:
                    wrong[row["label"]].append(row["predicted_human"] != (row["label"] == 1))
            off.append(abs((np.mean(wrong[0]) + np.mean(wrong[1])) / 2 - standard))
            assert abs(result.details["scenarios"][name]["deviation"]) == pytest.approx(off[-1])
        assert result.value == pytest.approx(np.mean(off))
        assert result.details["ere_mode"] == "retrained" and result.details["random_guess"] == 0.25


def test_what_is_missing_for_one_reason_is_one_warning():
    collector = ResultCollector("1", 0, warnings=["First."])
    reasons = BadInput("Too few dialogues.", hint="Give more."), BadInput("no second class.")
    for evaluator in ("stack", "surface", "coin", "length"):
        collector.warn_missing("human-vs-random", evaluator, "", reasons[0])
        for _ in range(2):  # the same again, from another measure
            collector.warn_missing("machine-vs-random", evaluator, "bot", reasons[0])
    collector.warn_missing("accuracy at equal lengths", "stack", "bot", reasons[1])
    assert collector.all_warnings() == (
        "First.",
        "Not measured: human-vs-random, machine-vs-random. Too few dialogues. Give more. Missing: "
        "human-vs-random (stack, surface), machine-vs-random (bot by stack, bot by surface).",
        "Not measured: accuracy at equal lengths. No second class. Missing: accuracy at equal "
        "lengths (bot by stack).",
    )


def test_human_replies_in_several_dialogues_give_a_warning():
    rows = people()
    twice = [replace(row, response=f"this long reply has number {n // 2}")
             for n, row in enumerate(rows)]  # fmt: skip
    bot = answers(rows, lambda passage: "Yes.")

    def repeated(passages):
        texts = align(to_passages(passages), {"bot": bot}).warnings
        return [text for text in texts if "occur in several dialogues" in text]

    assert repeated(rows) == []
    within = [replace(row, dialogue_id=f"d{n // 2}") for n, row in enumerate(twice)]
    assert repeated(within) == []  # a dialogue is never split between folds
    apart = [replace(row, dialogue_id=f"d{n}") for n, row in enumerate(twice)]
    [warning] = repeated(apart)
    assert warning.startswith(f"{len(rows)} of {len(rows)} human replies occur in several")


def test_ere_is_absent_and_said_so_where_nothing_follows(monkeypatch, tmp_path):
    register_spy(monkeypatch)
    rows = people(following=False)
    results = evaluate(align(to_passages(rows), {"bot": marked(rows)}), quick(tmp_path / "x"))
    assert not [row for row in results.results if row.metric == "ere"]
    assert any(
        text.startswith("ERE rests on three scenarios: no next turns in the data")
        for text in results.warnings
    )
    three = one(results, "ere_three", "bot", "spy")  # blind to all of them: .5 off in one of three
    assert three.value == pytest.approx(0.5 / 3) and three.details["random_guess"] == 0.5 / 3
    assert one(results, "adversuc", "bot", "spy").value == 0.0


def test_next_turns_come_from_inside_contexts_of_two_turns(monkeypatch, tmp_path):
    register_spy(monkeypatch)
    rows = [replace(passage, context=(Turn("B", f"why {passage.id}"), *passage.context))
            for passage in people(following=False)]  # fmt: skip
    results = evaluate(align(to_passages(rows), {"bot": marked(rows)}), quick(tmp_path / "x"))
    assert one(results, "ere", "bot", "spy").details["next_turns"] == "context"
    scored = read_scores(tmp_path / "x", scenario="human_next", evaluator="spy")
    by_id = {passage.id: passage for passage in rows}
    for row in scored:  # a, b and the response c: b answers a, and c is the turn after it
        passage = by_id[row["id"].removesuffix("~inner")]
        turn = passage.context[-1].text if row["label"] else passage.response
        assert row["response"] == turn
    assert len(scored) == 240 and any("inside the contexts" in text for text in results.warnings)


# The learning curve, seeds, lengths.


def test_the_learning_curve_has_a_quarter_a_half_and_all(whole):
    _, results, spies, _ = whole
    for system in SYSTEMS:
        rows = [row for row in results.curves
                if row.system == system and row.evaluator == "spy"]  # fmt: skip
        assert [row.share for row in rows] == [0.25, 0.5, 1.0]
        assert [row.n_train for row in rows] == [20, 40, 80]
        main = one(results, "adversuc", system, "spy")
        last = rows[-1]
        assert last.adversuc == main.value and main.low <= last.low <= last.high <= main.high
        learnt = [
            spy for spy in spies if {passage.author for passage in spy.pairs} == {"human", system}
        ]
        for share, expected in ((0.25, 20), (0.5, 40)):
            similar = [spy for spy in learnt if abs(len(spy.labels) - 2 * expected) <= 4]
            balanced = [spy for spy in similar if 2 * sum(spy.labels) == len(spy.labels)]
            assert len(balanced) >= 3, share


def test_a_part_of_the_pairs_lies_in_the_larger_part():
    rows = people()
    folds = scenario_folds("human_machine", to_passages(rows), marked(rows), 5, 0)
    learnt = {}
    for share in (0.25, 0.5, 1.0):
        with pytest.MonkeyPatch.context() as patch:
            spies = register_spy(patch)
            crossfit(fit_function("spy"), folds, 0, FitContext(), share)
        learnt[share] = [{(passage.id, passage.author) for passage in spy.pairs} for spy in spies]
    for quarter, half, full in zip(*learnt.values(), strict=True):
        assert quarter < half < full
        assert len(quarter) == 2 * len({id for id, _ in quarter})  # whole pairs


def test_seeds_change_folds_and_draws_and_their_spread_is_told(whole, tmp_path):
    folder, results, _, _ = whole
    result = one(results, "adversuc", "twin", "svm-unigram")
    first, second = result.details["seeds"]
    assert first == result.value
    assert result.details["seed_spread"] == pytest.approx(abs(first - second) / np.sqrt(2))
    data = align(to_passages(people()), {"twin": twin(people())})
    run = quick(tmp_path / "x", evaluators=["svm-unigram"], folds=3, seed=1)
    again = evaluate(data, run)
    assert one(again, "adversuc", "twin", "svm-unigram").value == second
    assert results.settings["seeds"] == 2 and (folder / "results.json").is_file()


def histogram(passages, labels, label: int) -> Counter:
    return Counter(
        count_tokens(passage.response) // 5
        for passage, other in zip(passages, labels, strict=True)
        if other == label
    )


def test_length_matched_classes_have_one_histogram_in_training_and_test(whole, monkeypatch):
    _, results, _, _ = whole
    rows = people()
    spies = register_spy(monkeypatch)
    sides = ("human_machine", to_passages(rows), twin(rows), 3, 0)
    pairs = {}
    for width in (None, 5):
        folds = scenario_folds(*sides, match_length=width)
        table = crossfit(fit_function("spy"), folds, 0, FitContext())
        pairs[width] = len(table) // 2
        learnt = [(spy.pairs, spy.labels) for spy in spies]
        tested = [(list(iterate(fold)), fold["label"][:]) for fold in folds]
        same = [histogram(*passage, 0) == histogram(*passage, 1) for passage in (*learnt, *tested)]
        assert all(same) if width else not any(same)
        spies.clear()
    texts = zip((row.response for row in rows), twin(rows)["response"], strict=True)
    alike = sum(count_tokens(human) // 5 == count_tokens(machine) // 5 for human, machine in texts)
    assert pairs == {None: 120, 5: alike} and 20 < alike < 100
    assert one(results, "adversuc_length_matched", "twin", "spy").n == 2 * alike


# What is kept.


@pytest.fixture
def small():
    rows = people(following=False)
    return rows, {"bot": marked(rows)}


def test_the_same_call_again_fits_nothing_and_writes_the_same_bytes(monkeypatch, tmp_path, small):
    rows, systems = small
    spies, folder = register_spy(monkeypatch), tmp_path / "x"
    results = evaluate(align(to_passages(rows), systems), quick(folder))
    written = {name: (folder / name).read_bytes() for name in ("results.json", "scores.parquet")}
    # The control, two tables of the system and two of ERE in two folds, and two halves.
    assert len(spies) == 2 * 5 + 2
    spies.clear()
    again = evaluate(align(to_passages(rows), systems), quick(folder))
    assert not spies and again.to_dict() == results.to_dict()
    assert json.loads(written["results.json"]) == results.to_dict()
    assert EvaluationResults.load(folder).to_dict() == results.to_dict()
    for name, content in written.items():
        assert (folder / name).read_bytes() == content


def test_one_system_more_fits_its_share_only(monkeypatch, tmp_path, small):
    rows, systems = small
    spies, folder = register_spy(monkeypatch), tmp_path / "x"
    before = evaluate(align(to_passages(rows), systems), quick(folder))
    spies.clear()
    after = evaluate(align(to_passages(rows), {**systems, "two": twin(rows)}), quick(folder))
    # Two tables and a half of the new one, its part of ERE, the control again for its relevance;
    # planted replies, because it is not detected.
    fresh = [spy for spy in spies if "two" in {passage.author for passage in spy.pairs}]
    control = [
        spy for spy in spies if {passage.author for passage in spy.pairs} == {"human", "random"}
    ]
    assert len(fresh) == 2 * 3 + 1 and len(control) >= 2 and len(spies) <= len(fresh) + 2 + 6
    assert one(after, "adversuc", "bot", "spy") == one(before, "adversuc", "bot", "spy")
    assert after.settings["run"] == before.settings["run"]


def test_results_of_another_run_are_not_replaced_unless_wished(monkeypatch, tmp_path, small):
    rows, systems = small
    spies, folder = register_spy(monkeypatch), tmp_path / "x"
    register_spy(monkeypatch, "spy2")
    data = align(to_passages(rows), systems)
    evaluate(data, quick(folder, evaluators=["spy", "spy2"]))
    path = folder / "results.json"
    kept, both = path.read_bytes(), {"evaluators": ["spy", "spy2"]}
    spies.clear()
    others = [
        (align(to_passages(rows[:90]), systems), both, "other human passages"),
        (data, {**both, "folds": 3}, "other human passages, common contexts or settings"),
        (align(to_passages(rows), {"two": twin(rows)}), both, "it had the system bot"),
        (align(to_passages(rows), {"bot": twin(rows)}), both, "bot gave other responses"),
        (data, {}, "it had the evaluator spy2"),
    ]
    for other, settings, why in others:
        with pytest.raises(BadInput, match=why) as error:
            evaluate(other, quick(folder, **settings))
        assert "--overwrite" in str(error.value) and "--output-dir" in str(error.value)
    assert not spies and path.read_bytes() == kept
    evaluate(data, quick(folder, overwrite=True))  # from the cache that both share
    assert not spies and json.loads(path.read_text())["settings"]["evaluators"][0] == "spy"
    assert path.read_bytes() != kept


@pytest.mark.parametrize("content", ["{}", "not JSON", "[]", '{"settings": {}}'])
def test_a_results_file_that_says_nothing_is_not_replaced(monkeypatch, tmp_path, small, content):
    register_spy(monkeypatch)
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(BadInput, match="another run wrote here: its settings could not be read"):
        evaluate(align(to_passages(small[0]), small[1]), quick(tmp_path))
    assert (tmp_path / "results.json").read_text() == content


def test_a_system_under_another_name_does_not_take_the_first_ones_rows(
    monkeypatch, tmp_path, small
):
    rows, systems = small
    register_spy(monkeypatch)
    data = align(to_passages(rows), {**systems, "same": systems["bot"]})
    results = evaluate(data, quick(tmp_path / "x"))
    authors = {row["author"] for row in read_scores(tmp_path / "x", system="same", label=0,
                                                    scenario="human_machine")}  # fmt: skip
    assert authors == {"same"}
    assert one(results, "adversuc", "same", "spy").value == 0.0


def test_one_verdict_quotes_the_strongest_evaluator(monkeypatch, tmp_path, small):
    class Reader(Spy):
        def score(self, passage):
            return 0.9 if passage.response.split()[-1] in passage.context[-1].text else 0.1

    register_spy(monkeypatch)
    register_spy(monkeypatch, "reader", Reader)
    rows, _ = small
    same = answers(rows, lambda passage: passage.response, "same")
    marks = answers(rows, lambda passage: f"beep {passage.response}")
    run = quick(tmp_path / "x", evaluators=["reader", "spy"])
    results = evaluate(align(to_passages(rows), {"bot": marks, "same": same}), run)
    bot, copy = results.verdicts
    # The reader is best on random replies, but it is the spy that detects the marker.
    assert one(results, "human_vs_random", "", "reader").value > 0.9
    assert (bot.system, bot.evaluator, bot.verdict) == ("bot", "spy", "distinguishable")
    assert bot.accuracy == 1.0 and bot.detectable == {}
    # Identical responses: nothing to detect, but neither spy is known to read the surface.
    assert (copy.system, copy.verdict) == ("same", "inconclusive")
    assert copy.reservations[0] == "no evaluator is known to read the surface"
    assert set(copy.detectable) == {"random human replies", "bot"}


def test_examples_are_the_highest_and_lowest_scores_in_their_context(monkeypatch, tmp_path, small):
    class Long(Spy):
        def score(self, passage):
            return len(passage.response) / 1_000

    register_spy(monkeypatch, "long", Long)
    rows, _ = small
    bot = twin(rows)
    results = evaluate(align(to_passages(rows), {"bot": bot}), quick(tmp_path / "x",
                                                                  evaluators=["long"]))  # fmt: skip
    texts = sorted(bot["response"], key=len)
    examples = results.examples["bot"]
    detected, human_like = examples.easiest_to_detect, examples.most_human_like
    assert [len(example.response) for example in detected] == [len(text) for text in texts[:5]]
    assert [len(example.response) for example in human_like] == [
        len(text) for text in texts[: -1 - 5 : -1]
    ]
    by_context = {passage.context[0].text: passage.response for passage in rows}
    assert all(by_context[example.context[0]] == example.human for example in human_like)


# Bad input.


def test_systems_that_answer_different_contexts_meet_on_the_common_ones(small):
    rows, _ = small
    data = align(to_passages(rows), {"a": marked(rows[:110]), "b": twin(rows[20:])})
    assert len(data.human) == len(data.systems["a"]) == len(data.systems["b"]) == 90
    assert data.human["id"][:] == [passage.id for passage in rows[20:110]]
    assert data.systems["a"]["response"][:] == [f"{e.response} beep" for e in rows[20:110]]
    assert data.warnings == [
        f"a answers 110 of 120 human contexts; the first without an answer is {rows[110].id!r}.",
        f"b answers 100 of 120 human contexts; the first without an answer is {rows[0].id!r}.",
        "90 of 120 contexts are answered by all; the others are left out.",
        "90 contexts are few: look at the intervals, not at the values.",
    ]


def test_the_order_of_a_systems_file_does_not_matter(small):
    rows, _ = small
    shuffled = random.Random(0).sample(rows, len(rows))
    data = align(to_passages(rows), {"bot": marked(shuffled)})
    assert data.systems["bot"]["response"][:] == [f"{passage.response} beep" for passage in rows]


def test_without_ids_contexts_are_matched_by_their_words(monkeypatch, tmp_path, small):
    rows, _ = small
    bare = [replace(passage, id="", dialogue_id=f"x{row}") for row, passage in enumerate(rows)]
    data = align(to_passages(rows), {"bot": marked(bare[::-1])})
    assert data.systems["bot"]["response"][:] == [f"{passage.response} beep" for passage in rows]
    for name in ("id", "dialogue_id"):  # so that both sides fall into one fold
        assert data.systems["bot"][name][:] == data.human[name][:]
    unnamed = [replace(passage, id="") for passage in rows]
    spies = register_spy(monkeypatch)
    data = align(to_passages(unnamed), {"bot": marked(unnamed)})
    results = evaluate(data, quick(tmp_path / "x"))
    assert len(set(data.human["id"][:])) == 120 and spies
    assert one(results, "adversuc", "bot", "spy").n == 240


def test_what_is_odd_about_answers_is_said(small):
    rows, _ = small
    same = align(
        to_passages(rows), {"copy": answers(rows, lambda passage: passage.response)}
    ).warnings
    assert same == ["copy has exactly the responses of the human file: there is nothing to detect."]
    dull = align(to_passages(rows), {"dull": answers(rows, lambda _: "Yes.")}).warnings
    assert dull == ["dull gives the same response to every context: 'Yes.'."]
    mute = answers(
        rows, lambda passage: "" if passage.id.endswith("#1") else f"{passage.response} oh"
    )
    warnings = align(to_passages(rows), {"mute": mute}).warnings
    assert warnings == ["40 of mute's 120 responses are empty."]
    elsewhere = [replace(passage, context=(Turn("A", "something else"),)) for passage in rows]
    warnings = align(to_passages(rows), {"bot": marked(elsewhere)}).warnings
    assert warnings == ["120 of bot's 120 contexts have the id of a human one but another text; "
                     "the human ones are used."]  # fmt: skip


@pytest.mark.parametrize(
    ("say", "success"), [(lambda passage: passage.response, 0.5), (lambda _: "Yes.", 0.0)]
)
def test_identical_files_and_one_response_for_everything_are_evaluated(tmp_path, say, success):
    rows = people(following=False)
    data = align(to_passages(rows), {"bot": answers(rows, say)})
    results = evaluate(data, quick(tmp_path / "x", evaluators=["svm-unigram"]))
    result = one(results, "adversuc", "bot", "svm-unigram")
    assert result.value == success
    assert (result.details["p_value"] == 1.0) == (success == 0.5)
    assert any(warning.startswith("bot ") for warning in results.warnings)


def test_ten_examples_give_a_wide_interval(tmp_path):
    rows = people(10, 1)
    data = align(to_passages(rows), {"bot": twin(rows)})
    run = EvaluationRun(["svm-unigram"], seeds=1, output_dir=str(tmp_path / "x"))
    results = evaluate(data, run)
    result = one(results, "adversuc", "bot", "svm-unigram")
    assert result.n == 20 and result.high - result.low > 0.2
    assert "10 contexts are few: look at the intervals, not at the values." in results.warnings
    assert "3 folds instead of 5: there are few dialogues." in results.warnings
    assert results.verdicts[0].verdict == "inconclusive"
    assert any("random" in reason for reason in results.verdicts[0].reservations)
    json.dumps(results.to_dict(), allow_nan=False)


def nine(rows):
    return to_passages(rows), {"bot": marked(rows[:9])}


def one_dialogue(rows):
    rows = [replace(passage, dialogue_id="d") for passage in rows]
    return to_passages(rows), {"bot": marked(rows)}


REFUSED = {
    "no system": (lambda rows: (to_passages(rows), {}), "no system to evaluate. .*--system"),
    "no answers": (
        lambda rows: (to_passages(rows), {"bot": to_passages([])}),
        "answer 0 contexts in common, and at least 10 are needed. Of 120 .*: bot 0",
    ),
    "nine contexts": (nine, "answer 9 contexts in common"),
    "one dialogue": (one_dialogue, "120 contexts come from 1 dialogue, and folds are made of"),
    "no humans": (
        lambda rows: (marked(rows), {"bot": marked(rows)}),
        "expected human responses, found those of bot",
    ),
    "a reserved name": (
        lambda rows: (to_passages(rows), {"human": marked(rows)}),
        "cannot be called 'human'",
    ),
    "an empty name": (lambda rows: (to_passages(rows), {"": marked(rows)}), "cannot be called ''"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_evaluated_is_refused_with_a_hint(small, name):
    make, why = REFUSED[name]
    with pytest.raises(BadInput, match=why) as error:
        align(*make(small[0]))
    assert error.value.hint


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"folds": 1}, "2 folds or more"),
        ({"seeds": 0}, "`seeds` is 1 or more"),
        ({"curve": (0.5, 1.0)}, "between 0 and 1"),
        ({"evaluators": ["nonsense"]}, "nonsense.*Choose from svm-unigram, .*all"),
    ],
)
def test_settings_without_sense_are_refused(settings, why):
    with pytest.raises(BadInput, match=why):
        EvaluationRun(**settings)


class Broken(Spy):
    """Gives no number for one passage."""

    def score(self, passage):
        return float("nan") if passage.id == "d7#2" else 0.6


def test_a_judge_that_gives_no_number_is_told_by_name(monkeypatch, tmp_path, small):
    register_spy(monkeypatch, "broken", Broken)
    data = align(to_passages(small[0]), small[1])
    message = "no evaluator could be applied: broken.* gave no finite number for 2 of .* responses"
    with pytest.raises(BadInput, match=f"{message}, first for passage 'd7#2'"):
        evaluate(data, quick(tmp_path / "x", evaluators=["broken"]))
    assert not (tmp_path / "x" / "results.json").exists()


def test_other_judges_go_on_without_a_broken_one(monkeypatch, tmp_path, small):
    register_spy(monkeypatch, "broken", Broken)
    register_spy(monkeypatch)
    data = align(to_passages(small[0]), small[1])
    results = evaluate(data, quick(tmp_path / "x", evaluators=["broken", "spy"]))
    assert one(results, "adversuc", "bot", "spy").value == 0.0
    assert [row.evaluator for row in results.verdicts] == ["spy"]
    assert any(passage.startswith("broken could not evaluate bot: broken") for passage in
               results.warnings)  # fmt: skip
    assert data.warnings == []  # the caller's own are not written to


def test_references_alone_give_a_table_without_verdicts(tmp_path, small):
    results = evaluate(
        align(to_passages(small[0]), small[1]), quick(tmp_path, evaluators=["length"])
    )
    assert results.verdicts == () and results.examples == {}
    assert one(results, "adversuc", "bot", "length").n == 240


def uneven_dialogues() -> list[Passage]:
    """Contexts most of which belong to one dialogue: they cannot be shuffled in its fold."""
    return [replace(passage, dialogue_id="long" if row < 80 else passage.dialogue_id)
            for row, passage in enumerate(people(following=False))]  # fmt: skip


def test_baselines_that_cannot_be_computed_leave_adversuc(monkeypatch, tmp_path):
    rows = uneven_dialogues()
    register_spy(monkeypatch)
    data = align(to_passages(rows), {"bot": marked(rows), "twin": twin(rows)})
    run = quick(tmp_path, folds=4, evaluators=["spy", "svm-unigram"], twins=True)
    results = evaluate(data, run)
    success = one(results, "adversuc", "bot", "spy")
    assert (success.value, success.n) == (0.0, 240)
    assert one(results, "adversuc", "bot", "svm-unigram").value < 0.05
    [verdict] = [row for row in results.verdicts if row.system == "bot"]
    assert verdict.verdict == "distinguishable"  # though it has no control here
    assert not results.select("human_vs_random") and not results.select("machine_vs_random")
    [warning] = [text for text in results.warnings if "baseline" in text]
    assert warning.startswith("No shuffled-context baseline in some folds")
    table = read_scores(tmp_path, system="bot", evaluator="spy", scenario="human_machine")
    fold = {row["dialogue_id"]: row["fold"] for row in table}["long"]
    for row in table:
        assert (row["shuffled_predicted_human"] is None) == (row["fold"] == fold)
        assert row["response_only_predicted_human"] is not None
    # The spy does not read the context: on the folds that have it, the baseline is AdverSuc.
    assert success.details["shuffled_context_accuracy"] == 1.0
    assert success.details["response_only_accuracy"] == 1.0
    again = evaluate(data, run)
    assert again.warnings == results.warnings  # from the cache, too


def test_an_evaluator_that_needs_a_context_keeps_its_adversuc(monkeypatch, tmp_path, small):
    class NeedsContext(Spy):
        def score(self, passage):
            return float("nan") if passage.context[-1].text == "…" else super().score(passage)

    register_spy(monkeypatch, "reader", NeedsContext)
    results = evaluate(
        align(to_passages(small[0]), small[1]), quick(tmp_path, evaluators=["reader"], twins=True)
    )
    success = one(results, "adversuc", "bot", "reader")
    assert success.value == 0.0 and success.details["response_only_accuracy"] is None
    assert success.details["shuffled_context_accuracy"] == 1.0
    assert any(text.startswith("No response-only baseline") for text in results.warnings)


def test_a_folder_is_locked_during_a_run(monkeypatch, tmp_path, small):
    register_spy(monkeypatch)
    data, run = align(to_passages(small[0]), small[1]), quick(tmp_path / "x")
    busy = pytest.raises(BadInput, match="another process is writing here")
    with Study(data, run).tables.folder.lock(), busy:
        evaluate(data, run)
    assert one(evaluate(data, run), "adversuc", "bot", "spy").n == 240
