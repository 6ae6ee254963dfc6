import gzip
import os
import sys
import zipfile
from pathlib import Path
from random import Random

import pytest

from dialeval.dialogues import BadInput
from dialeval.perturbations.lexicon import antonyms
from dialeval.perturbations.paraphrase import DataParaphrase
from dialeval.perturbations.synonyms import WordNet, _embedded_pairs, phrases

PPDB = (
    "[VBD] ||| bought ||| purchased ||| PPDB2.0Score=5.1 x=1 ||| 0-0 ||| Equivalence\n"
    "[NN] ||| bike ||| bicycle ||| PPDB2.0Score=4.0 ||| 0-0 ||| Equivalence\n"
    "[NP] ||| a lot of ||| many ||| PPDB2.0Score=4.0 ||| 0-0 1-0 ||| Equivalence\n"
    "[NN] ||| lot ||| parcel ||| PPDB2.0Score=2.0 ||| 0-0 ||| Equivalence\n"
    "[NN] ||| tea ||| drink ||| PPDB2.0Score=2.0 ||| 0-0 ||| ForwardEntailment\n"
)


@pytest.fixture
def ppdb(write):
    return str(write("ppdb-2.0-s-all", PPDB))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She bought a bike", "She purchased a bicycle"),  # the paper's example
        ("She purchased a bicycle", "She bought a bike"),  # the other direction
        ("Bought a lot of tea", "Purchased many tea"),  # longest first, and the case
        ("a lot , of tea", "a parcel , of tea"),  # a phrase does not cross punctuation
        ("BOUGHT", "PURCHASED"),
    ],
)
def test_ppdb_is_read_in_its_own_format(ppdb, text, expected):
    assert DataParaphrase(ppdb, agree=False)(text) == expected


def test_only_the_wanted_relations_count(ppdb):
    assert DataParaphrase(ppdb, agree=False)("tea") == "tea"
    forward = DataParaphrase(ppdb, relations=("ForwardEntailment",), agree=False)
    assert forward("tea") == "drink"
    with pytest.raises(BadInput, match="holds none of relation Exclusion"):
        DataParaphrase(ppdb, relations=("Exclusion",))("tea")


def test_packed_files_are_read(tmp_path, ppdb):
    with gzip.open(tmp_path / "ppdb.gz", "wt", encoding="utf-8") as file:
        file.write(PPDB)
    with zipfile.ZipFile(tmp_path / "pairs.zip", "w") as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/pairs", "car\tautomobile\n")
    assert DataParaphrase(str(tmp_path / "ppdb.gz"))("bike") == "bicycle"
    assert DataParaphrase(str(tmp_path / "pairs.zip"))("a car.") == "an automobile."


def test_a_table_of_pairs_works_both_ways_by_a_uniform_choice(write):
    path = str(write("pairs.txt", "big large\nbig great\n"))
    strategy = DataParaphrase(path, agree=False)
    drawn = [strategy("big", seed) for seed in range(400)]
    assert set(drawn) == {"large", "great"}
    assert 150 < drawn.count("large") < 250
    assert strategy("large") == "big"


def test_pairs_of_another_form_are_left_out_unless_asked_for(write):
    path = str(write("pairs.txt", "hold held\nhold grip\n"))
    assert {DataParaphrase(path)("hold", seed) for seed in range(20)} == {"grip"}
    assert {DataParaphrase(path, agree=False)("hold", s) for s in range(20)} == {"grip", "held"}


def test_the_rate_is_a_share_of_what_could_be_replaced(ppdb):
    text = " ".join(["bike tea"] * 500)
    assert len(DataParaphrase(ppdb, rate=0.2).edits(text, Random(0))) == pytest.approx(100, abs=30)
    assert DataParaphrase(ppdb, rate=0.0)(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was an awesome day", "It was a great day"),
        ("An awesome day", "A great day"),
        ("I beg your pardon , I beg your pardon", "Excuse me , excuse me"),
        ("OK . I said OK", "Okay . I said okay"),
        ("thanks to you", "thanks to you"),  # an idiom
        ("dont know", "dont know"),
    ],
)
def test_the_built_in_table_keeps_articles_case_and_idioms(text, expected):
    assert DataParaphrase()(text) == expected


def test_the_built_in_table_is_large_and_consistent():
    pairs = {frozenset(pair) for pair in _embedded_pairs() if pair[0] != pair[1]}
    assert len(pairs) >= 150
    assert all(len(pair) == 2 for pair in pairs)
    assert max(phrases(None, ()).lengths.values()) <= 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("one two three\n", "1: expected two words, found 'one two three'"),
        ("[X] ||| a ||| b\n", "1: expected PPDB's 6 columns, found 3"),
        ("\n", "the file holds none"),
    ],
)
def test_other_files_are_refused_with_the_line(write, content, message):
    with pytest.raises(BadInput, match=message):
        DataParaphrase(str(write("pairs.txt", content)))("a")


LICENCE = "  1 This is the licence, which is indented.  \n"


@pytest.fixture
def wndb(tmp_path):
    """Two verbs and a noun in WordNet's own format."""
    index = "buy v 2 1 @ 2 2 02207206 02274482  \npurchase v 1 1 @ 1 1 02207206  \n"
    data = (
        "02207206 40 v 02 buy 0 purchase 0 001 @ 02210855 v 0000 01 + 08 00 | obtain by purchase\n"
        "02274482 40 v 02 bribe 0 buy 2 000 01 + 08 00 | pay someone for a favour\n"
    )
    (tmp_path / "index.verb").write_text(LICENCE + index)
    (tmp_path / "data.verb").write_text(LICENCE + data)
    (tmp_path / "index.noun").write_text(LICENCE + "car n 1 1 @ 1 1 02958343  \n")
    (tmp_path / "data.noun").write_text(
        LICENCE + "02958343 06 n 02 car 0 motor_vehicle(a) 0 000 | a motor vehicle\n"
    )
    return tmp_path


def test_wordnet_gives_words_of_the_first_senses(wndb):
    assert WordNet(wndb).synonyms("buy", "verb") == ("purchase",)
    assert WordNet(wndb, 2).synonyms("buy", "verb") == ("purchase", "bribe")
    assert WordNet(wndb).synonyms("car", "noun") == ("motor vehicle",)
    assert WordNet(wndb).synonyms("car", "verb") == ()


def test_wordnet_synonyms_come_in_the_form_of_the_word(wndb):
    strategy = DataParaphrase(str(wndb), agree=False)
    assert strategy("She bought two cars.") == "She purchased two motor vehicles."


def test_only_close_synonyms_agree(wndb):
    """One word, in use, of few senses, that means this before all else."""
    assert DataParaphrase(str(wndb))("She bought two cars.") == "She purchased two cars."
    assert WordNet(wndb, 2).synonyms("buy", "verb", close=True) == ("purchase",)  # bribe: unlisted
    index = LICENCE + "buy v 1 1 @ 1 1 02207206  \npurchase v 1 1 @ 1 0 02207206  \n"
    (wndb / "index.verb").write_text(index)
    assert WordNet(wndb).synonyms("buy", "verb", close=True) == ()  # never seen in a text
    index = LICENCE + "buy v 1 1 @ 1 1 02207206  \npurchase v 2 1 @ 2 1 02274482 02207206  \n"
    (wndb / "index.verb").write_text(index)
    assert WordNet(wndb).synonyms("buy", "verb", close=True) == ()  # means another thing first
    places = " ".join(["02207206", *(f"0000000{n}" for n in range(4))])
    index = f"buy v 5 1 @ 5 5 {places}  \npurchase v 1 1 @ 1 1 02207206  \n"
    (wndb / "index.verb").write_text(LICENCE + index)
    assert WordNet(wndb).synonyms("buy", "verb", close=True) == ()  # too many senses
    assert WordNet(wndb).synonyms("buy", "verb") == ("purchase",)


@pytest.mark.skipif(
    "WNSEARCHDIR" not in os.environ, reason="set WNSEARCHDIR to WordNet's dict folder"
)
def test_the_whole_of_wordnet_3_0_is_read():
    folder = os.environ["WNSEARCHDIR"]
    known = antonyms(folder)
    assert sum(map(len, known.values())) == 6_817  # words by part of speech; NLTK has as many
    assert known["good"]["adj"][0] == "bad" and "wordless" not in known
    close = WordNet(Path(folder))
    assert close.synonyms("doctor", "noun", close=True) == ("physician",)
    assert "clip" in close.synonyms("time", "noun")
    assert "clip" not in close.synonyms("time", "noun", close=True)


def test_a_folder_without_wordnet_says_what_it_lacks(tmp_path):
    with pytest.raises(BadInput, match=r"WordNet's files \(index.noun, data.noun, ...\)"):
        DataParaphrase(str(tmp_path))("a")


def test_a_broken_wordnet_file_is_named_with_its_line(wndb):
    (wndb / "data.noun").write_text("nonsense\n")
    with pytest.raises(BadInput, match="data.noun:1: expected a WordNet synset"):
        WordNet(wndb)


def test_nltk_without_the_corpus_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "nltk", None)
    with pytest.raises(BadInput, match=r"not installed. Run `python -m nltk.downloader wordnet`"):
        DataParaphrase("wordnet")("a")


@pytest.mark.parametrize("options", [{"rate": 1.5}, {"senses": 0}])
def test_settings_out_of_range_are_refused(options):
    with pytest.raises(BadInput, match="must"):
        DataParaphrase(**options)
