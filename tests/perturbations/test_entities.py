import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations import replay
from dialeval.perturbations.entities import (
    ConfusingEntity,
    RandomInputs,
    RandomInputsKeptEntities,
)
from dialeval.perturbations.lexicon import vocabulary

FRIENDS = {
    "name": ["Alice", "Bob", "Carol"],
    "school": ["Larkford College", "University of Brask", "Orme"],
    "hobby": ["kayaking", "whittling"],
}


def test_random_inputs_replace_every_word_and_no_mark():
    text = "Do you know Alice , from Orme ?"
    perturbed = RandomInputs()(text)
    before, after = re.findall(r"\w+", text), re.findall(r"\w+", perturbed)
    assert len(before) == len(after)
    assert all(old.lower() != new.lower() for old, new in zip(before, after, strict=True))
    assert {word.lower() for word in after} <= set(vocabulary())
    assert re.sub(r"\w", "", text).replace(" ", "") == ",?"


def test_random_inputs_draw_from_a_given_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("alpha\nbeta\n")
    perturbed = RandomInputs(str(path))("one two three alpha")
    assert set(perturbed.split()) <= {"alpha", "beta"}
    assert perturbed.endswith("beta")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Do you know Alice?", ["Alice"]),
        ("my friend at larkford college likes kayaking", ["larkford college", "kayaking"]),
        ("The University of Brask is far", ["University of Brask"]),
    ],
)
def test_entities_are_kept(text, kept):
    perturbed = RandomInputsKeptEntities(FRIENDS)(text)
    assert all(entity in perturbed for entity in kept)
    others = set(re.findall(r"\w+", text)) - set(" ".join(kept).split())
    assert not others & set(re.findall(r"\w+", perturbed))


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("Do you know Alice?", {"Do you know Bob?", "Do you know Carol?"}),
        ("Alice and Bob", {"Carol and Alice"}),  # entities not mentioned come first
        ("Bob , Bob !", {"Alice , Alice !", "Carol , Carol !"}),
        ("i like kayaking", {"i like whittling"}),
        ("at Orme?", {"at Larkford College?", "at University of Brask?"}),
        ("nothing here", {"nothing here"}),
        ("kayaking whittling", {"whittling kayaking"}),  # no other hobby is left
    ],
)
def test_entities_become_others_of_their_type(text, choices):
    assert {ConfusingEntity(FRIENDS)(text, seed) for seed in range(30)} == choices


def test_the_longest_mention_counts():
    lexicon = {"place": ["New Lark", "Oslo"], "bird": ["lark", "wren"]}
    assert ConfusingEntity(lexicon)("New Lark") == "Oslo"


def test_a_file_gives_surface_forms_their_types(tmp_path):
    path = tmp_path / "entities.tsv"
    path.write_text("larkford college\tlarkford\tschool\norme\torme\tschool\nbob\tbobby\tname\n")
    assert ConfusingEntity(str(path))("Bobby is at Larkford") == "Bobby is at Orme"


def test_everyday_words_that_abbreviate_an_entity_are_not_edited(tmp_path):
    path = tmp_path / "entities.tsv"
    path.write_text(
        "work & sons\twork\tcompany\nat the top\tat the\tcompany\norme\torme\tcompany\n"
    )
    assert ConfusingEntity(str(path))("I work at the zoo") == "I work at the zoo"


@pytest.mark.parametrize("items", [["book", "hat"], ["book", "books", "hat", "hats"]])
def test_plurals_become_plurals_whether_they_are_listed_or_not(items):
    strategy = ConfusingEntity({"item": items})
    assert {strategy("2 books and a hat", seed) for seed in range(9)} == {"2 hats and a book"}
    assert strategy("Hats !") == "Books !"


def test_a_word_that_only_looks_like_a_plural_is_none():
    assert ConfusingEntity({"item": ["hi", "ha"]})("his hat has") == "his hat has"
    kept = RandomInputsKeptEntities({"item": ["book"]})("my books fell")
    assert kept.split()[1] == "books" and kept != "my books fell"


@pytest.mark.parametrize("strategy", [RandomInputsKeptEntities, ConfusingEntity])
def test_without_entities_the_option_is_named(strategy):
    with pytest.raises(BadInput, match="Pass `--lexicon entities=PATH`"):
        strategy(None)


def test_a_broken_line_is_named(tmp_path):
    path = tmp_path / "entities.tsv"
    path.write_text("alice\nbob\tname\n")
    with pytest.raises(BadInput, match=r"entities.tsv:2: expected an entity"):
        ConfusingEntity(str(path))


@pytest.mark.shared
def test_mutual_friends_are_confused(shared):
    lexicon = str(shared / "mutualfriends" / "inverse_lexicon_data.txt")
    text = "I have a friend who works at Google and majors in physics"
    confused = ConfusingEntity(lexicon)(text, 1)
    assert confused.startswith("I have a friend who works at ")
    assert "Google" not in confused and "physics" not in confused
    kept = RandomInputsKeptEntities(lexicon)(text, 1)
    assert "Google" in kept and "physics" in kept and "friend" not in kept


@given(st.text() | st.sampled_from(["Alice", "x, bob!", "orme orme"]), st.integers(0, 3))
def test_edits_replay_and_are_deterministic(text, seed):
    strategies = (RandomInputs(), RandomInputsKeptEntities(FRIENDS), ConfusingEntity(FRIENDS))
    for strategy in strategies:
        edits = strategy.edits(text, Random(seed))
        assert edits == strategy.edits(text, Random(seed))
        assert all(edit.before.lower() != edit.after.lower() for edit in edits)
        replay(text, edits)
