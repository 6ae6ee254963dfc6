"""Surface traits, and the normaliser that takes them away."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.dialogues.format_steps import (
    cut,
    drop_final,
    drop_markers,
    edges,
    repair,
    straighten,
    tighten,
    unescape,
)
from dialeval.dialogues.normaliser import Normaliser, normalise, normalise_passages
from dialeval.dialogues.tokens import count_tokens
from dialeval.dialogues.traits import CONTENT_TRAITS, FORMAT_TRAITS, has_final, is_unfinished

TRAITS = {trait.name: trait for trait in FORMAT_TRAITS + CONTENT_TRAITS}


def misread(text: str, encoding: str = "cp1252") -> str:
    """UTF-8 taken for something else."""
    return text.encode("utf-8").decode(encoding, "ignore")


PIECES = (
    "_go", "_eos", "<s>", "</s>", "<|endoftext|>", "[SEP]", "__eou__", "<unk>", "<<s>s>", "&lt;s>",
    "&amp;", "&amp;lt;", "&#8217;", "\ufffd", "\u2019", "\u201c", "``", "''", "\u2014", "…", "É",
    "\ufb01", "\u0130", "ß", "\u00a0", "\u200b", "\x07", "\n", "\t", "  ", " ", " ", "do", "n't",
    "n\u2019t", "'", "'m", "I", " ' ", "t", "gon", "na", ",", ".", "?!", '"', "(", ")", ":)", "the",
    "Hello", "STOP", "1", "\u3053\u3093", "\U0001f600", "\uff1f", "-", "_", "&", ";", "<", ">", "[",
    misread("\u2019"), misread("é"), misread(misread("\u2019")), misread("\u201d"),
)  # fmt: skip
messy = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_go some what ? _eos", ("_go", "some what ?", "_eos")),
        ("<s>hi</s>", ("<s>", "hi", "</s>")),
        ("hi<|endoftext|>", ("", "hi", "<|endoftext|>")),
        ("[CLS] [SEP] hi [SEP] [PAD]", ("[CLS]", "hi", "[PAD]")),
        ("hi __eou__ there __eou__", ("", "hi __eou__ there", "__eou__")),
        ("_GO hi _EOS", ("_GO", "hi", "_EOS")),
        (" plain, [sic] a_b _really_ <3 ", ("", "plain, [sic] a_b _really_ <3", "")),
        ("_eos", ("_eos", "", "_eos")),
        ("", ("", "", "")),
    ],
)
def test_edges_are_the_markers_around_a_text(text, expected):
    assert edges(text) == expected


def test_given_markers_count_as_whole_tokens_in_their_own_case():
    assert edges("Bot: hi STOP", ("Bot:", "STOP")) == ("Bot:", "hi", "STOP")
    assert edges("stop Bot:hi NONSTOP", ("Bot:", "STOP")).core == "stop Bot:hi NONSTOP"
    assert drop_markers("STOP it STOP now STOP", ("STOP",)) == "it STOP now"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (misread("don\u2019t"), "don\u2019t"),
        (misread("don\u2019t", "latin-1"), "don\u2019t"),
        (misread(misread("\u2019")), "\u2019"),
        (misread("\u201chi\u201d"), '\u201chi"'),  # the last byte has no character in CP-1252
        (misread("\U0001f600 ok"), "\U0001f600 ok"),
        (misread("\u043f\u0440\u0438"), "\u043f\u0440\u0438"),
        ("caf\ufffd", "caf"),
        ("café…\u201d", "café…\u201d"),  # as letters they could be Chinese
        ("naïve — Ångström, ÃO", "naïve — Ångström, ÃO"),
    ],
)
def test_repair_reads_utf8_again_and_leaves_the_rest(text, expected):
    assert repair(text) == expected


def test_unescape_needs_the_semicolon():
    assert unescape("&quot;a&copy=b&quot; &nosuch; &#39;") == '"a&copy=b" &nosuch; \''


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I do n't know .", "i don't know"),
        ("you 're right , it 's \" fine \"", "you're right, it's \"fine\""),
        ("don \u2019 t go \u2014 we \u2019ll wait…", "don't go - we'll wait"),
        ("``quoted''  ( aside ) !", '"quoted" (aside)'),
        ("&lt;s&gt; hi", "hi"),
        ("good night :)", "good night :)"),
        ("Good night. :)", "good night :)"),
        ("\uff46\uff55\uff4c\uff4c\u3000width", "full width"),
        ("what ?!?", "what"),
        ("...", ""),
        ("_go _eos", ""),
        ("a\u200bb\x07c\ufeff", "abc"),
        ("he said 'so", "he said 'so"),
        ("boys ' toys", "boys ' toys"),
    ],
)
def test_normalise(text, expected):
    assert normalise(text) == expected


@settings(max_examples=400, deadline=None)
@given(messy)
def test_normalising_twice_is_normalising_once(text):
    once = normalise(text)
    assert normalise(once) == once


@settings(max_examples=300, deadline=None)
@given(messy, st.tuples(*[st.booleans()] * 8), st.none() | st.integers(1, 6))
def test_every_normaliser_is_idempotent(text, switches, max_tokens):
    lower, strip, *others = switches
    normaliser = Normaliser(lower, strip, ("STOP",), *others, max_tokens=max_tokens)
    once = normaliser(text)
    assert normaliser(once) == once
    assert max_tokens is None or count_tokens(once) <= max_tokens


@settings(max_examples=400, deadline=None)
@given(messy)
def test_nothing_of_format_is_left_after_normalising(text):
    text = normalise(text)
    assert edges(text) == ("", text, "")
    for trait in FORMAT_TRAITS:
        if trait.name != "unfinished sentence":  # being cut off takes `max_tokens`
            level = 1.0 if trait.name == "no final punctuation" else 0.0
            assert trait(text) == level or math.isnan(trait(text)), trait.name


@pytest.mark.parametrize(
    ("name", "with_it", "without"),
    [
        ("upper-case letters", "Hi", "hi"),
        ("capital at the start", '"Hi', "hI"),
        ("space before punctuation", "hi , you", "hi, you"),
        ("space before punctuation", 'say " hi "', 'say "hi"'),
        ("split contractions", "i do n't", "i don't"),
        ("split contractions", "i ca n\u2019t", "i can\u2019t"),
        ("marker inside", "an <unk> one", "an odd one"),
        ("no final punctuation", "and then", "and then."),
        ("no final punctuation", "a. b", 'he said "no!"'),
        ("unfinished sentence", "i saw The", "the end"),
        ("typography", "it\u2019s", "it's"),
        ("typography", "``so''", '"so"'),
        ("broken encoding", "itâ€™s", "it's"),
        ("HTML entities", "a &amp; b", "a & b"),
        ("control characters", "a\u200bb", "a b"),
        ("outer white space", "hi ", "hi"),
        ("inner white space", "a  b", "a b"),
        ("inner white space", "a\u00a0b", "a b"),
        ("empty response", "", "a"),
        ("foreign characters", "é", "e"),
    ],
)
def test_each_trait_tells_two_texts_apart(name, with_it, without):
    assert TRAITS[name](with_it) > 0
    assert TRAITS[name](without) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("space before punctuation", "hi you"),
        ("split contractions", "hi you"),
        ("typography", "hi you"),
        ("capital at the start", "12"),
        ("no final punctuation", ""),
    ],
)
def test_a_trait_that_cannot_be_seen_is_not_a_number(name, text):
    assert math.isnan(TRAITS[name](text))


def test_only_format_has_a_remedy_and_names_are_distinct():
    assert all(trait.hint for trait in FORMAT_TRAITS)
    assert not any(trait.hint for trait in CONTENT_TRAITS)
    assert len(TRAITS) == len(FORMAT_TRAITS) + len(CONTENT_TRAITS)


def test_small_steps():
    assert tighten("a ; b :) c . d") == "a; b :) c. d"
    assert straighten("a\u00a0b") == "a\u00a0b"  # white space is another trait
    assert drop_final("ok!? :)") == "ok :)"
    assert has_final("ok! :)") and not has_final("3.5")
    assert not is_unfinished("clothe") and is_unfinished("because")
    assert cut("don't stop, please", 2) == "don't stop" and cut("a", 5) == "a"


def test_a_normaliser_is_its_own_signature():
    assert eval(repr(Normaliser(max_tokens=7, markers=("STOP",)))) == Normaliser(
        max_tokens=7, markers=("STOP",)
    )
    with pytest.raises(BadInput, match="at least 1 token, but got 0"):
        Normaliser(max_tokens=0)


def test_passages_are_normalised_throughout_and_only_responses_cut():
    passage = Passage(
        context=(Turn("A", "Where ARE you going to , then ?"),),
        response="_go I do n't know , sorry . _eos",
        author="bot",
        id="q1",
        dialogue_id="d1",
        following="Oh , well , good luck !",
        extra={"rating": 3},
    )
    done = next(iterate(normalise_passages(to_passages([passage]), Normaliser(max_tokens=3))))
    assert done.context[0].text == "where are you going to, then"
    assert done.response == "i don't know"
    assert done.following == "oh, well, good luck"
    assert (done.author, done.id, done.dialogue_id, done.extra) == (
        "bot",
        "q1",
        "d1",
        {"rating": 3},
    )


def test_passages_without_context_or_following_are_normalised():
    passages = to_passages([Passage((), "Hi .", id="a"), Passage((), "", id="b")])
    done = list(iterate(normalise_passages(passages)))
    assert [passage.response for passage in done] == ["hi", ""]
    assert [passage.following for passage in done] == [None, None]
