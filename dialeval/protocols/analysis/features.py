"""Words, openers and formats that distinguish two sides, with examples."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from dialeval.dialogues.tokens import lower_tokens
from dialeval.metrics.analysis_results import TypicalFeature
from dialeval.metrics.log_odds import LogOdds, log_odds
from dialeval.protocols.analysis.decisions import Decisions

MIN_COUNT = 5
MOST = 10
"""Features of each side and kind that are shown."""
EXAMPLES = 3


def words_of(text: str) -> list[str]:
    """The words of a response, each once."""
    return list(dict.fromkeys(lower_tokens(text)))


def opener_of(text: str) -> list[str]:
    """Its first two words."""
    words = lower_tokens(text)
    return [" ".join(words[:2])] if words else []


def formats_of(text: str) -> list[str]:
    """How it is written: end mark, case, spaces before punctuation, digits, markers."""
    stripped = text.strip()
    last = stripped[-1:]
    return [
        f"ends with {last}" if last and not last.isalnum() else "ends with a letter or digit",
        "begins upper-case" if stripped[:1].isupper() else "begins lower-case",
        "all lower-case" if stripped == stripped.lower() else "has upper-case letters",
        "space before punctuation" if any(f" {mark}" in text for mark in ".,?!")
        else "no space before punctuation",
        "has digits" if any(letter.isdigit() for letter in text) else "no digits",
        "has <markers>" if "<" in text and ">" in text else "no <markers>",
        "white space at an end" if text != stripped else "no white space at the ends",
    ]  # fmt: skip


KINDS: dict[str, Callable[[str], list[str]]] = {
    "word": words_of,
    "opener": opener_of,
    "format": formats_of,
}


def typical_features(decisions: Decisions, alpha: float = 0.05) -> Iterator[TypicalFeature]:
    """Features that are significantly more frequent on one side, in data and in decisions."""
    texts = [passage.response for passage in decisions.passages]
    for sides, positive in (("data", decisions.human), ("decisions", decisions.predicted)):
        if positive.all() or not positive.any():
            continue
        for kind, features in KINDS.items():
            names = [features(text) for text in texts]
            yield from _of_kind(sides, kind, names, texts, positive, alpha)


def _of_kind(
    sides: str,
    kind: str,
    features: Sequence[Sequence[str]],
    texts: Sequence[str],
    positive: np.ndarray,
    alpha: float,
) -> Iterator[TypicalFeature]:
    counts: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())
    for names, is_positive in zip(features, positive, strict=True):
        counts[0 if is_positive else 1].update(names)
    rows = log_odds(*counts, min_count=MIN_COUNT)
    significant = [row for row in rows if row.p_holm <= alpha]
    chosen = [row for row in significant if row.z > 0][:MOST]
    chosen += [row for row in significant if row.z < 0][::-1][:MOST]
    for row in chosen:
        side = positive if row.z > 0 else ~positive
        yield TypicalFeature(
            sides, kind, str(row.word), row.log_odds, row.z, row.p_holm, row.first, row.second,
            tuple(_examples(row, features, texts, side)),
        )  # fmt: skip


def _examples(
    row: LogOdds, features: Sequence[Sequence[str]], texts: Sequence[str], side: np.ndarray
) -> list[str]:
    matches = dict.fromkeys(
        text
        for text, names, is_side in zip(texts, features, side, strict=True)
        if is_side and row.word in names
    )
    return list(matches)[:EXAMPLES]
