import sys

import pytest

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.lexicon import (
    PARTS,
    antonyms,
    entities,
    irregular_verbs,
    keep_words,
    names,
    read_words,
    stop_words,
    vocabulary,
    word_tags,
)


def test_stop_words_are_small_and_many():
    assert len(stop_words()) >= 130
    assert {"the", "of", "not", "i", "what", "don't"} <= stop_words()
    assert all(word == word.lower() for word in stop_words() | keep_words())


def test_pronouns_wh_words_and_negation_are_kept():
    assert {"i", "us", "who", "why", "not", "never", "won't", "cannot"} <= keep_words()
    assert not {"the", "of", "is", "very"} & keep_words()


def test_embedded_antonyms_hold_three_hundred_pairs_of_verbs_adjectives_and_adverbs():
    table = antonyms()
    pairs = {
        frozenset((word, antonym))
        for word, parts in table.items()
        for listed in parts.values()
        for antonym in listed
    }
    assert len(pairs) >= 300
    assert {part for parts in table.values() for part in parts} == {"verb", "adj", "adv"}
    assert all(len(pair) == 2 for pair in pairs)


def test_antonyms_hold_both_ways_unless_marked():
    table = antonyms()
    assert "hate" in table["love"]["verb"] and "love" in table["hate"]["verb"]
    assert table["borrow"]["verb"] == ("lend",) and "lend" not in table


def test_every_resource_line_can_be_read():
    assert all(tags and word == word.lower() for word, tags in word_tags().items())
    assert irregular_verbs()["go"] == ("went", "gone")
    assert "Paris" in names("city") and "Tom" in names("male") and "Mary" in names("female")
    assert len(vocabulary()) > 900


def test_word_lists_are_read_without_comments(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("# ours\nThe\nof  and\n\n")
    assert stop_words(str(path)) == read_words(path) == {"the", "of", "and"}
    assert vocabulary(str(path)) == ("and", "of", "the")


def test_an_empty_word_list_is_refused(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("# nothing\n")
    with pytest.raises(BadInput, match="the file holds none"):
        read_words(path)


def test_antonym_tables_lose_the_language_prefix(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("en_hot en_cold\nUp down \n")
    assert antonyms(str(path)) == {
        "hot": {"any": ("cold",)},
        "cold": {"any": ("hot",)},
        "up": {"any": ("down",)},
        "down": {"any": ("up",)},
    }


ADJECTIVES = """\
  1 This line stands for the licence at the head of the file.
00001000 00 a 02 hot 0 torrid(p) 0 002 ! 00002000 a 0101 & 00003000 a 0000 | of high temperature
00002000 00 a 01 cold 0 001 ! 00001000 a 0101 | of low temperature
"""


def test_a_wordnet_folder_gives_antonyms_from_word_to_word(tmp_path):
    (tmp_path / "data.adj").write_text(ADJECTIVES)
    (tmp_path / "data.verb").write_text(
        "00000500 30 v 01 switch_on 0 001 ! 00000600 v 0101 01 + 02 00 | start\n"
        "00000600 30 v 01 switch_off 0 001 ! 00000500 v 0101 00 | stop\n"
    )
    table = antonyms(str(tmp_path))
    assert table["hot"] == {"adj": ("cold",)} and table["cold"] == {"adj": ("hot",)}
    assert "torrid" not in table  # the pointer is of the first word
    assert table["switch on"] == {"verb": ("switch off",)}
    assert {part for parts in table.values() for part in parts} <= set(PARTS)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense\n", r"data.adj:1: expected a WordNet synset"),
        (None, "expected WordNet's database"),
    ],
)
def test_a_broken_wordnet_folder_is_refused(tmp_path, line, message):
    folder = tmp_path / "wordnet"
    folder.mkdir()
    if line:
        (folder / "data.adj").write_text(line)
    with pytest.raises(BadInput, match=message):
        antonyms(str(folder))


def test_missing_nltk_corpus_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk.corpus", None)
    antonyms.cache_clear()
    with pytest.raises(BadInput, match="nltk.downloader wordnet"):
        antonyms("wordnet")


def test_entities_come_one_a_line_or_with_surface_and_type(tmp_path):
    path = tmp_path / "entities.tsv"
    path.write_text("Orme\nlarkford college\tlarkford\tschool\nlarkford\tlarkford\tcity\n")
    known = entities(str(path))
    assert known.types["orme"] == ("entity",)
    assert known.types["larkford college"] == ("school",)
    assert set(known.types["larkford"]) == {"school", "city"}
    assert known.members["school"] == ("larkford college",)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "least"), [("ppdb_antonyms.txt", 200), ("wordnet_antonyms.txt", 4000)]
)
def test_shared_antonym_tables_are_read(shared, name, least):
    assert len(antonyms(str(shared / "lexical" / name))) > least
