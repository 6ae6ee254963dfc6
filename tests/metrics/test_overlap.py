"""BLEU and chrF: sums of counts against sacreBLEU's corpus scores."""

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU

from dialeval.metrics.overlap import bleu, bleu_counts, overlap_signature, sentence_chrf

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "near", "it"]


def texts(seed: int, n: int = 40) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    replies = [rng.choice(WORDS, rng.integers(1, 12)).tolist() for _ in range(n)]
    # Half of each reference is the text itself, so that long n-grams match too.
    gold = [[*row[: len(row) // 2 + 1], *rng.choice(WORDS, 3)] for row in replies]
    return [" ".join(row) for row in replies], [" ".join(row) for row in gold]


@pytest.mark.parametrize("seed", range(5))
def test_bleu_of_summed_counts_is_sacrebleus_corpus_bleu(seed):
    replies, gold = texts(seed)
    score = bleu(bleu_counts(replies, gold).sum(0))
    assert score == pytest.approx(sacrebleu.corpus_bleu(replies, [gold]).score / 100, abs=1e-12)


@pytest.mark.parametrize(
    ("replies", "gold"),
    [
        (["a b c d e"], ["a x c y e"]),  # no bigram matches: smoothed
        (["a b c d e"], ["v w x y z"]),  # nothing matches
        (["a b"], ["a b"]),  # too short for 4 words
        ([""], ["a b c d"]),
        (["a b c d"], ["a b c d e f g h"]),  # shorter than its reference
    ],
)
def test_bleu_agrees_with_sacrebleu_where_counts_are_zero(replies, gold):
    expected = sacrebleu.corpus_bleu(replies, [gold]).score / 100
    assert bleu(bleu_counts(replies, gold).sum(0)) == pytest.approx(expected, abs=1e-12)


def test_bleu_is_vectorised_over_sums():
    replies, gold = texts(9, 6)
    counts = bleu_counts(replies, gold)
    sums = np.stack([counts[:3].sum(0), counts[3:].sum(0)])
    metric = BLEU()
    expected = [
        metric.corpus_score(replies[:3], [gold[:3]]).score,
        metric.corpus_score(replies[3:], [gold[3:]]).score,
    ]
    assert bleu(sums) * 100 == pytest.approx(expected)


def test_chrf_is_sacrebleus_sentence_score():
    replies, gold = texts(1, 8)
    expected = [
        sacrebleu.sentence_chrf(reply, [other]).score
        for reply, other in zip(replies, gold, strict=True)
    ]
    assert sentence_chrf(replies, gold) * 100 == pytest.approx(expected)


def test_nothing_to_count_gives_no_rows():
    assert bleu_counts([], []).shape == (0, 10)
    assert sentence_chrf([], []).shape == (0,)


def test_another_number_of_references_is_refused():
    with pytest.raises(ValueError, match="2 texts for 1 references"):
        bleu_counts(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="1 texts for 0 references"):
        sentence_chrf(["a"], [])


def test_the_signature_says_how_sacrebleu_counts():
    assert "smooth:exp" in overlap_signature() and "nc:6" in overlap_signature()
