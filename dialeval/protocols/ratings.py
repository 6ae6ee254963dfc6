"""Does a judge rank systems as people do? Agreement of AdverSuc with stored human ratings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.stats import rankdata

from dialeval.dialogues import BadInput, Passages, iterate
from dialeval.metrics.intervals import percentiles

FEWEST = 3
"""Systems below which there is no ranking to speak of."""


def ratings_of(systems: Mapping[str, Passages], key: str = "rating") -> dict[str, dict[str, float]]:
    """Mean human rating of each system's response to each context, where the data have them."""
    return {
        name: {
            passage.id: float(passage.extra[key])
            for passage in iterate(answers)
            if isinstance(passage.extra.get(key), int | float)
        }
        for name, answers in systems.items()
    }


def rank_agreement(
    scores: pa.Table,
    ratings: Mapping[str, Mapping[str, float]],
    evaluator: str,
    without: Sequence[str] = (),
    resamples: int = 2_000,
    seed: int = 0,
) -> dict[str, Any]:
    """Spearman's correlation over systems between AdverSuc and the mean human rating.

    Contexts are drawn with replacement, the same ones for every system and for both sides, so the
    interval speaks of other contexts, not of other systems.

    Args:
        scores (`Table`):
            `scores.parquet` of an evaluation.
        without (`Sequence[str]`, *optional*):
            Systems that are left out, such as a constant that decides everything.
    """
    names = [name for name in ratings if name not in without and ratings[name]]
    if len(names) < FEWEST:
        raise BadInput(f"a ranking needs {FEWEST} rated systems, but there are {len(names)}.")
    wrong = {name: _wrong(scores, evaluator, name) for name in names}
    common = sorted(set.intersection(*(set(wrong[name]) & set(ratings[name]) for name in names)))
    if not common:
        raise BadInput("no context is both judged and rated for every system.")
    fooled = np.array([[wrong[name][key] for key in common] for name in names])  # (systems, n)
    rated = np.array([[ratings[name][key] for key in common] for name in names])
    rng = np.random.default_rng(seed)
    drawn = [
        _spearman(fooled[:, rows].mean(1), rated[:, rows].mean(1))
        for rows in rng.integers(len(common), size=(resamples, len(common)))
    ]
    low, high = percentiles(np.array(drawn))
    return {
        "evaluator": evaluator,
        "spearman": _spearman(fooled.mean(1), rated.mean(1)),
        "low": float(low),
        "high": float(high),
        "systems": len(names),
        "n": len(common),
        "adversuc": dict(zip(names, fooled.mean(1).tolist(), strict=True)),
        "rating": dict(zip(names, rated.mean(1).tolist(), strict=True)),
    }


def _wrong(scores: pa.Table, evaluator: str, system: str) -> dict[str, float]:
    """Share of wrong judgements about each context's two responses."""
    chosen = scores.filter(
        (pc.field("evaluator") == evaluator)
        & (pc.field("system") == system)
        & (pc.field("scenario") == "human_machine")
    )
    found: dict[str, list[float]] = {}
    columns = (chosen[name].to_pylist() for name in ("id", "label", "taken"))
    for key, label, taken in zip(*columns, strict=True):
        found.setdefault(key, []).append(float(taken != (label == 1)))
    return {key: float(np.mean(values)) for key, values in found.items()}


def _spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Correlation of ranks, 0 where one side is all ties."""
    ranks = np.stack([rankdata(one), rankdata(other)])
    if np.ptp(ranks, axis=1).min() == 0:
        return 0.0
    return float(np.corrcoef(ranks)[0, 1])
