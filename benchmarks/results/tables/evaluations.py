"""Tables of `dialeval evaluate`, `ere` and `transfer`: real systems, ERE, transfer."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.results.store import Cell, Number, TableParts
from benchmarks.results.tables.cells import number, p_cell
from benchmarks.results.tables.corpora import PARROT, corpus_path, load_systems
from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.metrics.results import Result
from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.evaluation.evaluators import FitContext
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.study import evaluate, reliability
from dialeval.protocols.ratings import ratings_of
from dialeval.protocols.transfer import ALL, RANDOM, transfer
from dialeval.settings.evaluation import EvaluationRun, ReliabilityRun

SCENARIOS = ("human_human", "machine_machine", "human_random", "human_next")


def systems(
    data: Path,
    work: Path,
    corpora: Mapping[str, str],
    contexts: int,
    evaluators: Sequence[str],
    seeds: int = 1,
    seed: int = 0,
    only: Sequence[str] = (),
    live: Sequence[str] = (PARROT,),
) -> TableParts:
    """Verdicts on the systems of several corpora.

    Args:
        data (`Path`):
            Folder of the corpora.
        work (`Path`):
            Folder for runs, whose caches are kept.
        corpora (`Mapping[str, str]`):
            By name, the path inside `data`.
        contexts (`int`):
            Contexts per corpus at most.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        seeds (`int`, *optional*, defaults to 1):
            Seeds whose spread is in the intervals.
        seed (`int`, *optional*, defaults to 0):
            First seed.
        only (`Sequence[str]`, *optional*):
            Systems; all by default.
        live (`Sequence[str]`, *optional*):
            Systems that answer the contexts of a corpus without systems.

    Returns:
        `TableParts`: A part per corpus.
    """

    def rows(name: str, path: str) -> list[list[Cell]]:
        systems_data = load_systems(corpus_path(data, path), contexts, seed, only, live)
        run = EvaluationRun(
            list(evaluators), seeds=seeds, seed=seed, curve=(), length_matched=False,
            output_dir=str(work / name), overwrite=True,
        )  # fmt: skip
        results = evaluate(systems_data, run, fit_context=FitContext(embed=CachedEmbedder()))
        return _verdict_rows(name, results, ratings_of(systems_data.systems))

    columns = ["corpus", "system", "evaluator", "accuracy", "AdverSuc", "p", "ERE", "relevance",
               "mean rating", "verdict"]  # fmt: skip
    return TableParts(
        columns, {name: lambda n=name, p=path: rows(n, p) for name, path in corpora.items()}
    )


def _verdict_rows(
    corpus: str, results: EvaluationResults, ratings: Mapping[str, Mapping[str, float]]
) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for verdict in results.verdicts:
        success = results.get("adversuc", verdict.system, verdict.evaluator)
        relevance = results.select("relevance", verdict.system)
        errors = results.select("ere", verdict.system, verdict.evaluator)
        rated = list(ratings.get(verdict.system, {}).values())
        rows.append([
            corpus, verdict.system, verdict.evaluator,
            Number(verdict.accuracy, verdict.low, verdict.high, verdict.n), number(success),
            p_cell(verdict.p_value), number(errors[0] if errors else None),
            number(relevance[0] if relevance else None),
            Number(float(np.mean(rated)), n=len(rated)) if rated else None, verdict.verdict,
        ])  # fmt: skip
    return rows


def errors(
    data: Path,
    work: Path,
    corpora: Mapping[str, str],
    contexts: int,
    evaluators: Sequence[str],
    seed: int = 0,
    only: Sequence[str] = (),
) -> TableParts:
    """ERE of every evaluator with its four scenarios (Li et al., 2017, Table 2).

    Args:
        data (`Path`):
            Folder of the corpora.
        work (`Path`):
            Folder for runs, whose caches are kept.
        corpora (`Mapping[str, str]`):
            By name, the path inside `data`, or the name of the embedded corpus.
        contexts (`int`):
            Contexts per corpus at most.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        seed (`int`, *optional*, defaults to 0):
            Seed of folds and evaluators.
        only (`Sequence[str]`, *optional*):
            Systems; all by default.

    Returns:
        `TableParts`: A part per corpus and evaluator.
    """

    def rows(name: str, path: str, evaluator: str) -> list[list[Cell]]:
        systems_data = load_systems(corpus_path(data, path), contexts, seed, only)
        errors = _errors_of(systems_data, evaluator, seed, work / name / evaluator)
        return [
            [name, row.system or "-", evaluator, row.metric, number(row), *_scenarios(row)]
            for row in errors
        ]

    columns = ["corpus", "system", "evaluator", "metric", "value", *SCENARIOS]
    parts = {
        f"{name}, {evaluator}": lambda n=name, p=path, e=evaluator: rows(n, p, e)
        for name, path in corpora.items()
        for evaluator in evaluators
    }
    return TableParts(columns, parts)


def error_curve(
    data: Path,
    work: Path,
    corpus: str,
    contexts: Sequence[int],
    evaluators: Sequence[str],
    seed: int = 0,
) -> TableParts:
    """ERE of every evaluator by the number of contexts that it can learn from.

    Args:
        data (`Path`):
            Folder of the corpora.
        work (`Path`):
            Folder for runs, whose caches are kept.
        corpus (`str`):
            Path inside `data`, or the name of the embedded corpus.
        contexts (`Sequence[int]`):
            Numbers of contexts.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        seed (`int`, *optional*, defaults to 0):
            Seed of the choice of dialogues, of folds and of evaluators.

    Returns:
        `TableParts`: A part per number and evaluator.
    """

    def rows(count: int, evaluator: str) -> list[list[Cell]]:
        systems_data = load_systems(corpus_path(data, corpus), count, seed)
        errors = _errors_of(systems_data, evaluator, seed, work / str(count) / evaluator)
        return [
            [f"{count:,}", evaluator, number(row), _above_twin(row), *_scenarios(row)]
            for row in errors
        ]

    columns = ["contexts", "evaluator", "ERE", "above the response alone", *SCENARIOS]
    parts = {
        f"{count} contexts, {evaluator}": lambda n=count, e=evaluator: rows(n, e)
        for count, evaluator in product(contexts, evaluators)
    }
    return TableParts(columns, parts)


def _errors_of(
    systems_data: EvaluationData, evaluator: str, seed: int, folder: Path
) -> list[Result]:
    """The reliability errors of an evaluator, one per system."""
    run = ReliabilityRun([evaluator], seed=seed, overwrite=True, output_dir=str(folder))
    results = reliability(systems_data, run, fit_context=FitContext(embed=CachedEmbedder()))
    rows = results.select(None, None, evaluator)
    return [row for row in rows if row.metric in ("ere", "ere_three")]


def _scenarios(row: Result) -> list[Number | None]:
    known = row.details.get("scenarios", {})
    return [_scenario(known.get(scenario)) for scenario in SCENARIOS]


def _above_twin(row: Result) -> Number | None:
    above = row.details.get("above_blind")
    return Number(above["ere"]) if above else None


def _scenario(numbers: Mapping[str, float] | None) -> Number | None:
    """AdverSuc of a scenario: .5 is correct for two replies of one kind, 0 for the others."""
    if numbers is None:
        return None
    return Number(numbers["adversuc"], numbers["low"], numbers["high"], int(numbers["n"]))


def transfers(
    data: Path,
    work: Path,
    corpora: Mapping[str, str],
    contexts: int,
    evaluators: Sequence[str],
    seed: int = 0,
    only: Sequence[str] = (),
) -> TableParts:
    """Evaluators trained on random replies or one system, applied to others.

    Args:
        data (`Path`):
            Folder of the corpora.
        work (`Path`):
            Folder for runs.
        corpora (`Mapping[str, str]`):
            By name, the path inside `data`.
        contexts (`int`):
            Contexts per corpus at most.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        seed (`int`, *optional*, defaults to 0):
            Seed of halves and evaluators.
        only (`Sequence[str]`, *optional*):
            Systems; all by default.

    Returns:
        `TableParts`: A part per corpus and evaluator.
    """

    def rows(name: str, path: str, evaluator: str) -> list[list[Cell]]:
        systems_data = load_systems(corpus_path(data, path), contexts, seed, only)
        matrix = transfer(systems_data, evaluator, seed, folder=work / name)
        pairs = product(matrix.trained_on, matrix.tested_on)
        cells = dict(zip(pairs, map(number, matrix.results), strict=True))
        return [
            [name, evaluator, tested, *(cells[source, tested] for source in (RANDOM, tested, ALL))]
            for tested in matrix.tested_on
        ]

    columns = ["corpus", "evaluator", "applied to", "trained on random replies",
               "trained on the same system", "trained on all systems"]  # fmt: skip
    parts = {
        f"{name}, {evaluator}": lambda n=name, p=path, e=evaluator: rows(n, p, e)
        for name, path in corpora.items()
        for evaluator in evaluators
    }
    return TableParts(columns, parts)
