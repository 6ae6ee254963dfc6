"""Percentile intervals of responses, against `scipy.stats.bootstrap` at equal resamples.

Both run in this process, interleaved, the best of several rounds; scipy in batches that fit into
memory. The bounds of both intervals must agree within three Monte-Carlo standard errors.
Times are CPU seconds.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import bootstrap, norm

from dialeval.metrics.intervals import interval

BATCH = 200  # resamples that scipy holds at once
TAIL = 0.025


def make(items: int, seed: int = 0) -> dict[str, tuple[np.ndarray, np.ndarray | None]]:
    """Values and their dialogues: decisions and scores, single or four per dialogue."""
    rng = np.random.default_rng(seed)
    dialogue = np.repeat(np.arange(-(-items // 4)), 4)[:items]
    shares = rng.beta(4, 2, size=dialogue.max() + 1)[dialogue]
    return {
        "decisions": ((rng.random(items) < 0.6).astype(float), None),
        "decisions, 4 a dialogue": ((rng.random(items) < shares).astype(float), dialogue),
        "scores": (rng.beta(2, 2, size=items), None),
        "scores, 4 a dialogue": (rng.beta(2, 2, size=items), dialogue),
    }


def main(
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000), resamples: int = 10_000, rounds: int = 2
) -> dict[int, dict[str, float]]:
    """Print seconds, the speed-up over scipy, and the largest difference of the bounds, by size."""
    return {size: compare(size, resamples, rounds) for size in sizes}


def compare(items: int, resamples: int, rounds: int) -> dict[str, float]:
    """The ratios for one number of responses."""
    heads = ("values", "dialeval s", "scipy s", "ratio", "difference in standard errors")
    table, ratios = Table(*heads, title=f"{items:,} responses"), {}
    for name, (values, groups) in make(items).items():
        arguments = values, groups, resamples
        dialeval_seconds, (low, high) = _best(partial(_dialeval, *arguments), rounds)
        scipy_seconds, reference = _best(partial(_scipy, *arguments), rounds)
        error = reference.standard_error * np.sqrt(2 * TAIL * (1 - TAIL) / resamples)
        error /= norm.pdf(norm.ppf(TAIL))  # of the difference of two drawn quantiles
        deviations = np.subtract([low, high], reference.confidence_interval)
        ratios[f"scipy, {name}"] = ratio = scipy_seconds / dialeval_seconds
        apart = np.abs(deviations).max() / error
        row = (f"{dialeval_seconds:.4f}", f"{scipy_seconds:.2f}", f"{ratio:.1f}", f"{apart:.2f}")
        table.add_row(name, *row, style="red" if apart > 3 else None)
    Console().print(table)
    return ratios


def _best(run: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Seconds of the fastest round, and the last result."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        result = run()
        seconds.append(time.process_time() - start)
    return min(seconds), result


def _dialeval(values: np.ndarray, groups: np.ndarray | None, resamples: int) -> tuple[float, float]:
    return interval(values, groups, method="bootstrap", resamples=resamples, seed=1)


def _scipy(values: np.ndarray, groups: np.ndarray | None, resamples: int):
    settings = {"n_resamples": resamples, "method": "percentile", "batch": BATCH, "rng": 2}
    if groups is None:
        return bootstrap((values,), np.mean, vectorized=True, **settings)
    sums, sizes = np.bincount(groups, values), np.bincount(groups)
    return bootstrap((sums, sizes), _ratio, paired=True, vectorized=True, **settings)


def _ratio(sums: np.ndarray, sizes: np.ndarray, axis: int = -1) -> np.ndarray:
    return sums.sum(axis=axis) / sizes.sum(axis=axis)


if __name__ == "__main__":
    main()
