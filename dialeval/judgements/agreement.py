"""Agreement among annotators: Fleiss' pi and Krippendorff's alpha, with missing judgements."""

from collections.abc import Hashable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.judgements.resampling import codes_of, sums_interval
from dialeval.metrics.share_intervals import wilson

LEVELS = ("nominal", "ordinal", "interval", "ratio")
"""What differences between answers mean to Krippendorff's alpha."""


class AgreementResult(TypedDict):
    """What `agreement` returns; bounds are of 95 % intervals over items."""

    fleiss_pi: float | None
    fleiss_pi_low: float | None
    fleiss_pi_high: float | None
    krippendorff_alpha: float | None
    krippendorff_alpha_low: float | None
    krippendorff_alpha_high: float | None
    observed_agreement: float
    n_items: int
    n_judgements: int
    level: str


def agreement(
    answers: Sequence[Any],
    items: Sequence[Hashable],
    *,
    level: str = "nominal",
    groups: Sequence[Hashable] | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> AgreementResult:
    """Fleiss' pi and Krippendorff's alpha of judgements, one row each, with intervals over items.

    Args:
        answers (`Sequence`):
            What an annotator answered; numbers for every level but `nominal`.
        items (`Sequence`):
            Which item each answer is about. Items with one answer say nothing about agreement.
        level (`str`, *optional*, defaults to `"nominal"`):
            `nominal`, `ordinal`, `interval` or `ratio`; used by alpha alone.
        groups (`Sequence`, *optional*):
            What the intervals draw, such as the context that several items share; items by default.
        resamples (`int`, *optional*, defaults to 1000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `AgreementResult`: Both coefficients (`None` where all answers are equal, so that chance
        alone explains them), the share of equal pairs of answers, and counts.

    Examples:
        >>> result = agreement(["a", "a", "b", "b", "a", "b"], [1, 1, 2, 2, 3, 3], resamples=50)
        >>> round(result["fleiss_pi"], 3), round(result["observed_agreement"], 3)
        (0.333, 0.667)
    """
    counts, categories = count_table(answers, items, level)
    pairs = counts.sum(1) > 1
    if not pairs.any():
        raise ValueError(
            f"Agreement needs items with two answers or more, but the {len(counts)} items have "
            "one each. Collect more answers per item."
        )
    kept = counts[pairs]
    distances = _distances(kept, categories, level)
    # `ordinal` distances are made of the answers' frequencies; they stay those of the whole sample.
    cluster = _clusters(items, groups)[pairs]
    pi_table = _sum_by(_pi_columns(kept), cluster)
    alpha_table = _sum_by(_alpha_columns(kept, distances), cluster)
    pi_bounds = sums_interval(pi_table, _pi_of_sums, resamples, seed)
    alpha_bounds = sums_interval(
        alpha_table, lambda sums: _alpha_of_sums(sums, distances), resamples, seed
    )
    if (_equal_pairs(kept) == 1).all():  # and so in every resample
        pi_bounds = alpha_bounds = _bounds_if_perfect(kept, len(pi_table))
    return {
        "fleiss_pi": _or_none(fleiss_pi(kept)),
        "fleiss_pi_low": _or_none(pi_bounds[0]),
        "fleiss_pi_high": _or_none(pi_bounds[1]),
        "krippendorff_alpha": _or_none(krippendorff_alpha(kept, level, categories)),
        "krippendorff_alpha_low": _or_none(alpha_bounds[0]),
        "krippendorff_alpha_high": _or_none(alpha_bounds[1]),
        "observed_agreement": float(_equal_pairs(kept).mean()),
        "n_items": len(kept),
        "n_judgements": int(kept.sum()),
        "level": level,
    }


def count_table(
    answers: Sequence[Any], items: Sequence[Hashable], level: str = "nominal"
) -> tuple[np.ndarray, list[Any]]:
    """How often each item got each answer, `(items, categories)`, and the categories in order.

    Args:
        answers (`Sequence`):
            One per judgement.
        items (`Sequence`):
            The item of each.
        level (`str`, *optional*, defaults to `"nominal"`):
            For every other level answers are numbers, sorted by value.

    Returns:
        `tuple[np.ndarray, list]`: Counts and categories.

    Examples:
        >>> counts, categories = count_table(["y", "n", "y"], ["a", "a", "b"])
        >>> counts.tolist(), categories
        ([[1, 1], [0, 1]], ['n', 'y'])
    """
    if level not in LEVELS:
        raise ValueError(f"Unknown level {level!r}. Choose one of {', '.join(LEVELS)}.")
    if len(answers) != len(items):
        raise ValueError(
            f"There are {len(answers)} answers and {len(items)} items. Pass one item per answer."
        )
    if not len(answers):
        raise ValueError("There are no judgements. Pass at least one.")
    values = list(answers) if level == "nominal" else _numbers(answers, level)
    categories = sorted(set(values), key=lambda value: (str(type(value)), value))
    column = {value: index for index, value in enumerate(categories)}
    rows, names = codes_of(list(items))
    counts = np.zeros((len(names), len(categories)), dtype=np.int64)
    np.add.at(counts, (rows, np.array([column[value] for value in values])), 1)
    return counts, categories


def fleiss_pi(counts: ArrayLike) -> float:
    """Fleiss' pi, also called kappa (Fleiss, 1971), of counts `(items, categories)`.

    Items may have different numbers of answers: the agreement of an item is the share of equal
    pairs among its answers, and chance agreement comes from all answers. With equal numbers this
    is Fleiss' definition; with two answers per item it is Scott's pi.

    Examples:
        >>> round(fleiss_pi([[2, 0], [0, 2], [1, 1]]), 3)
        0.333
    """
    table = _with_pairs(counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(_pi_of_sums(_pi_columns(table).sum(0)))


def krippendorff_alpha(
    counts: ArrayLike, level: str = "nominal", values: Sequence[Any] | None = None
) -> float:
    """Krippendorff's alpha (Krippendorff, 2011) of counts `(items, categories)`.

    Args:
        counts (`ArrayLike`):
            How often each item got each answer; items with one answer do not count.
        level (`str`, *optional*, defaults to `"nominal"`):
            What differences between answers mean.
        values (`Sequence`, *optional*):
            The answer of each column, in ascending order; `1, 2, ...` by default.

    Returns:
        `float`: 1 is perfect agreement, 0 chance; NaN where all answers are equal.

    Examples:
        >>> round(krippendorff_alpha([[2, 0], [0, 2], [1, 1]]), 3)
        0.444
    """
    table = _with_pairs(counts)
    distances = _distances(table, values or range(1, table.shape[1] + 1), level)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(_alpha_of_sums(_alpha_columns(table, distances).sum(0), distances))


def majority_answers(
    answers: Sequence[Hashable], items: Sequence[Hashable]
) -> dict[Hashable, Hashable | None]:
    """The most frequent answer about each item; `None` where two are equally frequent.

    Examples:
        >>> majority_answers(["y", "y", "n", "n", "y"], [1, 1, 1, 2, 2])
        {1: 'y', 2: None}
    """
    tallies: dict[Hashable, dict[Hashable, int]] = {}
    for answer, item in zip(answers, items, strict=True):
        tally = tallies.setdefault(item, {})
        tally[answer] = tally.get(answer, 0) + 1
    return {item: _most_frequent(tally) for item, tally in tallies.items()}


def _most_frequent(tally: dict[Hashable, int]) -> Hashable | None:
    top = max(tally.values())
    winners = [answer for answer, count in tally.items() if count == top]
    return winners[0] if len(winners) == 1 else None


def _with_pairs(counts: ArrayLike) -> np.ndarray:
    table = np.asarray(counts, dtype=float)
    if table.ndim != 2:
        raise ValueError(f"Expected counts of shape (items, categories), but got {table.shape}.")
    table = table[table.sum(1) > 1]
    if not len(table):
        raise ValueError("Agreement needs items with two answers or more, but there are none.")
    return table


def _bounds_if_perfect(counts: np.ndarray, units: int) -> tuple[float, float]:
    """The interval of a coefficient where no two answers about an item differ.

    Annotators may still disagree about as many items as Wilson's bound leaves room for.
    """
    shares = counts.sum(0) / counts.sum()
    chance = float(np.square(shares).sum())
    if chance == 1:  # all answers are equal, so the coefficient is not defined
        return float("nan"), float("nan")
    return 1 - wilson(0, units)[1] / (1 - chance), 1.0


def _equal_pairs(counts: np.ndarray) -> np.ndarray:
    """Share of equal pairs among the answers about each item."""
    n = counts.sum(1)
    return (counts * (counts - 1)).sum(1) / (n * (n - 1))


def _pi_columns(counts: np.ndarray) -> np.ndarray:
    """What pi is made of: agreement and 1 for each item, then the counts of the answers."""
    return np.column_stack([_equal_pairs(counts), np.ones(len(counts)), counts])


def _pi_of_sums(sums: np.ndarray) -> np.ndarray:
    observed = sums[..., 0] / sums[..., 1]
    shares = sums[..., 2:] / sums[..., 2:].sum(-1, keepdims=True)
    chance = np.square(shares).sum(-1)
    return np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)


def _alpha_columns(counts: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """What alpha is made of: disagreement within each item, then the counts of the answers."""
    n = counts.sum(1)
    within = np.einsum("uc,ck,uk->u", counts, distances, counts) / (n - 1)
    return np.column_stack([within, counts])


def _alpha_of_sums(sums: np.ndarray, distances: np.ndarray) -> np.ndarray:
    frequencies = sums[..., 1:]
    n = frequencies.sum(-1)
    expected = np.einsum("...c,ck,...k->...", frequencies, distances, frequencies) / (n - 1)
    return np.where(expected > 0, 1 - sums[..., 0] / np.where(expected > 0, expected, 1), np.nan)


def _distances(counts: np.ndarray, values: Sequence[Any], level: str) -> np.ndarray:
    """Squared differences between answers, `(categories, categories)`."""
    size = counts.shape[1]
    if level == "nominal":
        return 1.0 - np.eye(size)
    if level == "ordinal":
        frequencies = counts.sum(0)
        ranks = np.cumsum(frequencies) - frequencies / 2  # mid-rank of each answer
        return np.square(ranks[:, None] - ranks[None, :])
    numbers = np.asarray(values, dtype=float)
    gaps = np.square(numbers[:, None] - numbers[None, :])
    if level == "interval":
        return gaps
    sums = np.square(numbers[:, None] + numbers[None, :])
    return np.divide(gaps, sums, out=np.zeros_like(gaps), where=sums > 0)


def _clusters(items: Sequence[Hashable], groups: Sequence[Hashable] | None) -> np.ndarray:
    """The group of each item, in the order of `count_table`."""
    group_of = dict(zip(items, items if groups is None else groups, strict=True))
    return codes_of(list(group_of.values()))[0]


def _sum_by(table: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Rows summed by cluster."""
    _, index = np.unique(cluster, return_inverse=True)
    sums = np.zeros((index.max() + 1, table.shape[1]))
    np.add.at(sums, index, table)
    return sums


def _numbers(answers: Sequence[Any], level: str) -> list[float]:
    try:
        return [float(answer) for answer in answers]
    except (TypeError, ValueError):
        raise ValueError(
            f"At the level {level!r} answers are numbers, but there are others. "
            "Recode them, or use the level 'nominal'."
        ) from None


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
