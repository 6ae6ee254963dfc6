"""The words of many texts equal those of `tokenize`, text by text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialeval.perturbations.tokens import tokenize
from dialeval.perturbations.word_arrays import words_of

PIECES = st.sampled_from(
    ["don", "’", "'", " ", " ", "t", "s", "re", "ve", "ll", "LL", "clock", "o", "n't", "do", "-",
     "--", "a", "A", "well", "10", "30", ":", ",", ".", "...", "!", "?", "(", ")", "()", "/", "_",
     "www", "x+", "^", "=", ";", "D", "p", "<", "3", ">", "\n", "\t", "\x0b", "é", "中", "😀", "“",
     "\u0301", "c++.h", "@", "`", "--flag", "mother-in-law", "\xa0", "\ud800", "İ"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join)


def expected(text: str) -> list[tuple[int, int, bool, bool]]:
    """Start, end, whether a word follows another, and whether it is the first or last token."""
    tokens = tokenize(text)
    return [
        (token.start, token.end, at > 0 and tokens[at - 1].is_word, at in (0, len(tokens) - 1))
        for at, token in enumerate(tokens)
        if token.is_word
    ]


def given_by(texts: list[str]) -> list[list[tuple[int, int, bool, bool]]]:
    rows = [[] for _ in texts]
    words = words_of(texts)
    for row, *word in zip(*(column.tolist() for column in words[:5]), strict=True):
        rows[row].append(tuple(word))
    return rows


@given(st.lists(TEXTS, max_size=5))
@example(["don ’ t", "do n't", "don ' t-shirt", "o'clock", "it 's", "dogs' s", "rock 'n' roll"])
@example(["I ’ Ve", "we'LL", "' t", "a '", "'", "", " ", "x 't 's", "can n't've", "n't", "a n't-x"])
@example(
    ["awww c++.h", "well-known c++.h", "www.$x", "f()", ":D", ":-D", "a:-b", "<3", "3,5", "1:2"]
)
def test_words_are_those_of_each_text_alone(texts):
    assert given_by(texts) == [expected(text) for text in texts]


@pytest.mark.shared
def test_words_of_a_corpus_are_those_of_its_texts(shared):
    lines = (shared / "dailydialog" / "dialogues_test.txt").read_text(encoding="utf-8")
    texts = lines.replace("\n", "").split("__eou__")
    assert len(texts) > 5_000
    assert given_by(texts) == [expected(text) for text in texts]


def test_no_text_has_no_words():
    assert len(words_of([]).row) == len(words_of(["", "?!"]).row) == 0
