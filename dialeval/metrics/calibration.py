"""Calibration of probabilities, and the threshold from which a response is predicted human."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression

from dialeval.metrics.checks import scores_and_labels

_TEMPERATURES = (0.01, 100.0)  # separable margins would ask for 0, misleading ones for infinity


def expected_calibration_error(
    probabilities: ArrayLike, is_human: ArrayLike, bins: int = 15
) -> float:
    """Mean distance of P(human) from the share of humans, over bins of equal width.

    The bins are those of P(human) and include their upper edge. (Guo et al., 2017, bin the
    confidence of the predicted class.)

    Args:
        probabilities (`ArrayLike`):
            P(human) of each response.
        is_human (`ArrayLike`):
            1 if a human wrote the response, else 0.
        bins (`int`, *optional*, defaults to 15):
            How many bins [0, 1] is divided into.

    Returns:
        `float`: In `[0, 1]`; 0 if each bin's mean probability equals its share of humans.

    Examples:
        >>> expected_calibration_error([0.9, 0.9, 0.9, 0.9, 0.2], [1, 1, 1, 0, 0])  # .15 and .2
        0.16
    """
    predicted, human = _check_probabilities(probabilities, is_human)
    if bins < 1:
        raise ValueError(f"`bins` counts intervals of [0, 1], so it is at least 1, not {bins}.")
    bin_index = np.digitize(predicted, np.linspace(0, 1, bins + 1)[1:-1], right=True)
    gaps = np.bincount(bin_index, predicted - human, minlength=bins)  # summed within each bin
    return float(np.abs(gaps).sum() / len(human))


def brier_score(probabilities: ArrayLike, is_human: ArrayLike) -> float:
    """Mean squared distance of P(human) from the truth (Brier, 1950).

    Returns:
        `float`: In `[0, 1]`; a constant 0.5 gets 0.25.

    Examples:
        >>> brier_score([1.0, 0.5, 0.0, 0.5], [1, 1, 0, 0])
        0.125
    """
    predicted, human = _check_probabilities(probabilities, is_human)
    return float(np.square(predicted - human).mean())


def fit_temperature(margins: ArrayLike, is_human: ArrayLike) -> float:
    """The temperature that makes `sigmoid(margins / T)` most likely (Guo et al., 2017).

    Returns:
        `float`: In `[0.01, 100]`. Above 1 the margins were overconfident. The lower bound means
        that they separate the classes without an error, the upper bound that they are
        uninformative or misleading.

    Examples:
        >>> round(fit_temperature([4.0, 4.0, 4.0, -4.0], [1, 1, 0, 0]), 2)  # 3 of 4: log 3 = 4 / T
        3.64
    """
    values, human = scores_and_labels(margins, is_human, "margins")
    signed = np.where(human, values, -values)

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -signed / np.exp(log_temperature)).mean())

    bounds = tuple(np.log(_TEMPERATURES))
    optimum = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return float(np.exp(optimum.x))


def fit_isotonic(margins: ArrayLike, is_human: ArrayLike) -> tuple[list[float], list[float]]:
    """The non-decreasing curve from margins to P(human) with the least squared error.

    Each level is smoothed by half a count of both classes, so that no probability is 0 or 1: a
    product of probabilities, such as a joint score, would never recover from a zero.

    Returns:
        `tuple[list[float], list[float]]`: Margins and probabilities at the corners of the curve,
        for `numpy.interp`, which keeps the outer levels beyond them.

    Examples:
        >>> corners, levels = fit_isotonic([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])
        >>> [round(level, 3) for level in levels]
        [0.167, 0.167, 0.833, 0.833]
    """
    values, human = scores_and_labels(margins, is_human, "margins")
    regression = IsotonicRegression(out_of_bounds="clip").fit(values, human)
    levels, block = np.unique(regression.predict(values), return_inverse=True)
    counts, humans = np.bincount(block), np.bincount(block, human)
    smooth = np.maximum.accumulate((humans + 0.5) / (counts + 1))
    # The first and the last margin of each block are the corners of its step.
    order = np.argsort(values, kind="stable")
    edge = np.flatnonzero(np.diff(block[order])) if len(levels) > 1 else np.zeros(0, dtype=int)
    corners = np.unique(np.concatenate([[0], edge, edge + 1, [len(order) - 1]]))
    rows = order[corners]
    return values[rows].tolist(), smooth[block[rows]].tolist()


def threshold_for_accuracy(
    scores: ArrayLike, is_human: ArrayLike, higher_is_human: bool = True
) -> tuple[float, float]:
    """The threshold with the best balanced accuracy, and its false positive rate.

    It lies midway between two neighbouring scores. Of several equally good ones, the one nearest
    to 0.5 is chosen if all scores lie in [0, 1], else the one nearest to their median.

    Args:
        scores (`ArrayLike`):
            One score per response.
        is_human (`ArrayLike`):
            1 if a human wrote the response, else 0.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether scores from the threshold up are predicted human, or those from it down.

    Returns:
        `tuple[float, float]`: Threshold and share of humans predicted to be machines.

    Examples:
        >>> threshold_for_accuracy([0.1, 0.2, 0.6, 0.8], [0, 0, 1, 1])
        (0.4, 0.0)
    """
    values, human = scores_and_labels(scores, is_human, "scores")
    middle = 0.5 if values.min() >= 0 and values.max() <= 1 else float(np.median(values))
    sign = 1.0 if higher_is_human else -1.0
    levels, level_index = np.unique(sign * values, return_inverse=True)
    # Share of each class below the first, second, ... level, and below a bound above the last.
    false_positives = _shares_below(level_index[human], len(levels))
    true_positives = _shares_below(level_index[~human], len(levels))
    accuracy = (1 - false_positives + true_positives) / 2
    candidates = _midpoints(levels)
    best = np.flatnonzero(accuracy >= accuracy.max() - 1e-12)
    selected = best[np.argmin(np.abs(candidates[best] - sign * middle))]
    return float(sign * candidates[selected]), float(false_positives[selected])


def _shares_below(level_index: np.ndarray, levels: int) -> np.ndarray:
    counts = np.bincount(level_index, minlength=levels)
    return np.concatenate([[0], np.cumsum(counts)]) / len(level_index)


def _midpoints(levels: np.ndarray) -> np.ndarray:
    """Thresholds below all levels, between neighbours, and above all."""
    low, high = levels[:-1], levels[1:]
    middle = low + (high - low) / 2
    middle = np.where(middle > low, middle, high)  # neighbouring floats have nothing between them
    return np.concatenate([levels[:1], middle, [np.nextafter(levels[-1], np.inf)]])


def _check_probabilities(
    probabilities: ArrayLike, is_human: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    values, human = scores_and_labels(probabilities, is_human, "probabilities")
    if values.min() < 0 or values.max() > 1:
        raise ValueError(
            f"Probabilities lie in [0, 1], but these range from {values.min():g} to "
            f"{values.max():g}. Pass margins through a sigmoid first."
        )
    return values, human
