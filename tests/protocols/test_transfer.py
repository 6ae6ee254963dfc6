"""Transfer of evaluators, checked with ones whose accuracy follows by hand."""

import json
import logging
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pytest
import typer
from rich.console import Console
from scipy.stats import norm, t
from typer.testing import CliRunner

from dialeval.commands.transfer import transfer as command
from dialeval.dialogues import BadInput, Passage, iterate, to_passages
from dialeval.protocols.comparison import signature_parts
from dialeval.protocols.evaluation.evaluators import EVALUATORS
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.transfer import (
    ALL,
    RANDOM,
    alternate,
    halves,
    transfer,
    warn_if_trained_against,
    write_transfer,
)
from dialeval.registry import Entry
from dialeval.reports.transfer import heat_map, transfer_table
from dialeval.responders.base import respond
from dialeval.responders.simple import RandomResponder
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import CoinScorer, ResponseOnlyScorer
from tests.conftest import talk

HUMAN = talk(dialogues=30, turns=4)


def says(word: str, name: str) -> list[Passage]:
    return [passage.with_response(f"{word} {number}", name) for number, passage in enumerate(HUMAN)]


def data(**words: str) -> EvaluationData:
    systems = {name: to_passages(says(word, name)) for name, word in words.items()}
    return EvaluationData(to_passages(HUMAN), systems)


class Listener:
    """Predicts human unless a response begins with a word that only machines began with."""

    name, higher_is_human, decision = "listener", True, Decision()

    def __init__(self, pairs):
        rows = list(zip(pairs["response"][:], pairs["label"][:], strict=True))
        sides = [{text.split()[0] for text, label in rows if label == side} for side in (0, 1)]
        self.words = sides[0] - sides[1]
        self.dialogues = set(pairs["dialogue_id"][:])

    def __call__(self, passages):
        assert not self.dialogues & set(passages["dialogue_id"][:])
        return np.array([float(text.split()[0] not in self.words) for text in passages["response"]])


@pytest.fixture
def listener(monkeypatch):
    fitted = []

    def fit(pairs, seed, fit_context):
        fitted.append(Listener(pairs))
        return fitted[-1]

    monkeypatch.setitem(EVALUATORS._entries, "listener", Entry("listener", fit))
    return fitted


def test_an_evaluator_detects_only_what_it_was_trained_on(listener):
    result = transfer(data(a="alpha", b="beta", twin="alpha"), "listener")
    assert result.trained_on == [RANDOM, "a", "b", "twin", ALL]
    assert result.tested_on == [RANDOM, "a", "b", "twin"]
    expected = [
        [0.5, 0.5, 0.5, 0.5],  # random replies begin as human ones do
        [0.5, 1.0, 0.5, 1.0],
        [0.5, 0.5, 1.0, 0.5],
        [0.5, 1.0, 0.5, 1.0],
        [0.5, 1.0, 1.0, 1.0],
    ]
    assert result.matrix().tolist() == expected
    assert len(listener) == 5  # each is fitted once and applied unchanged
    marked = [(cell.details["trained_on"], cell.system) for cell in result.results
              if cell.details["diagonal"]]  # fmt: skip
    assert marked == [(name, name) for name in (RANDOM, "a", "b", "twin")]


def test_the_loss_off_the_diagonal_is_the_difference_to_the_diagonal(listener):
    result = transfer(data(a="alpha", b="beta"), "listener")
    by_cell = {(cell.details["trained_on"], cell.system): cell for cell in result.results}
    lost = by_cell["b", "a"].details
    assert (lost["lost"], lost["lost_low"], lost["lost_high"]) == (0.5, 0.5, 0.5)
    assert by_cell[ALL, "a"].details["lost"] == 0
    assert "lost" not in by_cell["a", "a"].details


def test_every_signature_names_the_training_data(listener):
    for cell in transfer(data(a="alpha", b="beta"), "listener", seed=3).results:
        parts = signature_parts(cell.signature)
        assert parts["trained_on"] == cell.details["trained_on"]
        assert (parts["system"], parts["seed"]) == (cell.system, "3")
        assert int(parts["n_train"]) == cell.details["n_train"]


def test_halves_share_no_dialogue_and_are_the_same_for_every_system():
    train, test = halves(data(a="alpha", b="beta"))
    assert list(train) == list(test) == [RANDOM, "a", "b"]
    for name in train:
        train_dialogues, test_dialogues = (
            set(part[name]["dialogue_id"][:]) for part in (train, test)
        )
        assert (
            len(train_dialogues) == len(test_dialogues) == 15
            and not train_dialogues & test_dialogues
        )
        assert sorted(train[name]["id"][:]) == sorted(train["a"]["id"][:])
        borrowed = set(train[name]["source_dialogue_id"][:]) - {None}
        assert borrowed <= train_dialogues and bool(borrowed) == (name == RANDOM)


def test_no_half_has_human_replies_of_the_other_that_a_system_repeats():
    human = to_passages(HUMAN)
    answers = respond(RandomResponder(human), HUMAN)
    systems = {"parrot": to_passages(answers), **data(a="alpha").systems}
    sides = halves(EvaluationData(human, systems))
    for half, other in (sides, sides[::-1]):
        sources = set(half["parrot"]["source_dialogue_id"][:]) - {None}
        assert sources and not sources & set(other["a"]["dialogue_id"][:])
        numbers = sorted(half["parrot"]["pair"][:])
        assert numbers == sorted([*range(len(numbers) // 2)] * 2)
        assert len(half["parrot"]) < len(half["a"]) == len(HUMAN)


def test_a_system_whose_file_has_other_ids_stays_in_the_half_of_its_contexts():
    given = data(a="alpha")
    strange = [Passage(passage.context, passage.response, "a", f"x{row}", f"other{row}")
               for row, passage in enumerate(iterate(given.systems["a"]))]  # fmt: skip
    renamed = EvaluationData(given.human, {"a": to_passages(strange)})
    for expected, half in zip(halves(given), halves(renamed), strict=True):
        assert half["a"]["dialogue_id"][:] == expected["a"]["dialogue_id"][:]
        assert half["a"]["response"][:] == expected["a"]["response"][:]


def test_all_systems_take_turns_on_as_many_pairs_as_one_has():
    train, _ = halves(data(a="alpha", b="beta", c="gamma"))
    parts = [train[name] for name in "abc"]
    mixed = alternate(parts, seed=1)
    assert len(mixed) == len(parts[0])
    machines = [row for row in mixed if row["label"] == 0]
    assert [sum(row["author"] == name for row in machines) for name in "abc"] == [15, 15, 15]
    for side in (0, 1):
        ids = [row["id"] for row in mixed if row["label"] == side]
        assert len(set(ids)) == len(ids)
    by_pair = {row["pair"]: row["id"] for row in machines}
    assert all(by_pair[row["pair"]] == row["id"] for row in mixed)


def test_intervals_draw_dialogues(monkeypatch):
    entry = Entry("toss", lambda pairs, seed, fit_context: CoinScorer(5))
    monkeypatch.setitem(EVALUATORS._entries, "toss", entry)
    given = data(a="alpha")
    result = next(cell for cell in transfer(given, "toss").results
                 if cell.details["diagonal"] and cell.system == "a")  # fmt: skip
    rows = list(halves(given)[1]["a"])
    predicted = CoinScorer(5)(halves(given)[1]["a"]) >= 0.5
    correct = {}
    for row, human in zip(rows, predicted, strict=True):
        correct.setdefault(row["dialogue_id"], []).append(human == row["label"])
    units = [np.mean(values) for values in correct.values()]  # all dialogues are of one size
    assert result.value == pytest.approx(np.mean(units)) and result.n == len(rows) == 90
    rng = np.random.default_rng(1)
    means = rng.choice(units, (20_000, len(units))).mean(1)
    tails = norm.cdf(t.ppf((0.025, 0.975), len(units) - 1))  # few dialogues: Student's t
    assert (result.low, result.high) == pytest.approx(np.quantile(means, tails), abs=0.025)


def test_a_bag_of_words_detects_the_system_it_was_trained_on_and_not_the_other():
    result = transfer(data(a="line of talk alpha", b="line of talk beta"), "svm-unigram")
    diagonal, other = result.matrix()[1, 1], result.matrix()[1, 2]
    assert diagonal == 1 and other < 0.8


def test_bad_input_is_named():
    with pytest.raises(BadInput, match="Unknown evaluator 'oracle'.*svm-unigram"):
        transfer(data(a="alpha"), "oracle")
    with pytest.raises(BadInput, match="'all systems' is a reserved name"):
        halves(data(**{ALL: "alpha"}))
    few = [passage for passage in HUMAN if passage.dialogue_id in ("t1", "t2", "t3", "t4")]
    answers = to_passages(passage.with_response("x", "a") for passage in few)
    with pytest.raises(BadInput, match="a half has 2 dialogues, and at least 5"):
        halves(EvaluationData(to_passages(few), {"a": answers}))


# The discriminator that a generator was trained against.


@pytest.mark.parametrize("recorded", ["abc", ["xyz", "abc"]])
@pytest.mark.parametrize("wrapped", [False, True])
def test_the_discriminator_a_generator_was_trained_against_gets_a_warning(
    recorded, wrapped, caplog
):
    scorer = SimpleNamespace(name="hier", fingerprint="abc", decision=None, higher_is_human=True)
    scorer = ResponseOnlyScorer(scorer, "response only") if wrapped else scorer
    training = json.loads(json.dumps({"discriminator_fingerprint": recorded}))
    with caplog.at_level(logging.WARNING):
        assert warn_if_trained_against(training, scorer)
    assert "is the discriminator that the generator was trained against" in caplog.text


@pytest.mark.parametrize("training", [None, {}, {"discriminator_fingerprint": "abd"},
                                      {"discriminator_fingerprint": None}])  # fmt: skip
def test_another_discriminator_gets_no_warning(training, caplog):
    scorer = SimpleNamespace(name="hier", fingerprint="abc")
    assert not warn_if_trained_against(training, scorer)
    assert not warn_if_trained_against({"discriminator_fingerprint": "abc"}, CoinScorer())
    assert not caplog.records


# Reports.


@pytest.fixture
def odd(listener):
    return transfer(data(**{"$x$ <b>": "alpha", "b" * 40: "beta"}), "listener")


def test_the_heat_map_is_a_png_and_an_svg_with_names_as_they_are(odd, tmp_path):
    png, svg = heat_map(odd, tmp_path / "new")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and len(png.read_bytes()) > 10_000
    text = svg.read_text("utf-8")
    assert "$x$ &lt;b&gt;" in text and "<b>" not in text and "<script" not in text
    assert text.count('id="diagonal"') == 3
    assert "b" * 40 not in text and "b" * 23 + "…" in text
    heat_map(odd, tmp_path / "again")
    assert (tmp_path / "again" / svg.name).read_text("utf-8") == text


def test_the_table_has_the_diagonal_in_brackets(odd):
    console = Console(width=120, record=True, file=StringIO())
    console.print(transfer_table(odd))
    text = console.export_text()
    assert text.count("[1.000]") == 2 and text.count("[.500]") == 1
    # An evaluator that calls all 30 human has Wilson's interval with n = 15 dialogues.
    assert "$x$ <b>" in text and ".274–.726" in text


def test_the_numbers_are_written_unrounded(odd, tmp_path):
    content = json.loads(write_transfer([odd], tmp_path).read_text("utf-8"))
    (matrix,) = content["transfers"]
    assert matrix["matrix"] == odd.matrix().tolist()
    assert [row["value"] for row in matrix["results"]] == [cell.value for cell in odd.results]
    assert matrix["settings"]["n_train"][ALL] == 45 and "dialeval" in content["versions"]


def test_the_command_writes_everything(write, tmp_path):
    def file(name, passages):
        names = ("author", "response", "id", "dialogue_id")
        rows = [{"context": [turn.text for turn in row.context],
                 **{name: getattr(row, name) for name in names}} for row in passages]  # fmt: skip
        return write(name, rows)

    app = typer.Typer()
    app.command()(command)
    human, bot = file("human.jsonl", HUMAN), file("a.jsonl", says("alpha", "a"))
    other = file("b.jsonl", says("beta", "b"))
    done = CliRunner().invoke(app, [
        "--human", str(human), "--system", f"a={bot}", "--system", f"b={other}",
        "--evaluator", "length", "-o", str(tmp_path / "run"),
    ], env={"COLUMNS": "100"}, catch_exceptions=False)  # fmt: skip
    assert done.exit_code == 0 and "trained on → applied to" in done.output
    names = {path.name for path in (tmp_path / "run").iterdir() if path.name != ".lock"}
    assert names == {"transfer.json", "transfer-length.png", "transfer-length.svg"}
