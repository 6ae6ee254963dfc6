from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations import Edit, replay
from dialeval.perturbations.antonyms import Antonym
from dialeval.perturbations.lexicon import antonyms

LIGHT = Antonym(tagger="light")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He hates it.", {"He loves it.", "He enjoys it."}),
        ("She loved him.", {"She hated him."}),
        ("I'd like to go.", {"I'd hate to go."}),  # not: dislike to
        ("We are buying it.", {"We are selling it."}),
        ("They opened it.", {"They closed it.", "They shut it."}),
        ("Turn on the light.", {"Turn off the light."}),
        ("He sat down.", {"He stood up."}),
        ("The big one.", {"The small one."}),
        ("A bigger dog.", {"A smaller dog."}),
        ("The smallest dog.", {"The biggest dog.", "The largest dog."}),
        ("It is cheaper.", {"It is more expensive."}),
        ("That's better.", {"That's worse."}),
        ("An easy test.", {"A difficult test.", "A hard test."}),
        ("It was a possible end.", {"It was an impossible end."}),
        ("GOOD idea", {"BAD idea"}),
        ("Good idea.", {"Bad idea."}),
        ("You are right.", {"You are wrong."}),
        ("I always go.", {"I never go."}),
        ("He ran quickly.", {"He ran slowly."}),
        ("You need to install it.", {"You need to uninstall it."}),
        ("Good morning , it is hot .", {"Good morning , it is cold ."}),
        ("Make sure it is safe.", {"Make sure it is dangerous.", "Make sure it is unsafe."}),
        ("I have a cold. I am sad.", {"I have a cold. I am happy."}),
    ],
)
def test_first_word_with_an_antonym_becomes_it(text, expected):
    assert {LIGHT(text, seed) for seed in range(30)} == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello!",
        "I am here.",
        "Good night .",
        "How old are you?",
        "All right.",
        "For sure.",
        "Help me find it.",
        "I find out.",
        "New York",
        "Not always.",
        "They got married.",
        "It will begin to grow on me.",
        "你好",
    ],
)
def test_text_without_antonyms_has_no_edits(text):
    assert LIGHT.edits(text, Random(0)) == []


def test_the_article_is_part_of_the_edit():
    assert LIGHT.edits("It is an expensive car.", Random(0)) == [
        Edit(6, "an expensive", "a cheap"),
    ]


def test_antonyms_are_drawn_evenly():
    drawn = [Antonym(tagger="light")("It is easy.", seed) for seed in range(600)]
    assert 240 < drawn.count("It is hard.") < 360
    assert drawn.count("It is hard.") + drawn.count("It is difficult.") == 600


def test_released_preset_takes_nouns_and_leaves_inflection(tmp_path):
    table = tmp_path / "pairs.txt"
    table.write_text("boy girl\nlove hate\n")
    released = Antonym(str(table), **Antonym.presets["released"], tagger="light")
    assert released("The boys loved it.") == "The girl loved it."
    assert Antonym(str(table), tagger="light")("The boys loved it.") == "The boys hated it."


def test_a_phrase_is_replaced_whole_also_without_inflection():
    strategy = Antonym(restore_inflection=False, tagger="light")
    assert strategy("Please turn on the light.") == "Please turn off the light."


def test_a_table_of_inflected_words_fits_the_sentence(tmp_path):
    table = tmp_path / "pairs.txt"
    table.write_text("en_accepted en_rejecting\n")
    strategy = Antonym(str(table), tagger="light")
    assert strategy("She accepts it.") == "She accepts it."  # the table has no such form
    assert strategy("She accepted it.") == "She rejected it."


def test_everyday_antonyms_win_over_rare_ones(tmp_path):
    table = tmp_path / "pairs.txt"
    table.write_text("happy dolorous\nhappy sad\nhappy lachrymose\n")
    everyday, all_of_them = (
        Antonym(str(table), everyday_only, tagger="light") for everyday_only in (True, False)
    )
    assert {everyday("I am happy.", seed) for seed in range(20)} == {"I am sad."}
    assert len({all_of_them("I am happy.", seed) for seed in range(20)}) == 3


def test_a_broken_table_is_named_with_its_line(tmp_path):
    table = tmp_path / "pairs.txt"
    table.write_text("hot cold\nbig\n")
    with pytest.raises(BadInput, match=r"pairs.txt:2: expected a word and its antonym"):
        Antonym(str(table))("It is hot.")


@pytest.mark.shared
def test_wordnet_pairs_cover_more_than_the_built_in_table(shared):
    table = shared / "lexical" / "wordnet_antonyms.txt"
    assert len(antonyms(str(table))) > len(antonyms())
    assert Antonym(str(table))("They unite now.", 1) != "They unite now."


PIECES = """
I he is a an the good BIG bigger easy loves loved opening turn on off sit down not sure honest
hour , . ? quickly always better best like to how old
"""
WORDS = st.sampled_from([*PIECES.split(), "\t", "\n", "’ ll"])


@given(st.lists(WORDS, max_size=25).map(" ".join) | st.text(), st.integers(0, 5), st.booleans())
def test_edits_replay_and_are_deterministic(text, seed, released):
    options = Antonym.presets["released"] if released else {}
    strategy = Antonym(tagger="light", **options)
    edits = strategy.edits(text, Random(seed))
    assert edits == strategy.edits(text, Random(seed))
    assert len(edits) <= 1
    assert (replay(text, edits) != text) == bool(edits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("That aspect of him interests me.", "That aspect of him bores me."),
        ("I think it is so cool that you sing.", "I think it is so uncool that you sing."),
        ("We had cool weather.", "We had cool weather."),
        ("I have a seat saved for you.", "I have a seat saved for you."),
        ("Sweet! I am tall.", "Sweet! I am short."),
        ("The cake is sweet.", "The cake is bitter."),
        ("Lunch? Sounds like a great plan.", "Lunch? Sounds like a terrible plan."),
        ("I'm kind of trying. You are tall.", "I'm kind of trying. You are short."),
        ("It is so like him to come early.", "It is so like him to come late."),
        ("My six month old puppy is big.", "My six month old puppy is small."),
        ("He went to sleep late.", "He went to sleep early."),
        ("Are you serious? That's cheap.", "Are you serious? That's expensive."),
        ("Right click on the new file.", "Right click on the old file."),
        ("I boot the install , it is fast.", "I boot the install , it is slow."),
        ("Come back into the big room.", "Come back into the small room."),
        ("Then open a terminal.", "Then shut a terminal."),
        ("Music wise it is good.", "Music wise it is bad."),
    ],
)
def test_everyday_sentences_stay_well_formed(text, expected):
    assert Antonym()(text) == expected
