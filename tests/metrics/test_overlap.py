"""BLEU and chrF: our sums against sacreBLEU's own corpus scores."""

import numpy as np
import pytest
import sacrebleu
from sacrebleu.metrics import BLEU

from dialeval.metrics.overlap import bleu, bleu_counts, overlap_signature, sentence_chrf

WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "two", "dogs", "near", "it"]


def texts(seed: int, n: int = 40) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    said = [rng.choice(WORDS, rng.integers(1, 12)).tolist() for _ in range(n)]
    # Half of each reference is the text itself, so that long n-grams match too.
    gold = [[*row[: len(row) // 2 + 1], *rng.choice(WORDS, 3)] for row in said]
    return [" ".join(row) for row in said], [" ".join(row) for row in gold]


@pytest.mark.parametrize("seed", range(5))
def test_bleu_of_summed_counts_is_sacrebleus_corpus_bleu(seed):
    said, gold = texts(seed)
    ours = bleu(bleu_counts(said, gold).sum(0))
    assert ours == pytest.approx(sacrebleu.corpus_bleu(said, [gold]).score / 100, abs=1e-12)


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        (["a b c d e"], ["a x c y e"]),  # no pair is right: smoothed
        (["a b c d e"], ["v w x y z"]),  # nothing is right
        (["a b"], ["a b"]),  # too short for 4 words
        ([""], ["a b c d"]),
        (["a b c d"], ["a b c d e f g h"]),  # shorter than its reference
    ],
)
def test_bleu_agrees_with_sacrebleu_where_counts_are_zero(said, gold):
    wanted = sacrebleu.corpus_bleu(said, [gold]).score / 100
    assert bleu(bleu_counts(said, gold).sum(0)) == pytest.approx(wanted, abs=1e-12)


def test_bleu_of_many_sums_is_that_of_each():
    said, gold = texts(9, 6)
    counts = bleu_counts(said, gold)
    both = np.stack([counts[:3].sum(0), counts[3:].sum(0)])
    metric = BLEU()
    wanted = [
        metric.corpus_score(said[:3], [gold[:3]]).score,
        metric.corpus_score(said[3:], [gold[3:]]).score,
    ]
    assert bleu(both) * 100 == pytest.approx(wanted)


def test_chrf_is_sacrebleus_sentence_score():
    said, gold = texts(1, 8)
    wanted = [
        sacrebleu.sentence_chrf(one, [other]).score for one, other in zip(said, gold, strict=True)
    ]
    assert sentence_chrf(said, gold) * 100 == pytest.approx(wanted)


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
