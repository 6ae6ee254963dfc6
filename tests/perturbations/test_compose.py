from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.perturbations import (
    Composed,
    Edit,
    Restricted,
    Thinned,
    perturb,
    perturbation,
    replay,
)
from dialeval.perturbations.differences import differences, merge_logs
from dialeval.perturbations.words import RandomSwap, StopwordDropout

TEXT = "I think that the tea is cold now , and we can make you some more of it ."


@st.composite
def logs(draw, text: str) -> list[Edit]:
    """Any edits of a text that stand in order and do not overlap."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = zip(cuts[::2], cuts[1::2], strict=False)
    return [Edit(a, text[a:b], draw(st.text("xyz", max_size=3))) for a, b in spans]


@given(st.data(), st.text("abc ", max_size=12))
def test_two_logs_in_a_row_replay_as_one(data, text):
    first = data.draw(logs(text))
    middle = replay(text, first)
    then = data.draw(logs(middle))
    assert replay(text, merge_logs(text, first, then)) == replay(middle, then)


def test_logs_that_do_not_touch_keep_their_edits_apart():
    merged = merge_logs("a b c d", [Edit(0, "a", "xx")], [Edit(5, "c", "y")])
    assert merged == [Edit(0, "a", "xx"), Edit(4, "c", "y")]


@given(st.text("ab .\n", max_size=20), st.text("ab .\n", max_size=20))
def test_differences_lead_from_one_text_to_the_other(before, after):
    assert replay(before, differences(before, after)) == after


def test_composed_strategies_work_one_after_the_other():
    both = Composed((StopwordDropout(), RandomSwap()))
    (log,) = both.edits_of([TEXT], [5])
    dropped = replay(TEXT, StopwordDropout().edits_of([TEXT], [5])[0])
    second = (5 + 0xD1B54A32D192ED03) % 2**64  # another seed, else two strategies draw alike
    expected = replay(dropped, RandomSwap().edits_of([dropped], [second])[0])
    assert replay(TEXT, log) == expected != dropped
    assert both.name == "stopword-dropout+random-swap"


def test_composed_is_of_the_stronger_kind_and_the_common_languages():
    negation = perturbation("add-negation")
    assert Composed((RandomSwap(), negation)).kind == "should_change"
    assert Composed((RandomSwap(), StopwordDropout())).kind == "should_not_change"
    assert Composed((RandomSwap(), StopwordDropout())).languages == ("en",)
    assert Composed((RandomSwap(), RandomSwap())).languages is None
    with pytest.raises(BadInput, match="got none"):
        Composed(())


def test_restricted_makes_no_edit_with_a_word_outside_the_vocabulary(write):
    strategy = perturbation("data-paraphrase")
    text = "I bought a bike"
    assert Restricted(strategy, frozenset({"bicycle"}))(text) == "I bought a bicycle"
    path = write("words.txt", "purchased\n")
    assert Restricted(strategy, str(path))(text) == "I purchased a bike"
    assert Restricted(RandomSwap(), frozenset())("a b c d", 1) != "a b c d"  # no new words


def test_wrappers_have_a_signature_and_keep_the_name():
    strategy = Thinned(Restricted(RandomSwap(), frozenset({"a"})), 0.5)
    assert repr(strategy) == (
        "Thinned(strategy=Restricted(strategy=RandomSwap(words_per_swap=4, by_gap=False), "
        "vocabulary='1 words'), rate=0.5)"
    )
    assert (strategy.name, strategy.kind, strategy.languages) == (
        "random-swap",
        "should_not_change",
        None,
    )


def test_thinned_makes_a_share_of_the_edits():
    text = "the tea of the house " * 200
    full = StopwordDropout(None).edits(text, Random(0))
    kept = Thinned(StopwordDropout(None), 0.25).edits(text, Random(0))
    assert set(kept) < set(full)
    assert len(kept) == pytest.approx(0.25 * len(full), rel=0.2)
    with pytest.raises(BadInput, match=r"`rate` is a probability"):
        Thinned(RandomSwap(), 2)


def test_composed_strategies_work_on_passages_too():
    passages = to_passages([Passage((Turn("A", TEXT),), "yes", id="a", language="en")])
    both = Composed((StopwordDropout(), Restricted(RandomSwap(), frozenset())))
    assert perturb(passages, both).edited == 1
