"""Curves of training with rewards: one small plot per number, one line per method."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dialeval.metrics.adversarial_results import CURVES, PolicyRecord
from dialeval.reports.drawing import Frame
from dialeval.reports.format import finite

NAMES = {
    "reward": "reward",
    "accuracy": "discriminator accuracy",
    "perplexity": "perplexity of human responses",
    "kl": "KL from before, nats per response",
    "entropy": "entropy, nats per token",
    "length": "tokens per response",
    "distinct_1": "distinct-1",
    "distinct_2": "distinct-2",
}
_AXES = {
    "accuracy": "accuracy", "perplexity": "perplexity", "kl": "KL", "entropy": "entropy",
    "length": "tokens",
}  # fmt: skip
Runs = Mapping[str, Sequence[PolicyRecord]]


def curve_plots(runs: Runs, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    """A plot for each number of the validations.

    Args:
        runs (`Mapping[str, Sequence[PolicyRecord]]`):
            Validations of each method.
        kinds (`Mapping[str, str]`):
            CSS class of the colour of each method.

    Returns:
        `list[dict]`: Name and picture of each plot that has a value.
    """
    plots: list[dict[str, Any]] = [
        {"name": NAMES[name], "plot": _plot(name, runs, kinds)} for name in CURVES
    ]
    return [plot for plot in plots if plot["plot"]]


def _plot(name: str, runs: Runs, kinds: Mapping[str, str]) -> Markup:
    points = {
        method: [
            (record.iteration, value)
            for record in records
            if (value := finite(getattr(record, name))) is not None
        ]
        for method, records in runs.items()
    }
    points = {method: pairs for method, pairs in points.items() if pairs}
    if not points:
        return Markup("")
    rounds = [x for pairs in points.values() for x, _ in pairs]
    values = [y for pairs in points.values() for _, y in pairs]
    frame = Frame((0, max(1, *rounds, 1)), _range(values))
    parts = []
    for method, pairs in points.items():
        x, y = zip(*pairs, strict=True)
        parts += [
            frame.line(x, y, f"line {kinds[method]}"),
            frame.dots(x, y, f"dot {kinds[method]}"),
        ]
    alt = f"{NAMES[name]} by round of {', '.join(points)}; the numbers are in the table below"
    return frame.to_svg(parts, ("round", _AXES.get(name, NAMES[name])), alt)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """A range around the values that is never empty."""
    low, high = min(values), max(values)
    margin = 0.08 * (high - low) or 0.1 * abs(high) or 0.1
    return low - margin if low < 0 else max(0.0, low - margin), high + margin
