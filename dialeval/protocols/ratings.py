"""Agreement of AdverSuc with human ratings: does an evaluator rank systems as people do?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues import BadInput, Passages, iterate
from dialeval.judgements import correlate

MIN_SYSTEMS = 3
"""Systems below which there is no ranking."""


@dataclass(frozen=True)
class RankAgreement:
    """Spearman's correlation between AdverSuc and mean human ratings over systems.

    Args:
        evaluator (`str`):
            Name of the evaluator.
        spearman, low, high (`float`):
            The correlation with its interval; NaN where one side is all ties.
        systems, n (`int`):
            Number of systems, and of contexts.
        adversuc, rating (`dict[str, float]`):
            Means of each system.
    """

    evaluator: str
    spearman: float
    low: float
    high: float
    systems: int
    n: int
    adversuc: dict[str, float]
    rating: dict[str, float]


def ratings_of(systems: Mapping[str, Passages], key: str = "rating") -> dict[str, dict[str, float]]:
    """Mean human rating of each system's response to each context, if it was rated."""
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
) -> RankAgreement:
    """Spearman's correlation over systems between AdverSuc and the mean human rating.

    Contexts are drawn with replacement, the same ones for every system and for both sides, so the
    interval is about other contexts, not about other systems.

    Args:
        scores (`Table`):
            `scores.parquet` of an evaluation.
        ratings (`Mapping`):
            Ratings by system and context: see [`ratings_of`].
        evaluator (`str`):
            Name of the evaluator.
        without (`Sequence[str]`, *optional*):
            Systems to leave out, such as a constant that decides everything.
        resamples (`int`, *optional*, defaults to 2000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `RankAgreement`: The correlation with its interval.

    Raises:
        BadInput: There are too few rated systems, or no common contexts.
    """
    names = [name for name in ratings if name not in without and ratings[name]]
    if len(names) < MIN_SYSTEMS:
        raise BadInput(f"a ranking needs {MIN_SYSTEMS} rated systems, but there are {len(names)}.")
    errors = {name: _errors(scores, evaluator, name) for name in names}
    common = sorted(set.intersection(*(set(errors[name]) & set(ratings[name]) for name in names)))
    if not common:
        raise BadInput("no context is both evaluated and rated for every system.")
    success = np.array([[errors[name][key] for key in common] for name in names])  # (systems, n)
    rated = np.array([[ratings[name][key] for key in common] for name in names])
    row = correlate(success, rated, resampled="items", resamples=resamples, seed=seed)
    return RankAgreement(
        evaluator=evaluator,
        spearman=row.value,
        low=row.low,
        high=row.high,
        systems=len(names),
        n=len(common),
        adversuc=dict(zip(names, success.mean(1).tolist(), strict=True)),
        rating=dict(zip(names, rated.mean(1).tolist(), strict=True)),
    )


def _errors(scores: pa.Table, evaluator: str, system: str) -> dict[str, float]:
    """Share of wrong decisions about each context's two responses."""
    selected = scores.filter(
        (pc.field("evaluator") == evaluator)
        & (pc.field("system") == system)
        & (pc.field("scenario") == "human_machine")
    )
    errors: dict[str, list[float]] = {}
    columns = (selected[name].to_pylist() for name in ("id", "label", "predicted_human"))
    for key, label, predicted in zip(*columns, strict=True):
        errors.setdefault(key, []).append(float(predicted != (label == 1)))
    return {key: float(np.mean(values)) for key, values in errors.items()}
