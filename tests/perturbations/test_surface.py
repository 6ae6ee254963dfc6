from random import Random

import pytest

from dialeval.dialogues import BadInput
from dialeval.perturbations.contractions import ContractionToggle
from dialeval.perturbations.forms import is_known
from dialeval.perturbations.surface import CasingAndPunctuation, KeyboardTypos, _neighbours

LONG = "please bring something delicious before everybody becomes hungry tonight " * 20


def distance(one: str, two: str) -> int:
    """Edits of letters between two words, an exchange of neighbours counting as one."""
    table = {(i, -1): i + 1 for i in range(-1, len(one))} | {
        (-1, j): j + 1 for j in range(len(two))
    }
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            table[i, j] = min(
                table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (a != b)
            )
            if i and j and a == two[j - 1] and b == one[i - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(one) - 1, len(two) - 1]


def test_a_typo_changes_one_letter_after_the_first_and_is_not_a_word():
    edits = KeyboardTypos().edits(LONG, Random(0))
    assert 0.8 * len(LONG.split()) // 6 <= len(edits) <= len(LONG.split()) // 6
    for edit in edits:
        assert distance(edit.before, edit.after) == 1
        assert edit.before[0] == edit.after[0]
        assert not is_known(edit.after)


@pytest.mark.parametrize("text", ["NASA US", "to be or", "Привет друзья", "/etc/fstab", "说中文"])
def test_acronyms_short_words_code_and_other_scripts_are_not_mistyped(text):
    assert KeyboardTypos()(text) == text


def test_names_stay_but_the_first_word_of_a_sentence_does_not():
    versions = {KeyboardTypos()("Maybe Veronica .", seed) for seed in range(30)}
    assert all(version.endswith(" Veronica .") for version in versions)
    assert len(versions) > 5


@pytest.mark.parametrize(("key", "beside"), [("g", "tyfhvb"), ("q", "wa"), ("m", "jkn")])
def test_neighbours_are_those_of_the_keyboard(key, beside):
    assert set(_neighbours()[key]) == set(beside)


@pytest.mark.parametrize(
    ("way", "text", "expected"),
    [
        ("lower", "I saw NASA . Why ?", "i saw NASA . why ?"),
        ("upper", "no, see www.x.org.", "NO, SEE www.x.org."),
        ("drop", "Well , yes. It is 3.5 , no ?", "Well yes It is 3.5 no ?"),
        ("drop", "Yes.Why not", "Yes.Why not"),
        ("drop", "好的。", "好的"),
        ("drop", "...", "..."),
        ("double", "Really ?", "Really ???"),
        ("double", "Really", "Really"),
    ],
)
def test_casing_and_punctuation_keep_the_words(way, text, expected):
    assert CasingAndPunctuation((way,))(text) == expected


def test_a_way_that_changes_nothing_gives_way_to_another():
    assert {CasingAndPunctuation()("no", seed) for seed in range(20)} == {"NO"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't know", "I do not know"),
        ("Don ’ t you think so ?", "Do you not think so ?"),
        ("Isn't John here?", "Isn't John here?"),
        ("I can't and I won't go", "I cannot and I will not go"),
        ("Let's go", "Let us go"),
        ("It's been cold, it's nice", "It has been cold, it is nice"),
        ("John's car", "John's car"),
        ("I'd rather stay", "I'd rather stay"),
        ("I am here. Yes , I am .", "I'm here. Yes , I am ."),
        ("We are not lost", "We're not lost"),
        ("You cannot go", "You can't go"),
        ("I know what it is about", "I know what it is about"),
        ("I have a car", "I have a car"),
        ("Are you tired ? Is it not ?", "Are you tired ? Is it not ?"),
        ("They do not know", "They don't know"),
    ],
)
def test_contractions_are_toggled_where_grammar_allows_it(text, expected):
    assert ContractionToggle(tagger="light")(text) == expected


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("expand", "I do not . I am here"), ("contract", "I don't . I'm here")],
)
def test_one_direction_can_be_chosen(direction, expected):
    text = "I don't . I am here" if direction == "contract" else "I do not . I'm here"
    assert ContractionToggle(direction, "light")(text) == expected


def test_settings_out_of_range_list_the_choices():
    with pytest.raises(BadInput, match="Choose from lower, upper, drop, double"):
        CasingAndPunctuation(("loud",))
    with pytest.raises(BadInput, match="Choose one of both, expand, contract"):
        ContractionToggle("up")
    with pytest.raises(BadInput, match="1 or more, but got 0"):
        KeyboardTypos(0)
