from dataclasses import dataclass, fields

import pytest

from dialeval.dialogues import BadInput
from dialeval.perturbations import Perturbation, available, perturbation, perturbations
from dialeval.perturbations.registry import required_options, strategies


def test_both_kinds_are_there_and_nothing_else():
    changing, holding = available("should_change"), available("should_not_change")
    assert {"add-negation", "antonym"} <= set(changing)
    assert {"random-swap", "stopword-dropout", "data-paraphrase", "grammar-errors"} <= set(holding)
    assert sorted(changing + holding) == available()


def test_languages_are_selected_by_code():
    assert "random-swap" in available(language="de-AT")
    assert "stopword-dropout" not in available(language="de")
    assert "stopword-dropout" in available(language="en_GB")


@pytest.mark.parametrize("name", available())
def test_a_strategy_is_a_frozen_dataclass_with_a_signature(name):
    cls = strategies()[name]
    assert cls.__dataclass_params__.frozen
    assert cls.__doc__ and cls.name == name
    assert cls.kind in ("should_change", "should_not_change")
    for preset in cls.presets.values():
        assert set(preset) <= {option.name for option in fields(cls)}
    if not required_options(cls):
        assert repr(perturbation(name)).startswith(f"{cls.__name__}(")


def test_the_released_preset_differs_from_the_paper_and_options_win():
    assert perturbation("random-swap").words_per_swap == 4
    assert perturbation("random-swap", "released").words_per_swap == 3
    assert perturbation("random-swap", "released", words_per_swap=5).words_per_swap == 5
    assert perturbation("stopword-dropout", "released").most is None


def test_unknown_names_list_the_choices():
    with pytest.raises(BadInput, match=r"unknown strategy 'swap'.*random-swap, .*stopword-dropout"):
        perturbation("swap")
    with pytest.raises(BadInput, match="no option 'rate'.*It has words_per_swap, by_gap"):
        perturbation("random-swap", rate=1)
    with pytest.raises(BadInput, match="unknown preset 'code'.*paper, released"):
        perturbation("random-swap", "code")
    with pytest.raises(BadInput, match="unknown kind 'x'.*should_change"):
        available("x")
    with pytest.raises(BadInput, match="unknown strategy 'swap'"):
        perturbations("all", options={"swap": {}})


def test_missing_options_are_named():
    with pytest.raises(BadInput, match="generative-paraphrase needs the option paraphrase"):
        perturbation("generative-paraphrase")


def test_all_excludes_strategies_with_missing_options():
    names = [strategy.name for strategy in perturbations("all")]
    assert "generative-paraphrase" not in names and "random-swap" in names
    more = perturbations("all", options={"generative-paraphrase": {"paraphrase": list}})
    assert [strategy.name for strategy in more if strategy.name not in names] == [
        "generative-paraphrase"
    ]


def test_a_named_subclass_is_registered():
    @dataclass(frozen=True)
    class Nothing(Perturbation):
        """Edits nothing."""

        name = "test-nothing"
        kind = "should_not_change"

        def edits(self, text, rng):
            return []

    try:
        assert "test-nothing" in available()
    finally:
        Nothing.name = ""  # leaves the registry
    assert "test-nothing" not in available()
