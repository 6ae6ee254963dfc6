"""Responses that a reader should see: those that fooled a judge most, and least."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues import iterate
from dialeval.protocols.evaluation.inputs import EvaluationData

EACH = 5


def extremes(
    data: EvaluationData, tables: dict[tuple[str, str, str], pa.Table], evaluator: str
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """For each system its most human-like and most machine-like responses, in their context."""
    human = {passage.id: passage for passage in iterate(data.human)}
    found = {}
    for system in data.systems:
        table = tables.get((evaluator, system, "human_machine"))
        if table is None:
            continue
        machine = table.filter(pc.equal(table["label"], 0))
        order = np.argsort(machine["score"].to_numpy(), kind="stable")

        def told(rows: np.ndarray, machine: pa.Table = machine) -> list[dict[str, Any]]:
            return [_example(machine, int(row), human, evaluator) for row in rows]

        found[system] = {"fooling": told(order[::-1][:EACH]), "obvious": told(order[:EACH])}
    return found


def _example(machine: pa.Table, row: int, human: dict[str, Any], evaluator: str) -> dict[str, Any]:
    passage = human.get(machine["id"][row].as_py())
    return {
        "context": [turn.text for turn in passage.context] if passage else [],
        "response": machine["response"][row].as_py(),
        "human": passage.response if passage else "",
        "score": machine["score"][row].as_py(),
        "evaluator": evaluator,
    }
