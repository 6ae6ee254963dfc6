import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.perturbations.inflection import article, base_form, inflect, with_case_of
from dialeval.perturbations.lexicon import irregular_verbs


@pytest.mark.parametrize(
    ("word", "part", "expected"),
    [
        ("liked", "verb", "like"),
        ("Likes", "verb", "like"),
        ("left", "verb", "leave"),
        ("found", "verb", "find"),
        ("saw", "verb", "see"),
        ("fell", "verb", "fall"),
        ("thought", "verb", "think"),
        ("has", "verb", "have"),
        ("does", "verb", "do"),
        ("stopped", "verb", "stop"),
        ("studies", "verb", "study"),
        ("dying", "verb", "die"),
        ("bigger", "adj", "big"),
        ("better", "adj", "good"),
        ("worst", "adj", "bad"),
        ("mice", "noun", "mouse"),
    ],
)
def test_base_form_undoes_the_inflection(word, part, expected):
    assert base_form(word, part) == expected


@pytest.mark.parametrize(
    ("base", "tag", "expected"),
    [
        ("hate", "VBD", "hated"),
        ("hate", "VBZ", "hates"),
        ("hate", "VBG", "hating"),
        ("stop", "VBG", "stopping"),
        ("try", "VBZ", "tries"),
        ("lose", "VBD", "lost"),
        ("wake", "VBN", "woken"),
        ("quit", "VBN", "quit"),
        ("light", "VBN", "lit"),
        ("go", "VBP", "go"),
        ("turn off", "VBD", "turned off"),
        ("small", "JJR", "smaller"),
        ("big", "JJS", "biggest"),
        ("nice", "JJR", "nicer"),
        ("happy", "JJS", "happiest"),
        ("ugly", "JJR", "uglier"),
        ("expensive", "JJR", "more expensive"),
        ("polite", "JJS", "most polite"),
        ("good", "JJR", "better"),
        ("bad", "JJS", "worst"),
        ("slowly", "RBR", "more slowly"),
        ("early", "RBR", "earlier"),
        ("dog", "NNS", "dogs"),
    ],
)
def test_inflect_gives_the_form_of_the_tag(base, tag, expected):
    assert inflect(base, tag) == expected


@pytest.mark.parametrize("base", sorted(irregular_verbs()))
def test_irregular_verbs_come_back_to_their_base(base):
    past, participle = irregular_verbs()[base]
    assert base_form(past, "verb") == base_form(participle, "verb") == base
    assert inflect(base, "VBD") == past
    assert inflect(base, "VBN") == participle


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("easy", "an"),
        ("difficult", "a"),
        ("hour", "an"),
        ("honest", "an"),
        ("house", "a"),
        ("useful", "a"),
        ("unusual", "an"),
        ("university", "a"),
        ("uninteresting", "an"),
        ("one", "a"),
        ("Old", "an"),
    ],
)
def test_article_goes_by_sound(word, expected):
    assert article(word) == expected


@pytest.mark.parametrize(
    ("word", "model", "expected"),
    [("bad", "good", "bad"), ("bad", "Good", "Bad"), ("bad", "GOOD", "BAD"), ("we", "I", "We")],
)
def test_case_is_taken_from_the_model(word, model, expected):
    assert with_case_of(word, model) == expected


@given(st.text(), st.text())
def test_case_changes_letters_only(word, model):
    assert with_case_of(word, model).casefold() == word.casefold()
