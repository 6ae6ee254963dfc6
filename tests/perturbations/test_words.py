from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialeval.dialogues import BadInput
from dialeval.perturbations import replay
from dialeval.perturbations.lexicon import keep_words, stop_words
from dialeval.perturbations.words import RandomSwap, StopwordDropout

WORDS = ("tea", "milk", ",", ".", "red", "?", "the", "of", "you", "not", "go")
TALK = st.lists(st.sampled_from(WORDS)).map(" ".join)


@settings(max_examples=200)
@given(TALK, st.integers(2, 6), st.integers(0, 99))
def test_swaps_exchange_neighbours_one_for_so_many_words(text, words_per_swap, seed):
    edits = RandomSwap(words_per_swap).edits(text, Random(seed))
    words = [word for word in text.split() if word not in ",.?"]
    assert len(edits) <= len(words) // words_per_swap
    for edit in edits:
        left, right = edit.before.split(" ")
        assert edit.after == f"{right} {left}"
        assert not {left, right} & set(",.?")
    assert sorted(replay(text, edits).split()) == sorted(text.split())


def random_numbers(seed: int, count: int) -> list[int]:
    """SplitMix64 in plain integers."""
    numbers = []
    for number in range(1, count + 1):
        state = (seed + number * 0x9E3779B97F4A7C15) % 2**64
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
        numbers.append(state ^ (state >> 31))
    return numbers


def swapped_one_by_one(text: str, words_per_swap: int, seed: int) -> str:
    """Neighbours exchanged in the order of their random numbers, as long as none moves twice."""
    parts = text.split()
    places = [at for at, part in enumerate(parts) if part not in ",.?"]
    drawn = dict(zip(places, random_numbers(seed, len(places)), strict=True))
    pairs = [at for at in places if at + 1 in places and parts[at] != parts[at + 1]]
    moved, left = set(), len(places) // words_per_swap
    for at in sorted(pairs, key=drawn.get):
        if left and not {at, at + 1} & moved:
            parts[at], parts[at + 1] = parts[at + 1], parts[at]
            moved |= {at, at + 1}
            left -= 1
    return " ".join(parts)


@settings(max_examples=200)
@given(st.lists(st.tuples(TALK, st.integers(0, 2**64 - 1)), max_size=4), st.integers(2, 5))
def test_batched_swaps_equal_single_swaps(seeded_texts, words_per_swap):
    texts, seeds = [text for text, _ in seeded_texts], [seed for _, seed in seeded_texts]
    logs = RandomSwap(words_per_swap).edits_of(texts, seeds)
    made = [replay(text, log) for text, log in zip(texts, logs, strict=True)]
    assert made == [swapped_one_by_one(text, words_per_swap, seed) for text, seed in seeded_texts]


def test_a_long_utterance_gets_all_its_swaps():
    text = " ".join(f"w{number}" for number in range(40))
    assert len(RandomSwap().edits(text, Random(0))) == 10


def test_every_pair_of_neighbours_can_be_swapped():
    drawn = {RandomSwap()("a b c d", seed) for seed in range(60)}
    assert drawn == {"b a c d", "a c b d", "a b d c"}


def released_places(tokens):
    """Which places the released code may swap: per gap, worked out from its description."""
    marks = [at for at, token in enumerate(tokens) if at == 0 or token in ",.?"]
    marks = sorted({*marks, len(tokens) - 1})
    allowed = {}
    for start, end in pairwise(marks):
        pairs = [at for at in range(start + 1, end - 1)]
        allowed.update(dict.fromkeys(pairs, (start, (end - start - 1) // 3)))
    return allowed


@settings(max_examples=200)
@given(TALK.filter(lambda text: len(text.split()) > 1), st.integers(0, 99))
def test_the_released_preset_counts_by_gap_and_keeps_both_ends(text, seed):
    tokens = text.split()
    allowed = released_places(tokens)
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token) + 1)
    made = {}
    for edit in RandomSwap(3, by_gap=True).edits(text, Random(seed)):
        gap, most = allowed[starts.index(edit.start)]
        made[gap] = made.get(gap, 0) + 1
        assert made[gap] <= most


def test_one_swap_for_less_than_two_words_is_refused():
    with pytest.raises(BadInput, match="2 or more, but got 1"):
        RandomSwap(1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ben ate the carrot.", "Ben ate carrot."),
        ("In the end of the day", "end day"),
        ("I do not like it", "I not like it"),
        ("Where is the file?", "Where file?"),
        ("the of", None),
        ("A: use the desktop", "A: use desktop"),
        ("A dog or plan A", "dog plan A"),
        ("tea  the\tmilk", "tea \tmilk"),
        ("(the end)", "(end)"),
    ],
)
def test_dropout_removes_stop_words_with_one_space(text, expected):
    shortened = StopwordDropout()(text)
    assert shortened == expected if expected else shortened in ("the", "of")


@settings(max_examples=200)
@given(TALK, st.integers(0, 99))
def test_dropout_removes_only_stop_words_up_to_the_limit(text, seed):
    edits = StopwordDropout(most=3).edits(text, Random(seed))
    assert len(edits) <= 3
    assert {edit.before.strip() for edit in edits} <= {"the", "of"}
    assert not text.strip() or replay(text, edits).strip()


@settings(max_examples=200)
@given(st.lists(st.sampled_from([*sorted(stop_words()), "Tea", "TO", "It ’ s", "did n't"])))
def test_every_stop_word_can_be_dropped_except_those_to_keep(words):
    text = " ".join(["tea", *words, "milk"])
    left = StopwordDropout(most=None)(text)
    gone = stop_words() - keep_words()
    kept = [word for word in words if word.lower().replace(" ", "").replace("’", "'") not in gone]
    assert left == " ".join(["tea", *kept, "milk"])


def test_the_dropped_words_are_random():
    text = "tea " + " ".join(["the of and to in a is at on by"] * 2)
    versions = {StopwordDropout()(text, seed) for seed in range(20)}
    assert len(versions) > 10
    assert {len(text.split()) - len(version.split()) for version in versions} == {8}
    assert StopwordDropout(None)(text) == "tea"


def test_without_the_keep_list_negation_goes_too():
    assert StopwordDropout(keep=False)("do not drink tea") == "drink tea"


def test_other_stop_words_come_from_a_file(write):
    path = write("stop.txt", "der\ndie das\n")
    assert StopwordDropout(lexicon=str(path))("der Hund und die Katze") == "Hund und Katze"


def test_dropping_less_than_one_is_refused():
    with pytest.raises(BadInput, match="1 or more, or None"):
        StopwordDropout(0)
