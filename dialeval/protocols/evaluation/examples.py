"""Responses that a reader should see: the most human-like ones, and the easiest to detect."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues import Passage, iterate
from dialeval.metrics.evaluation_results import Example, SystemExamples
from dialeval.protocols.evaluation.inputs import EvaluationData

EXAMPLES = 5
"""Responses of each kind."""


def extreme_examples(
    data: EvaluationData,
    tables: Mapping[tuple[str, str, str], pa.Table],
    evaluators: Mapping[str, str],
) -> dict[str, SystemExamples]:
    """Responses of each system with the highest and the lowest scores, in their context.

    Args:
        data (`EvaluationData`):
            Human passages and systems.
        tables (`Mapping`):
            Scores by evaluator, system and scenario.
        evaluators (`Mapping[str, str]`):
            By system, the evaluator whose scores are shown.

    Returns:
        `dict[str, SystemExamples]`: By system.
    """
    human = {passage.id: passage for passage in iterate(data.human)}
    examples = {}
    for system, evaluator in evaluators.items():
        table = tables.get((evaluator, system, "human_machine"))
        if table is None:
            continue
        machine = table.filter(pc.equal(table["label"], 0))
        order = np.argsort(machine["score"].to_numpy(), kind="stable")
        highest, lowest = (
            tuple(_example(machine, int(row), human, evaluator) for row in rows)
            for rows in (order[::-1][:EXAMPLES], order[:EXAMPLES])
        )
        examples[system] = SystemExamples(highest, lowest)
    return examples


def _example(machine: pa.Table, row: int, human: Mapping[str, Passage], evaluator: str) -> Example:
    passage = human.get(machine["id"][row].as_py())
    return Example(
        context=tuple(turn.text for turn in passage.context) if passage else (),
        response=machine["response"][row].as_py(),
        human=passage.response if passage else "",
        score=machine["score"][row].as_py(),
        evaluator=evaluator,
    )
