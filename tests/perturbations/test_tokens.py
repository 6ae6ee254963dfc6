import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.perturbations.tokens import tokenize, word_tokens

ASCII = st.lists(
    st.one_of(
        st.characters(max_codepoint=127),
        st.sampled_from(["don", "n't", " ' ", "t", "ll", "10", "st", "www.", "c++.h", "--x", "()"]),
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don ’ t go , it 's late ...", ["Don ’ t", "go", ",", "it 's", "late", "..."]),
        ("I do n't know?!", ["I", "do n't", "know", "?", "!"]),
        ("you ’ Ve got it", ["you ’ Ve", "got", "it"]),
        ("see https://a.b/c?d=e. Now", ["see", "https://a.b/c?d=e", ".", "Now"]),
        ("me@x.org or /etc/X11.", ["me@x.org", "or", "/etc/X11", "."]),
        ("`rm -rf /` --num-proc=3", ["`rm -rf /`", "--num-proc=3"]),
        ("edit xorg.conf, my_var", ["edit", "xorg.conf", ",", "my_var"]),
        ("Yes.Why not?", ["Yes", ".", "Why", "not", "?"]),
        ("at 10:30, 1,000 $5", ["at", "10:30", ",", "1,000", "$", "5"]),
        ("well-known <unk> :-) ok", ["well-known", "<unk>", ":-)", "ok"]),
        ("我喜欢 नमस्ते", ["我", "喜", "欢", "नमस्ते"]),
        ("👨\u200d👩\u200d👧 🇩🇪👍🏽", ["👨\u200d👩\u200d👧", "🇩🇪", "👍🏽"]),
        ("", []),
    ],
)
def test_texts_are_split_into_tokens(text, expected):
    assert [token.text for token in tokenize(text)] == expected


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("don’t", "word"),
        ("3.14", "word"),
        ("/usr/bin", "code"),
        ("🙂", "emoji"),
        ("?", "punctuation"),
    ],
)
def test_a_token_knows_its_shape(text, shape):
    (token,) = tokenize(text)
    assert token.shape == shape
    assert token.is_word == (shape == "word")
    assert len(word_tokens(text)) == token.is_word


def test_words_are_spelled_as_in_a_lexicon():
    assert [token.word for token in word_tokens("Don ’ t SHOUT")] == ["don't", "shout"]


@given(st.text())
def test_token_offsets_are_correct_and_cover_all_but_spaces(text):
    end = 0
    for token in tokenize(text):
        assert text[end : token.start].strip() == ""
        assert text[token.start : token.end] == token.text != ""
        end = token.end
    assert text[end:].strip() == ""


@pytest.mark.parametrize(
    "piece", ["a+", "a.", "a-", "/a", "a_", "'", "<", "a@", "1.", "www.", "a'"]
)
def test_hostile_text_is_tokenized_as_fast_as_other_text(piece):
    text = piece * 30_000  # a rule that looks ahead again and again would take minutes here
    assert "".join(token.text for token in tokenize(text)) == text


@given(ASCII)
def test_a_letter_beyond_ascii_changes_nothing_before_it(text):
    assert tokenize(text) == tokenize(f"{text} \u2014")[:-1]
