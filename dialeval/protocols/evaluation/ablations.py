"""What stands beside AdverSuc: other seeds, the learning curve, and equal lengths."""

from typing import Any

import numpy as np

from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.collector import ResultCollector
from dialeval.protocols.evaluation.tables import ScoreTables


def seed_variation(
    tables: ScoreTables, evaluator: str, system: str, first: float
) -> dict[str, Any]:
    """AdverSuc with other folds, pairs and initial weights: what a judge's luck is worth."""
    values = [first]
    for more in range(1, tables.run.seeds):
        seed = tables.run.seed + more
        table = tables.tried(f"seed {seed}", evaluator, system, "human_machine", seed=seed)
        values += [] if table is None else [1 - measures.accuracy(table)]
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"seeds": values, "seed_spread": spread}


def learning_curve(
    tables: ScoreTables, evaluator: str, system: str, whole: dict[str, Any]
) -> list[dict[str, Any]]:
    """AdverSuc by the number of training pairs, up to the `whole` result."""
    pairs, folds, points = whole["n"] // 2, tables.folds, []
    for share in (*tables.run.curve, 1.0):
        found = whole
        if share < 1:
            what = f"learning curve at {share:g}"
            table = tables.tried(what, evaluator, system, "human_machine", share=share)
            if table is None:
                continue
            found = measures.adversarial_success(table, tables.run.seed)
        trained = round(share * pairs * (folds - 1) / folds)
        points.append(
            {"system": system, "evaluator": evaluator, "share": share, "n_train": trained,
             "adversuc": found["adversuc"], "low": found["low"], "high": found["high"]}
        )  # fmt: skip
    return points


def length_matched(
    tables: ScoreTables, collector: ResultCollector, evaluator: str, system: str
) -> None:
    """AdverSuc where both classes have the same histogram of lengths, in training and test."""
    if not tables.run.length_matched:
        return
    what = "length-matched AdverSuc"
    table = tables.tried(what, evaluator, system, "human_machine", matched=True)
    if table is None:
        return
    found = measures.adversarial_success(table, tables.run.seed)
    how = tables.how(evaluator, system, found["n"])
    collector.add("adversuc_length_matched", system, evaluator, found["adversuc"], found, how)
