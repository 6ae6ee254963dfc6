"""Tables of unpaired evaluation: conversations of people and of systems without shared contexts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.results.store import Cell, TableParts
from benchmarks.results.tables.cells import number, p_cell
from dialeval.dialogues import by_author, read
from dialeval.metrics.unpaired_results import PileVerdict, UnpairedResults
from dialeval.protocols.unpaired import evaluate_piles, make_piles
from dialeval.settings.evaluation import EvaluationRun

MEASURES = {
    "responses": "accuracy",
    "topic control": "topic_control",
    "style alone": "style_accuracy",
    "within matches": "matched_accuracy",
    "whole dialogues": "dialogue_accuracy",
    "topic control, whole dialogues": "dialogue_topic_control",
}
"""Columns of the table, and the metrics in them."""


def unpaired(
    data: Path,
    work: Path,
    human: str,
    systems: Mapping[str, str],
    evaluators: Sequence[str],
    seeds: int = 1,
    seed: int = 0,
) -> TableParts:
    """Every system's pile against the human one, by every evaluator.

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        human (`str`):
            Conversations between people, inside `data`.
        systems (`Mapping[str, str]`):
            By name, conversations with the system, inside `data`.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        seeds (`int`, *optional*, defaults to 1):
            Seeds whose spread is in the intervals.
        seed (`int`, *optional*, defaults to 0):
            First seed.

    Returns:
        `TableParts`: One part, because verdicts need all evaluators and systems of a run.
    """

    def rows() -> list[list[Cell]]:
        piles = {name: read(data / path)[0] for name, path in systems.items()}
        answered = {name: by_author(passages, name) for name, passages in piles.items()}
        run = EvaluationRun(
            list(evaluators), seeds=seeds, seed=seed, output_dir=str(work), overwrite=True
        )
        results = evaluate_piles(make_piles(read(data / human)[0], answered), run)
        return [
            _row(results, verdict, evaluator)
            for verdict in results.verdicts
            for evaluator in evaluators
        ]

    columns = ["system", "evaluator", *MEASURES, "p of the run", "verdict of the run"]
    return TableParts(columns, {", ".join(systems): rows})


def _row(results: UnpairedResults, verdict: PileVerdict, evaluator: str) -> list[Cell]:
    cells: list[Cell] = [verdict.system, evaluator]
    for metric in MEASURES.values():
        rows = results.select(metric, verdict.system, evaluator)
        cells.append(number(rows[0]) if rows else None)
    return [*cells, p_cell(verdict.p_value), verdict.verdict]
