"""One registry of evaluators: what is shipped, what packages add, and what a folder may name."""

import sys
from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from dialeval import registry
from dialeval.dialogues import BadInput, Pairing, Passage, Turn, to_passages
from dialeval.protocols.evaluation.evaluators import resolve_evaluators
from dialeval.scorers import is_human, load_scorer, save_scorer
from dialeval.scorers.fitting import FitContext
from dialeval.scorers.registry import EVALUATORS, SCORER_KINDS, fit_function, scorer_class
from dialeval.training.discriminator import train_discriminator
from dialeval.training.discriminator_settings import DiscriminatorRun
from dialeval.training.supervised import DiscriminatorConfig

PLUGIN = '''
import numpy as np
from dialeval.scorers import Decision

class Mine:
    """Counts words that machines said in training."""

    kind, name, higher_is_human, signature = "word-list", "mine", True, "mine"
    decision = Decision(0.5)

    def __init__(self, words):
        self.words = words

    @classmethod
    def fit(cls, pairs, *, seed=0):
        rows = zip(pairs["response"], pairs["label"])
        return cls({word for text, label in rows if not label for word in text.split()})

    def __call__(self, passages):
        texts = passages["response"]
        return np.array([0.0 if set(text.split()) & self.words else 1.0 for text in texts])

    def save(self, folder):
        return {"words": sorted(self.words)}

    @classmethod
    def load(cls, folder, settings):
        return cls(set(settings["words"]))

class NoFit:
    kind = "no-fit"

class NoScorer:
    @classmethod
    def fit(cls, pairs, *, seed=0):
        return cls()
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of a third party on the path, which no package has registered."""
    (tmp_path / "third_party.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "third_party"
    sys.modules.pop("third_party", None)


@pytest.fixture
def installed(module, monkeypatch):
    """The same module, as an installed package with an entry point."""
    point = EntryPoint("word-list", f"{module}:Mine", "dialeval.evaluators")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] * (group == point.group))
    monkeypatch.setattr(EVALUATORS, "_entries", dict(EVALUATORS._entries))
    monkeypatch.setattr(EVALUATORS, "_discovered", False)
    return point.name


@pytest.fixture(scope="module")
def talk():
    human = [
        Passage(
            (Turn("A", f"do you like tea {n % 7} ?"),), f"yes tea {n % 5} is fine",
            id=str(n), dialogue_id=str(n), corpus="talk", author="human",
        )
        for n in range(120)
    ]  # fmt: skip
    machine = [replace(passage, response="beep boop", author="bot") for passage in human]
    return to_passages(human), to_passages(machine)


@pytest.fixture(scope="module")
def pairs(talk):
    return Pairing("human_machine")(*talk)


@pytest.fixture(scope="module")
def few(pairs):
    return pairs.select(np.flatnonzero(np.asarray(pairs["pair"]) < 32))


def accuracy(scorer, pairs):
    return (is_human(scorer, scorer(pairs)) == (np.asarray(pairs["label"]) == 1)).mean()


def test_every_entry_has_a_summary_and_can_be_imported():
    for name, entry in EVALUATORS.items():
        assert entry.summary.endswith("."), name
        assert callable(entry.load())
    for kind in SCORER_KINDS:
        assert scorer_class(kind).kind == kind


def test_an_object_spec_is_fitted_and_named_by_its_spec(module, pairs):
    spec = f"{module}:Mine"
    assert resolve_evaluators([spec, "length"]) == [spec, "coin", "length"]
    assert accuracy(fit_function(spec)(pairs, 0, FitContext()), pairs) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Nobody", "could not import third_party:Nobody"),
        ("NoFit", "has no method `fit`.*docs/plugins.md"),
    ],
)
def test_objects_that_cannot_be_fitted_are_refused_before_a_run(module, name, message):
    with pytest.raises(BadInput, match=message):
        resolve_evaluators([f"{module}:{name}"])


def test_an_object_that_is_no_scorer_says_what_it_lacks(module, pairs):
    with pytest.raises(BadInput, match="lacks name, higher_is_human, decision, signature"):
        fit_function(f"{module}:NoScorer")(pairs, 0, FitContext())


def test_an_installed_evaluator_is_listed_trained_saved_and_loaded(installed, pairs, tmp_path):
    assert installed in EVALUATORS
    assert resolve_evaluators([installed])[0] == installed
    run = DiscriminatorRun(model=installed, output_dir=str(tmp_path / "run"))
    parts = dict.fromkeys(("train", "validation", "test"), pairs)
    results = train_discriminator(run, DiscriminatorConfig(), pairs=parts)
    assert results.get("accuracy", evaluator="mine").value == 1
    loaded = load_scorer(tmp_path / "run")
    assert type(loaded).__name__ == "Mine" and accuracy(loaded, pairs) == 1


def test_a_saved_scorer_of_a_foreign_kind_needs_its_package(module, pairs, tmp_path):
    folder = save_scorer(fit_function(f"{module}:Mine")(pairs, 0, FitContext()), tmp_path / "saved")
    with pytest.raises(BadInput, match=r"unknown kind of scorer 'word-list'.*dialeval.evaluators"):
        load_scorer(folder)


def test_a_folder_never_names_code(module, tmp_path):
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "scorer.json").write_text(f'{{"kind": "{module}:Mine"}}')
    with pytest.raises(BadInput, match="unknown kind of scorer"):
        load_scorer(tmp_path / "evil")
    assert module not in sys.modules


@pytest.mark.parametrize("model", ["embedding", "length", "minilm"])
def test_what_evaluate_knows_can_be_trained(model, few, tmp_path):
    run = DiscriminatorRun(
        model=model, scenario="human_machine", output_dir=str(tmp_path / "run"), max_length=24
    )
    parts = dict.fromkeys(("train", "validation", "test"), few)
    results = train_discriminator(run, DiscriminatorConfig(epochs=1, batch_size=8), pairs=parts)
    assert results.results[0].evaluator == load_scorer(tmp_path / "run").name == model


@pytest.mark.parametrize("name", ["svm-response", "svm-features", "transformer"])
def test_what_train_knows_can_evaluate(name, pairs, few):
    assert resolve_evaluators([name]) == [name, "coin", "length"]
    scorer = fit_function(name)(few if name == "transformer" else pairs, 0, FitContext())
    assert scorer.name == name
    assert accuracy(scorer, pairs) > 0.9 or name == "transformer"  # it gets too few to learn


def test_zero_shot_is_applied_as_it_is():
    assert resolve_evaluators(["zero-shot:log-rank"])[0] == "zero-shot:log-rank"
    assert "zero-shot" in EVALUATORS
