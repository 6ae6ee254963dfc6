"""Strategies on real corpora and with real lexicons, where these are at hand."""

import pytest

from dialeval.dialogues import iterate, read
from dialeval.perturbations import edit_log, perturb, perturbation, replay
from dialeval.perturbations.confusions import load_confusions
from dialeval.perturbations.lexicon import stop_words

pytestmark = pytest.mark.shared
LEAST = {  # share of contexts with an edit: DailyDialog, Ubuntu
    "random-swap": (0.95, 0.9),
    "stopword-dropout": (0.95, 0.9),
    "data-paraphrase": (0.3, 0.35),
    "grammar-errors": (0.7, 0.7),
    "keyboard-typos": (0.95, 0.95),
    "casing-and-punctuation": (0.99, 0.99),
    "contraction-toggle": (0.45, 0.4),
}
FILES = ("dailydialog/dialogues_test.txt", "ubuntu_irc/test.jsonl")


@pytest.fixture(scope="module", params=[0, 1], ids=["dailydialog", "ubuntu"])
def corpus(request, shared):
    passages, _ = read(shared / FILES[request.param])
    return request.param, passages.select(range(0, len(passages), max(1, len(passages) // 300)))


@pytest.mark.parametrize("name", LEAST)
def test_contexts_are_covered_and_logs_replay(corpus, name):
    which, passages = corpus
    done = perturb(passages, perturbation(name))
    assert done.coverage >= LEAST[name][which]
    for old, new in zip(iterate(passages), iterate(done.passages), strict=True):
        assert new.response == old.response
        replayed = [replay(t.text, log) for t, log in zip(old.context, edit_log(new), strict=True)]
        assert replayed == [turn.text for turn in new.context]


def test_our_stop_words_are_nearly_those_of_nltk(shared):
    nltk_words = stop_words(str(shared / "lexical/stopwords_english.txt"))
    whole = {word for word in nltk_words if len(word) > 1 and "'" not in word}
    assert len(whole & stop_words()) / len(whole) > 0.8


@pytest.mark.parametrize(
    ("file", "word", "expected"),
    [("ppdb_synonyms.txt", "approximately", "roughly"), ("mwa_ppdb.zip", "102,70", "102.70")],
)
def test_tables_of_pairs_are_read(shared, file, word, expected):
    strategy = perturbation("data-paraphrase", agree=False, lexicon=str(shared / "lexical" / file))
    assert expected in {strategy(word, seed) for seed in range(60)}


def test_pie_tables_run_from_right_to_wrong(shared):
    path = str(shared / "lexical/common_replaces.json")
    assert load_confusions(path)["equipment"]["equipments"] == 97
    strategy = perturbation("grammar-errors", lexicon=path, min_count=30)
    errors = {strategy("equipment", seed) for seed in range(5)}
    assert errors == {"equipments"}
    verbs = load_confusions(str(shared / "lexical/verbs.json"))
    assert set(verbs["abandons"]) == {"abandon", "abandoned", "abandoning"}
