"""Effects with intervals: one paired bootstrap over dialogues for all measures of a strategy."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.metrics.checks import encode_ids
from dialeval.metrics.intervals import percentiles, resampled_sums, wilson
from dialeval.metrics.overlap import bleu

ANY = (-np.inf, np.inf)
Statistic = Callable[[np.ndarray], np.ndarray]  # (..., columns) -> (...)


@dataclass(frozen=True)
class Columns:
    """What each context adds to some sums, `(n, columns)`, and what the sums say.

    Args:
        n (`int`):
            Contexts that count.
        range (`tuple[float, float]`, *optional*):
            Ends that the effect cannot pass.
    """

    values: np.ndarray
    statistic: Statistic
    n: int
    range: tuple[float, float] = ANY


@dataclass(frozen=True)
class Effect:
    """An effect, its interval, a two-sided p-value, and how many dialogues it rests on."""

    value: float
    low: float
    high: float
    p: float
    n: int
    dialogues: int


def mean_of(values: np.ndarray, range: tuple[float, float] = ANY) -> Columns:
    """The mean; what is not a number does not count."""
    known = np.isfinite(values)
    columns = np.column_stack([np.where(known, values, 0), known])
    return Columns(columns, _ratio, int(known.sum()), range)


def loss_of(normal: np.ndarray, perturbed: np.ndarray) -> Columns:
    """The share of a mean that is lost, over contexts where both are known."""
    known = np.isfinite(normal) & np.isfinite(perturbed)
    columns = [np.where(known, normal - perturbed, 0), np.where(known, normal, 0)]
    return Columns(np.column_stack(columns), _ratio, int(known.sum()))


def bleu_loss_of(normal: np.ndarray, perturbed: np.ndarray) -> Columns:
    """The share of corpus BLEU that is lost, from counts `(n, 10)` of both."""
    width = normal.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        before, after = bleu(sums[..., :width]), bleu(sums[..., width:])
        with np.errstate(divide="ignore", invalid="ignore"):
            return (before - after) / before

    counts = np.count_nonzero(normal[:, -1])  # those that have a reference
    return Columns(np.hstack([normal, perturbed]), statistic, int(counts))


def _ratio(sums: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def effects(
    parts: Mapping[str, Columns],
    groups: Sequence[Hashable],
    *,
    resamples: int = 100_000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Effect]:
    """The effect of each part; all share the same resamples, so one draw serves them all.

    Where every resample says the same (no reply changed at all, say), the interval would be a
    point however few dialogues there are. Then the share of dialogues that might still differ,
    by Wilson's interval of none in so many, is its half-width.
    """
    if not len(groups):
        return {name: Effect(*[float("nan")] * 4, 0, 0) for name in parts}
    unit = encode_ids(groups, len(groups))
    wide = np.hstack([each.values for each in parts.values()])
    table = np.zeros((unit.max() + 1, wide.shape[1]))
    np.add.at(table, unit, wide)
    drawn = resampled_sums(table, resamples, seed) if len(table) > 1 else np.empty((0, 0))
    found, at = {}, 0
    for name, each in parts.items():
        end = at + each.values.shape[1]
        value = float(each.statistic(table[:, at:end].sum(0)))
        some = each.statistic(drawn[:, at:end]) if len(drawn) else np.empty(0)
        ends = _ends(value, some, len(table), level, each.range)
        found[name] = Effect(value, *ends, _p_value(some), each.n, len(table))
        at = end
    return found


def _ends(
    value: float, drawn: np.ndarray, dialogues: int, level: float, range: tuple[float, float]
) -> tuple[float, float]:
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn) or not np.isfinite(value):
        return float("nan"), float("nan")
    low, high = percentiles(drawn, level)
    if np.ptp(drawn) < 1e-12:
        width = wilson(0, dialogues, level)[1]
        low, high = value - width, value + width
    return max(low, range[0]), min(high, range[1])


def _p_value(drawn: np.ndarray) -> float:
    """Twice the smaller share of resamples on either side of 0, as `paired_bootstrap` has it."""
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return float("nan")
    sides = (drawn <= 1e-12).sum(), (drawn >= -1e-12).sum()
    return float(min(1.0, 2 * (min(sides) + 1) / (len(drawn) + 1)))
