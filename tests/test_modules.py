"""The metric folders as `evaluate` modules: equal to the pure functions."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import dialeval
from dialeval import metrics, registration
from dialeval.dialogues import Passage, iterate, to_passages
from dialeval.dialogues.types import alternate
from dialeval.judgements import agreement, win_rate
from dialeval.metrics.modules import accepted_keywords
from dialeval.scorers import Decision, save_scorer
from dialeval.scorers.baselines import LengthScorer

ROOT = Path(__file__).resolve().parents[1]
NAMES = [
    "adversuc", "agreement", "distinct", "ere", "human_vs_random", "machine_vs_random",
    "relevance", "robustness", "win_rate",
]  # fmt: skip
SCENARIOS = ["human_human", "machine_machine", "human_random", "human_next"]


@pytest.fixture(scope="module")
def evaluate():
    import evaluate

    return evaluate


def numbers(n: int = 80) -> dict:
    """Scores slightly above chance, for as many humans as machines, ten rows per dialogue."""
    rng = np.random.default_rng(7)
    labels = np.tile([1, 0], n // 2)
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1)
    return {"predictions": scores.tolist(), "references": labels.tolist()}


def cases() -> dict[str, tuple[dict, dict]]:
    """The inputs of each module, and what its function returns for them."""
    given, n = numbers(), 80
    scores, labels = given.values()
    groups = [f"d{row // 10}" for row in range(n)]
    pairs = [row // 2 for row in range(n)]
    interval = {"groups": groups, "seed": 3, "resamples": 200}
    settings = interval | {"threshold": 0.45}
    scenarios = [name for name in SCENARIOS for _ in range(n // 4)]
    marks = [row % 3 == 0 for row in range(n)]
    answers = ["real" if row % 3 else "fake" for row in range(n)]
    outcomes = [("win", "lose", "tie", "win")[row % 4] for row in range(n)]
    replies = [f"word {row % 7} of {row % 3}" for row in range(n)]
    folds = [row // 10 % 2 for row in range(n)]
    human = [score + 0.2 for score in scores]
    chance = metrics.versus_random(scores, labels, candidates=pairs, **settings)
    return {
        "adversuc": (
            given | settings | {"pairs": pairs, "folds": folds},
            metrics.adversuc(scores, labels, pairs=pairs, folds=folds, **settings),
        ),
        "agreement": (
            {"predictions": answers, "references": groups, "resamples": 50, "seed": 3},
            agreement(answers, groups, resamples=50, seed=3),
        ),
        "win_rate": (
            {"predictions": outcomes, "groups": groups, "resamples": 50},
            win_rate(outcomes, groups, resamples=50),
        ),
        "distinct": (
            {"predictions": replies, "repeat_n": 1},
            metrics.distinct(replies, repeat_n=1),
        ),
        "ere": (
            given | settings | {"scenarios": scenarios},
            metrics.ere(scores, labels, scenarios, **settings),
        ),
        "human_vs_random": (given | settings | {"candidates": pairs}, chance),
        "machine_vs_random": (given | settings | {"candidates": pairs}, chance),
        "relevance": (
            {"predictions": scores, "references": human, "random": scores[::-1]} | interval,
            metrics.relevance(scores, human, scores[::-1], **interval),
        ),
        "robustness": (
            {"predictions": scores[::-1], "references": scores, "should_change": marks} | settings,
            metrics.robustness(scores, scores[::-1], marks, **settings),
        ),
    }


# Equal to the functions


@pytest.mark.parametrize("name", NAMES)
def test_a_module_returns_what_its_function_returns(name, evaluate):
    given, expected = cases()[name]
    for metric in (evaluate.load(f"dialeval/{name}"), dialeval.load(name, keep_in_memory=True)):
        assert metric.name == name
        assert metric.compute(**given) == expected
        assert metric.compute(**given) == expected  # no state is left from the first call


@pytest.mark.parametrize("name", NAMES)
def test_an_example_computes_and_its_card_explains_every_key(name, evaluate):
    metric = dialeval.load(name, keep_in_memory=True)
    result = metric.compute(**metric.example)
    json.dumps(result, allow_nan=False)
    card = (registration.scripts()[name].parent / "README.md").read_text(encoding="utf-8")
    assert not [key for key in result if f"`{key}`" not in card]
    assert f'evaluate.load("dialeval/{name}")' in card
    assert metric.citation.replace("\\\\", "\\").strip() in card


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_has_the_header_of_a_space(name):
    folder = registration.scripts()[name].parent
    header = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
    assert header["sdk"] == "gradio" and header["app_file"] == "app.py"
    assert {"evaluate", "metric"} <= set(header["tags"])
    assert f"gradio=={header['sdk_version']}" in (ROOT / "constraints.txt").read_text()
    assert len(header["short_description"]) <= 60  # more is refused by the Hub
    assert "dialeval[app]" in (folder / "requirements.txt").read_text().split()


@pytest.mark.parametrize("name", NAMES)
def test_a_script_is_one_that_evaluate_can_read(name):
    """One class, whose name becomes the folder's; absolute imports, one a line, at the top."""
    source = registration.scripts()[name].read_text(encoding="utf-8")
    tree = ast.parse(source)
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert [re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in classes] == [name]
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import) or len(node.names) == 1
        assert not isinstance(node, ast.ImportFrom) or node.level == 0


# The ways to feed a module


@pytest.mark.parametrize("keep_in_memory", [False, True])
def test_rows_may_come_one_by_one_in_batches_or_at_once(evaluate, keep_in_memory):
    given, whole = numbers(), metrics.adversuc(*numbers().values())
    metric = evaluate.load("dialeval/adversuc", keep_in_memory=keep_in_memory)
    for score, label in zip(*given.values(), strict=True):
        metric.add(prediction=score, reference=label)
    assert metric.compute() == whole
    for rows in (slice(0, 30), slice(30, 80)):
        metric.add_batch(**{key: np.array(column[rows]) for key, column in given.items()})
    assert metric.compute() == whole


def test_two_instances_do_not_mix(evaluate):
    first, second = (evaluate.load("dialeval/adversuc", experiment_id=name) for name in "ab")
    first.add_batch(predictions=[0.9, 0.2], references=[1, 0])
    second.add_batch(predictions=[0.2, 0.9], references=[1, 0])
    assert (first.compute()["adversuc"], second.compute()["adversuc"]) == (0.0, 1.0)


def test_modules_combine_though_their_keywords_differ(evaluate, caplog):
    given, expected = cases()["ere"]
    combined = evaluate.combine(["dialeval/adversuc", "dialeval/ere", "dialeval/human_vs_random"])
    result = combined.compute(**given)
    assert result["ere"] == expected["ere"]
    assert result["adversuc"] == metrics.adversuc(*numbers().values(), threshold=0.45)["adversuc"]
    assert "human_vs_random_accuracy" in result  # a name that two of them have
    assert "adversuc ignores 'scenarios'" in caplog.text


# What goes wrong


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("adversuc", {"predictions": [], "references": []}, "there are no responses"),
        ("adversuc", {"predictions": [0.5]}, "references is missing. Pass it as a list"),
        ("adversuc", {"predictions": [0.5, 1], "references": [1]}, "2 predictions and 1 reference"),
        ("adversuc", {"predictions": [1, 0], "references": [0.9, 0.2]}, "Labels are 1 .* or 0"),
        (
            "adversuc",
            {"predictions": [0.9, 0.2], "references": [1, 1]},
            "all 2 responses are human",
        ),
        ("adversuc", {"predictions": ["a"], "references": [1]}, "could not convert string"),
        ("ere", {"predictions": [0.5], "references": [1]}, "missing: \\['scenarios'\\]"),
        ("distinct", {"predictions": []}, "There are no responses"),
        ("distinct", {"predictions": [3]}, "don't match the expected format"),
        ("robustness", {"predictions": [0.5], "references": [1]}, "Pass should_change=True"),
        ("human_vs_random", {"predictions": [], "references": []}, "there are no responses"),
        ("agreement", {"predictions": ["a"], "references": ["1"]}, "two answers or more"),
        ("win_rate", {"predictions": ["won"]}, "win, lose or tie, but there is 'won'"),
    ],
)
@pytest.mark.parametrize("keep_in_memory", [False, True])
def test_bad_input_is_explained(name, given, message, keep_in_memory, evaluate):
    metric = evaluate.load(f"dialeval/{name}", keep_in_memory=keep_in_memory)
    with pytest.raises(ValueError, match=message):
        metric.compute(**given)


def test_a_misspelt_keyword_is_an_error(evaluate):
    with pytest.raises(ValueError, match="no keyword 'treshold'. Did you mean 'threshold'"):
        evaluate.load("dialeval/adversuc").compute(**numbers(), treshold=0.9)


def test_an_unknown_keyword_is_ignored_with_a_warning(caplog):
    assert accepted_keywords({"average": "macro", "seed": 1}, metrics.ere) == {"seed": 1}
    assert "ere ignores 'average': its keywords are threshold" in caplog.text


def test_unknown_names_list_the_choices(evaluate):
    with pytest.raises(ValueError, match="Choose one of adversuc, agreement, distinct, "):
        dialeval.load("adversucc")
    with pytest.raises(ValueError, match="'text'. Choose one of default, texts"):
        evaluate.load("dialeval/adversuc", "text")
    with pytest.raises(ValueError, match="'texts'. Choose one of default"):
        evaluate.load("dialeval/ere", "texts")


# From texts


class Counting:
    """A scorer that predicts long responses, and those to long contexts, to be a machine's."""

    name, higher_is_human, signature = "counting", False, "disc:counting"
    decision = Decision(9.0)

    def __call__(self, passages):
        self.seen = list(iterate(passages))
        return np.array([sum(len(t.text) for t in p.context) + len(p.response) for p in self.seen])


TEXTS = {
    "predictions": ["a very long reply", "short", "so so"],
    "references": ["yes", "a long one", "no"],
    "contexts": [["hi"], ["how", "are you"], ["a"]],
}


def test_texts_are_scored_with_the_threshold_of_the_scorer(evaluate):
    scorer = Counting()
    result = evaluate.load("dialeval/adversuc", "texts").compute(**TEXTS, discriminator=scorer)
    turns = [sum(map(len, context)) for context in TEXTS["contexts"]]
    sides = TEXTS["references"], TEXTS["predictions"]
    scores = [n + len(text) for side in sides for n, text in zip(turns, side, strict=True)]
    settings = {"threshold": 9.0, "higher_is_human": False, "pairs": [0, 1, 2] * 2}
    expected = metrics.adversuc(scores, [1, 1, 1, 0, 0, 0], **settings)
    assert result == expected | {"discriminator": "counting", "signature": "disc:counting"}
    assert [p.author for p in scorer.seen] == ["human"] * 3 + ["machine"] * 3
    assert [turn.text for turn in scorer.seen[1].context] == ["how", "are you"]


def test_groups_of_texts_are_dialogues(evaluate):
    scorer, groups = Counting(), ["x", "y", "x"]
    metric = evaluate.load("dialeval/adversuc", "texts", discriminator=scorer)
    assert metric.compute(**TEXTS, groups=groups)["n_groups"] == 2
    assert [p.dialogue_id for p in scorer.seen] == groups * 2
    assert metric.compute(**TEXTS, threshold=0)["machines_predicted_human"] == 0.0


def test_a_saved_discriminator_is_loaded_once(evaluate, tmp_path, monkeypatch):
    human, machine = TEXTS["references"], TEXTS["predictions"]
    scorer = LengthScorer([0.5, 0.1, 0, 0], 0.2, [1, 1, 1, 1], [1, 1, 1, 1])
    folder = save_scorer(scorer, tmp_path / "discriminator")
    calls, load = [], dialeval.scorers.load_scorer
    monkeypatch.setattr(
        "dialeval.scorers.load_scorer", lambda name: calls.append(name) or load(name)
    )
    metric = evaluate.load("dialeval/adversuc", "texts")
    contexts = ["hi", "how are you", "a"]  # a single turn needs no list
    given = TEXTS | {"contexts": contexts}
    first = metric.compute(**given, discriminator=str(folder))
    assert metric.compute(**given, discriminator=str(folder)) == first
    assert calls == [str(folder)]
    passages = to_passages(Passage(alternate(["hi"]), text) for text in [*human, *machine])
    expected = metrics.adversuc(scorer(passages), [1, 1, 1, 0, 0, 0], pairs=[0, 1, 2] * 2)
    assert first["adversuc"] == expected["adversuc"] and first["auroc"] == expected["auroc"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "needs a discriminator. Pass discriminator="),
        ({"discriminator": "no/such/folder"}, "expected a folder or a name on the Hub"),
        ({"predictions": [], "references": [], "contexts": []}, "but they are empty"),
        ({"contexts": [["hi"], [], ["a"]], "discriminator": Counting()}, "Row 1 has no human"),
        ({"groups": ["x"], "discriminator": Counting()}, "1 groups for 3 contexts"),
        ({"predictions": ["a"], "references": ["b"]}, "1 predictions, 1 references and 3 contexts"),
    ],
)
def test_bad_texts_are_explained(change, message, evaluate):
    with pytest.raises(ValueError, match=message):
        evaluate.load("dialeval/adversuc", "texts", keep_in_memory=True).compute(**TEXTS | change)
