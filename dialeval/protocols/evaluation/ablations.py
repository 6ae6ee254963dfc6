"""AdverSuc under other conditions: other seeds, less training data, and equal lengths."""

from dataclasses import dataclass

import numpy as np

from dialeval.metrics.evaluation_results import CurvePoint
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.collector import ResultCollector
from dialeval.protocols.evaluation.measures import Measure
from dialeval.protocols.evaluation.tables import ScoreTables


@dataclass(frozen=True)
class SeedVariation:
    """AdverSuc of several seeds and its standard deviation; `None` with a single seed."""

    seeds: list[float]
    seed_spread: float | None


def seed_variation(tables: ScoreTables, evaluator: str, system: str, first: float) -> SeedVariation:
    """AdverSuc with other folds, pairs and initial weights.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        evaluator (`str`):
            Name of the evaluator.
        system (`str`):
            Name of the system.
        first (`float`):
            AdverSuc of the run's own seed.

    Returns:
        `SeedVariation`: One value per seed, `first` first.
    """
    values = [first]
    for offset in range(1, tables.run.seeds):
        seed = tables.run.seed + offset
        table = tables.try_table(f"seed {seed}", evaluator, system, "human_machine", seed=seed)
        values += [] if table is None else [1 - measures.accuracy(table)]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return SeedVariation(values, spread)


def learning_curve(
    tables: ScoreTables, evaluator: str, system: str, full: Measure
) -> list[CurvePoint]:
    """AdverSuc against the number of training pairs.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        evaluator (`str`):
            Name of the evaluator.
        system (`str`):
            Name of the system.
        full (`Measure`):
            AdverSuc with all training pairs: the last point.

    Returns:
        `list[CurvePoint]`: By rising share; a share with too few pairs is left out.
    """
    pairs, folds, points = full.n // 2, tables.folds, []
    for share in (*tables.run.curve, 1.0):
        measure = full
        if share < 1:
            what = f"learning curve at {share:g}"
            table = tables.try_table(what, evaluator, system, "human_machine", share=share)
            if table is None:
                continue
            measure = measures.adversarial_success(table, tables.run.seed)
        n_train = round(share * pairs * (folds - 1) / folds)
        numbers = (measure.value, measure.low, measure.high)
        points.append(CurvePoint(system, evaluator, share, n_train, *numbers))
    return points


def length_matched(
    tables: ScoreTables, collector: ResultCollector, evaluator: str, system: str
) -> None:
    """Add AdverSuc where both classes have the same lengths, in training and test.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        collector (`ResultCollector`):
            Gets the result.
        evaluator (`str`):
            Name of the evaluator.
        system (`str`):
            Name of the system.
    """
    if tables.run.length_matched:
        what = ("adversuc_length_matched", "accuracy at equal lengths")
        _add_variant(tables, collector, evaluator, system, *what, matched=True)


def normalised(
    tables: ScoreTables, collector: ResultCollector, evaluator: str, system: str
) -> None:
    """Add AdverSuc after the format of both sides was normalised, where it was.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        collector (`ResultCollector`):
            Gets the result.
        evaluator (`str`):
            Name of the evaluator.
        system (`str`):
            Name of the system.
    """
    if system in tables.data.normalisers:
        what = ("adversuc_normalised", "AdverSuc after normalising")
        _add_variant(tables, collector, evaluator, system, *what, normalised=True)


def _add_variant(
    tables: ScoreTables,
    collector: ResultCollector,
    evaluator: str,
    system: str,
    metric: str,
    what: str,
    **options: bool,
) -> None:
    """Add AdverSuc from a table with other options than the main one, where the data allow it."""
    table = tables.try_table(what, evaluator, system, "human_machine", **options)
    if table is None:
        return
    measure = measures.adversarial_success(table, tables.run.seed)
    fit = tables.fit_details(evaluator, system, measure.n)
    rule = tables.data.normalisers.get(system) if options.get("normalised") else None
    details = {"normaliser": repr(rule)} if rule is not None else {}
    collector.add(metric, system, evaluator, measure, fit, details)
