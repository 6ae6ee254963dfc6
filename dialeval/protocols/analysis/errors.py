"""Where a discriminator errs, whether its probabilities are right, and what words explain."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from dialeval.dialogues.tokens import TOKEN, tokens
from dialeval.metrics.analysis_results import Bin, Curve
from dialeval.protocols.analysis.decisions import Decisions

_LENGTHS = ((1, 3), (4, 6), (7, 10), (11, 15), (16, 25), (26, 10**6))
_FREQUENCIES = ((1, 1), (2, 3), (4, 10), (11, 10**9))
MIN_ROWS = 10
"""Responses below which a bin is not shown."""
MOST_WORDS = 15


def error_bins(decisions: Decisions, resamples: int, seed: int) -> Iterator[Bin]:
    """Errors by length, by first word and by how often the response occurs in the data.

    Args:
        decisions (`Decisions`):
            What was decided.
        resamples, seed (`int`):
            Of the bootstrap over dialogues.

    Yields:
        `Bin`: Groups of at least `MIN_ROWS` responses.
    """
    lengths = decisions.lengths
    texts = [" ".join(row.response.lower().split()) for row in decisions.passages]
    times = Counter(texts)
    frequency = np.array([times[text] for text in texts])
    firsts = np.array([(tokens(text) or [""])[0] for text in texts], dtype=object)
    for low, high in _LENGTHS:
        name = f"{low} or more" if high == 10**6 else f"{low}–{high}"
        yield from _bin(decisions, "length", name, (lengths >= low) & (lengths <= high),
                        resamples, seed)  # fmt: skip
    for word, _ in Counter(firsts.tolist()).most_common(MOST_WORDS):
        yield from _bin(decisions, "first word", str(word), firsts == word, resamples, seed)
    for low, high in _FREQUENCIES:
        name = "once" if high == 1 else f"{low} times or more" if high == 10**9 else f"{low}–{high}"
        rows = (frequency >= low) & (frequency <= high)
        yield from _bin(decisions, "frequency", name, rows, resamples, seed)


def _bin(
    decisions: Decisions, group: str, name: str, rows: np.ndarray, resamples: int, seed: int
) -> Iterator[Bin]:
    if rows.sum() < MIN_ROWS:
        return
    error, low, high = decisions.error(rows, resamples, seed)
    yield Bin(
        group, name, int(rows.sum()), error, low, high, float(decisions.scores[rows].mean()),
        float(decisions.human[rows].mean()),
    )  # fmt: skip


def reliability_curve(decisions: Decisions, bins: int = 10) -> Curve | None:
    """Share of humans by P(human); `None` where scores are no probabilities."""
    scores = decisions.scores
    if not decisions.higher_is_human or scores.min() < 0 or scores.max() > 1:
        return None
    number = np.minimum((scores * bins).astype(int), bins - 1)
    used = [one for one in np.unique(number) if (number == one).sum() >= MIN_ROWS]
    x = tuple(float(scores[number == one].mean()) for one in used)
    y = tuple(float(decisions.human[number == one].mean()) for one in used)
    return Curve("reliability", x, y)


def bag_of_words_accuracy(decisions: Decisions, target: np.ndarray, seed: int) -> float | None:
    """Balanced accuracy with which the response's words alone predict a target, held out.

    Logistic regression on binary unigrams, five folds by dialogue: what it predicts of the
    discriminator's decisions needs no context and no word order to explain. Responses that also
    occur in the held-out fold are not learned from: a random reply is the human reply of another
    dialogue, and its text would be remembered with the other label.

    Args:
        decisions (`Decisions`):
            What was decided.
        target (`np.ndarray`):
            Decisions, or the truth.
        seed (`int`):
            Seed of the solver.

    Returns:
        `float` or `None`: .5 is chance; `None` with too few passages of a kind.
    """
    groups = np.unique(decisions.dialogues, return_inverse=True)[1]
    if min(target.sum(), (~target).sum()) < MIN_ROWS or len(np.unique(groups)) < 5:
        return None
    model = make_pipeline(
        CountVectorizer(binary=True, token_pattern=TOKEN.pattern),
        LogisticRegression(C=1.0, max_iter=300, class_weight="balanced", random_state=seed),
    )
    texts = np.array([passage.response for passage in decisions.passages], dtype=object)
    guess = np.zeros(len(texts), dtype=bool)
    for learn, held_out in GroupKFold(5).split(texts, target, groups):
        kept = learn[~np.isin(texts[learn], texts[held_out])]
        if len(np.unique(target[kept])) < 2:
            return None
        guess[held_out] = model.fit(texts[kept], target[kept]).predict(texts[held_out])
    return float((guess[target].mean() + (~guess[~target]).mean()) / 2)
