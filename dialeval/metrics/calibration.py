"""Calibration: do probabilities mean what they say, and from which score on is a response human?"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from dialeval.metrics.checks import scores_and_labels

_TEMPERATURES = (0.01, 100.0)  # separable margins would ask for 0, misleading ones for infinity


def expected_calibration_error(
    probabilities: ArrayLike, is_human: ArrayLike, bins: int = 15
) -> float:
    """How far P(human) is from the share of humans, on average over bins of equal width.

    The bins are those of P(human), each with its upper end. (Guo et al., 2017, bin the
    confidence of the class decided for.)

    Returns:
        `float`: In `[0, 1]`; 0 where each bin's mean probability is its share of humans.

    Example:
        >>> expected_calibration_error([0.9, 0.9, 0.9, 0.9, 0.2], [1, 1, 1, 0, 0])  # .15 and .2
        0.16
    """
    probabilities, human = _checked_probabilities(probabilities, is_human)
    if bins < 1:
        raise ValueError(f"`bins` counts intervals of [0, 1], so it is at least 1, not {bins}.")
    number = np.digitize(probabilities, np.linspace(0, 1, bins + 1)[1:-1], right=True)
    gaps = np.bincount(number, probabilities - human, minlength=bins)  # summed within each bin
    return float(np.abs(gaps).sum() / len(human))


def brier_score(probabilities: ArrayLike, is_human: ArrayLike) -> float:
    """Mean squared distance of P(human) from the truth (Brier, 1950).

    Returns:
        `float`: In `[0, 1]`; 0.25 is what saying 0.5 throughout gets.

    Example:
        >>> brier_score([1.0, 0.5, 0.0, 0.5], [1, 1, 0, 0])
        0.125
    """
    probabilities, human = _checked_probabilities(probabilities, is_human)
    return float(np.square(probabilities - human).mean())


def fit_temperature(margins: ArrayLike, is_human: ArrayLike) -> float:
    """The temperature that makes `sigmoid(margins / T)` most likely (Guo et al., 2017).

    Returns:
        `float`: In `[0.01, 100]`. Above 1 the margins were too sure. The lower end means that they
        separate the classes without a mistake, the upper end that they say nothing, or lie.

    Example:
        >>> round(fit_temperature([4.0, 4.0, 4.0, -4.0], [1, 1, 0, 0]), 2)  # 3 of 4: log 3 = 4 / T
        3.64
    """
    margins, human = scores_and_labels(margins, is_human, "margins")
    signed = np.where(human, margins, -margins)

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -signed / np.exp(log_temperature)).mean())

    bounds = tuple(np.log(_TEMPERATURES))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(np.exp(found.x))


def fit_isotonic(margins: ArrayLike, is_human: ArrayLike) -> tuple[list[float], list[float]]:
    """A rising curve from margins to P(human) that no other rising one fits better.

    Each level is smoothed by half a count of both kinds, so that no response is certain to be
    either: a product of probabilities, such as a joint score, would never recover from a zero.

    Returns:
        `tuple[list[float], list[float]]`: Margins and probabilities at the corners of the curve,
        for `numpy.interp`, which holds the outer levels beyond them.

    Example:
        >>> corners, levels = fit_isotonic([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])
        >>> [round(level, 3) for level in levels]
        [0.167, 0.167, 0.833, 0.833]
    """
    margins, human = scores_and_labels(margins, is_human, "margins")
    found = IsotonicRegression(out_of_bounds="clip").fit(margins, human)
    levels, block = np.unique(found.predict(margins), return_inverse=True)
    counts, humans = np.bincount(block), np.bincount(block, human)
    smooth = np.maximum.accumulate((humans + 0.5) / (counts + 1))
    # The first and the last margin of each block are the corners of its step.
    order = np.argsort(margins, kind="stable")
    edge = np.flatnonzero(np.diff(block[order])) if len(levels) > 1 else np.zeros(0, dtype=int)
    corners = np.unique(np.concatenate([[0], edge, edge + 1, [len(order) - 1]]))
    rows = order[corners]
    return margins[rows].tolist(), smooth[block[rows]].tolist()


def threshold_for_accuracy(
    scores: ArrayLike, is_human: ArrayLike, higher_is_human: bool = True
) -> tuple[float, float]:
    """The threshold with the best balanced accuracy, and the share of humans it takes for machines.

    It stands midway between two neighbouring scores. Of several that are equally good the one
    nearest to 0.5 is taken where all scores lie in [0, 1], else the one nearest to their median.

    Args:
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether scores from the threshold up are taken for human, or those from it down.

    Returns:
        `tuple[float, float]`: Threshold and false-positive rate.

    Example:
        >>> threshold_for_accuracy([0.1, 0.2, 0.6, 0.8], [0, 0, 1, 1])
        (0.4, 0.0)
    """
    scores, human = scores_and_labels(scores, is_human, "scores")
    middle = 0.5 if scores.min() >= 0 and scores.max() <= 1 else float(np.median(scores))
    sign = 1.0 if higher_is_human else -1.0
    levels, place = np.unique(sign * scores, return_inverse=True)
    # Share of each class below the first, second, ... level, and below none above the last.
    missed = _shares_below(place[human], len(levels))
    caught = _shares_below(place[~human], len(levels))
    accuracy = (1 - missed + caught) / 2
    candidates = _between(levels)
    best = np.flatnonzero(accuracy >= accuracy.max() - 1e-12)
    chosen = best[np.argmin(np.abs(candidates[best] - sign * middle))]
    return float(sign * candidates[chosen]), float(missed[chosen])


def _shares_below(places: np.ndarray, levels: int) -> np.ndarray:
    counts = np.bincount(places, minlength=levels)
    return np.concatenate([[0], np.cumsum(counts)]) / len(places)


def _between(levels: np.ndarray) -> np.ndarray:
    """Thresholds below all levels, between each two, and above all."""
    low, high = levels[:-1], levels[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle > low, middle, high)  # neighbouring floats have nothing between them
    return np.concatenate([levels[:1], middle, [np.nextafter(levels[-1], np.inf)]])


def _checked_probabilities(
    probabilities: ArrayLike, is_human: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    probabilities, human = scores_and_labels(probabilities, is_human, "probabilities")
    if probabilities.min() < 0 or probabilities.max() > 1:
        raise ValueError(
            f"Probabilities lie in [0, 1], but these go from {probabilities.min():g} to "
            f"{probabilities.max():g}. Pass margins through a sigmoid first."
        )
    return probabilities, human
