"""Effects with intervals: one paired bootstrap over dialogues for all measures of a strategy."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.metrics.checks import encode_ids
from dialeval.metrics.intervals import percentiles
from dialeval.metrics.overlap import bleu
from dialeval.metrics.paired import least_p, small_sample_p
from dialeval.metrics.resampling import resampled_sums
from dialeval.metrics.robustness_results import Estimate
from dialeval.metrics.share_intervals import wilson

UNBOUNDED = (-np.inf, np.inf)
Statistic = Callable[[np.ndarray], np.ndarray]  # (..., columns) -> (...)


@dataclass(frozen=True)
class Columns:
    """What each context adds to some sums, and the statistic of these sums.

    Args:
        values (`ndarray`):
            One row per context, shape `(n, columns)`.
        statistic (`Callable`):
            From sums `(..., columns)` to the effect `(...)`.
        n (`int`):
            Number of contexts that have a value.
        range (`tuple[float, float]`, *optional*):
            Smallest and largest value that the effect can have.
    """

    values: np.ndarray
    statistic: Statistic
    n: int
    range: tuple[float, float] = UNBOUNDED


@dataclass(frozen=True)
class Effect:
    """An effect, its interval, a two-sided p-value, and the numbers of contexts and dialogues."""

    value: float
    low: float
    high: float
    p: float
    n: int
    dialogues: int

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        return Estimate(self.value, self.low, self.high)


def mean_of(values: np.ndarray, range: tuple[float, float] = UNBOUNDED) -> Columns:
    """The mean; NaN is left out."""
    finite = np.isfinite(values)
    columns = np.column_stack([np.where(finite, values, 0), finite])
    return Columns(columns, _ratio, int(finite.sum()), range)


def loss_of(normal: np.ndarray, perturbed: np.ndarray) -> Columns:
    """The relative loss of a mean, over contexts where both values are finite."""
    finite = np.isfinite(normal) & np.isfinite(perturbed)
    columns = [np.where(finite, normal - perturbed, 0), np.where(finite, normal, 0)]
    return Columns(np.column_stack(columns), _ratio, int(finite.sum()))


def bleu_loss_of(normal: np.ndarray, perturbed: np.ndarray) -> Columns:
    """The relative loss of corpus BLEU, from counts `(n, 10)` of both."""
    width = normal.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        before, after = bleu(sums[..., :width]), bleu(sums[..., width:])
        with np.errstate(divide="ignore", invalid="ignore"):
            return (before - after) / before

    with_reference = np.count_nonzero(normal[:, -1])
    return Columns(np.hstack([normal, perturbed]), statistic, int(with_reference))


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
    """The effect of each part; all parts share the same resamples.

    If all resamples are equal (no reply changed at all, say), a percentile interval would be a
    point, however few dialogues there are. Then the upper Wilson bound of 0 out of the number of
    dialogues is its half-width.

    Args:
        parts (`Mapping[str, Columns]`):
            What to measure, by name; all with one row per context.
        groups (`Sequence[Hashable]`):
            The dialogue of each context, the unit that is resampled.
        resamples (`int`, *optional*, defaults to 100000):
            Number of bootstrap resamples.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level of the intervals.
        seed (`int`, *optional*, defaults to 0):
            Seed of the resamples.

    Returns:
        `dict[str, Effect]`: The effect of each part, by name.
    """
    if not len(groups):
        nan = float("nan")
        return {name: Effect(nan, nan, nan, nan, 0, 0) for name in parts}
    unit = encode_ids(groups, len(groups))
    wide = np.hstack([part.values for part in parts.values()])
    table = np.zeros((unit.max() + 1, wide.shape[1]))
    np.add.at(table, unit, wide)
    sums = resampled_sums(table, resamples, seed) if len(table) > 1 else np.empty((0, 0))
    results, start = {}, 0
    for name, part in parts.items():
        end = start + part.values.shape[1]
        value = float(part.statistic(table[:, start:end].sum(0)))
        resampled = part.statistic(sums[:, start:end]) if len(sums) else np.empty(0)
        low, high = _interval(value, resampled, len(table), level, part.range)
        p_value = small_sample_p(_p_value(resampled), len(table))
        p_value = max(p_value, least_p(len(table)))
        results[name] = Effect(value, low, high, p_value, part.n, len(table))
        start = end
    return results


def _interval(
    value: float, resampled: np.ndarray, dialogues: int, level: float, range: tuple[float, float]
) -> tuple[float, float]:
    resampled = resampled[np.isfinite(resampled)]
    if not len(resampled) or not np.isfinite(value):
        return float("nan"), float("nan")
    low, high = percentiles(resampled, level, dialogues)
    if np.ptp(resampled) < 1e-12:
        width = wilson(0, dialogues, level)[1]
        low, high = value - width, value + width
    return max(low, range[0]), min(high, range[1])


def _p_value(resampled: np.ndarray) -> float:
    """Twice the smaller share of resamples on either side of 0, as in `paired_bootstrap`."""
    resampled = resampled[np.isfinite(resampled)]
    if not len(resampled):
        return float("nan")
    sides = (resampled <= 1e-12).sum(), (resampled >= -1e-12).sum()
    return float(min(1.0, 2 * (min(sides) + 1) / (len(resampled) + 1)))
