"""The language of a corpus, where function words and script make it clear."""

import pytest

from dialeval.dialogues import Passage, Turn, to_passages
from dialeval.dialogues.languages import FUNCTION_WORDS, language_of
from dialeval.protocols.evaluation.language_check import language_warnings

TEXTS = {
    "English": "Well, I was at the market this morning and they had no bread, so we went home.",
    "German": "Ich war heute auf dem Markt und es gab kein Brot, also sind wir mit dem Bus heim.",
    "French": "Je suis allé au marché ce matin et il n'y avait pas de pain, mais c'est bien.",
    "Spanish": "Esta mañana no había pan en el mercado y por eso me fui con los niños a la casa.",
    "Italian": "Questa mattina non ho trovato il pane al mercato e sono tornato a casa.",
    "Portuguese": "Hoje de manhã não havia pão no mercado e eu voltei para casa com uma amiga.",
    "Dutch": "Ik was vanmorgen op de markt en er was geen brood, maar het is niet erg voor ons.",
    "Japanese": "今朝は市場に行きましたが、パンがありませんでした。",
    "Chinese or Japanese": "今天早上我去了市场但是没有面包所以我们回家了",
    "Korean": "오늘 아침에 시장에 갔는데 빵이 없었어요",
    "a language in Arabic script": "ذهبت إلى السوق هذا الصباح ولم يكن هناك خبز",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_recognised(language):
    assert language_of([TEXTS[language]] * 6) == language


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["", "  "],
        ["12 + 4 = 16"] * 90,
        ["ok"] * 10,
        ["lorem ipsum dolor sit amet consectetur adipiscing elit"] * 20,
        ["tea bike cold bought like"] * 30,
        [TEXTS["German"], TEXTS["English"]] * 10,
    ],
)
def test_nothing_is_said_where_it_is_not_clear(texts):
    assert language_of(texts) == ""


def test_every_list_is_ahead_of_the_others_on_its_words():
    for language, words in FUNCTION_WORDS.items():
        assert language_of([" ".join(sorted(words))] * 3) in (language, "")


def passages(text: str, author: str = "human"):
    return to_passages([Passage((Turn("A", "?"),), text, author, id=str(n)) for n in range(20)])


def test_warnings_name_the_evaluators_with_an_english_encoder_and_sides_that_differ():
    german, english = passages(TEXTS["German"]), passages(TEXTS["English"], "bot")
    evaluators = ["stack", "surface", "coin"]
    assert list(language_warnings(english, {"bot": english}, evaluators)) == []
    (encoder,) = language_warnings(german, {"bot": german}, evaluators)
    assert "in German" in encoder and "but stack read" in encoder
    assert list(language_warnings(german, {"bot": german}, ["surface"])) == []
    *_, sides = language_warnings(german, {"bot": english}, evaluators)
    assert sides.startswith("bot answers in English and the humans in German")
