"""Tables of correlations with people's ratings: DSTC7's systems and single rated replies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results.store import Cell, Number, TableParts
from benchmarks.results.tables.cells import number, p_cell
from dialeval.dialogues import iterate, read
from dialeval.errors import BadInput
from dialeval.judgements import Correlation, read_judgements
from dialeval.metrics.results import Result
from dialeval.protocols.people import MetricScores, read_scores
from dialeval.protocols.people.ratings import compare_metrics, correlations, mean_ratings
from dialeval.protocols.people.systems import (
    Columns,
    RatedSystems,
    SystemScorer,
    simple_baselines,
)
from recipes.people import write

RESAMPLES = 1_000
BASELINES, LIKELIHOOD = "baselines", "likelihood"
LEVELS = {"systems": "system", "replies": "item"}
"""Parts of the table of neighbours, and the levels of a correlation."""
FEWEST = 30
"""Replies of a correlation at least: the best of four points is one in 24 by chance."""


def people(
    data: Path,
    work: Path,
    corpus: str,
    judgements: str,
    evaluators: Sequence[str],
    folds: int,
    limit: int = -1,
    limits: Mapping[str, int] | None = None,
    likelihood: str = "",
    seed: int = 0,
) -> TableParts:
    """Correlation of evaluators and baselines with ratings, over systems and over replies.

    Args:
        data, work (`Path`):
            Folders of corpora and of scores.
        corpus (`str`):
            Rated corpus inside `data`.
        judgements (`str`):
            File of single judgements inside `data`.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        folds (`int`):
            Folds in which evaluators are cross-fitted.
        limit (`int`, *optional*, defaults to -1):
            Contexts at most; -1 for all.
        limits (`Mapping[str, int]`, *optional*):
            Other limits by the name of an evaluator, or of `likelihood`.
        likelihood (`str`, *optional*):
            A local model for log p(reply | context).
        seed (`int`, *optional*, defaults to 0):
            Seed of folds and resamples.

    Returns:
        `TableParts`: Parts for the baselines, the likelihood and each evaluator.
    """
    sizes = {"": limit, **(limits or {})}

    def rows(name: str, score: Callable[[RatedSystems], Columns]) -> list[list[Cell]]:
        path = work / f"{name}.csv"
        passages = list(iterate(read(data / corpus)[0]))
        systems = RatedSystems.of(passages, folds, sizes.get(name, limit), seed)
        work.mkdir(parents=True, exist_ok=True)
        write(str(path), score(systems), systems)
        return correlation_rows(read_scores(path), data / judgements, len(systems.human), seed)

    scores: dict[str, Callable[[RatedSystems], Columns]] = {BASELINES: _baselines}
    if likelihood:
        scores[LIKELIHOOD] = partial(_likelihoods, likelihood)
    scores |= {name: partial(_evaluator, name, seed) for name in evaluators}
    columns = ["metric", "contexts", "Spearman, systems", "Pearson, systems", "Spearman, replies",
               "Pearson, replies", "replies"]  # fmt: skip
    return TableParts(
        columns, {name: lambda n=name, s=score: rows(n, s) for name, score in scores.items()}
    )


def _baselines(systems: RatedSystems) -> Columns:
    from dialeval.models.embedding import MiniLm

    return simple_baselines(systems, MiniLm())


def _likelihoods(model: str, systems: RatedSystems) -> Columns:
    from dialeval.responders.task import mean_likelihoods

    values = simple_baselines(systems, likelihood=partial(mean_likelihoods, model))
    return {LIKELIHOOD: values[LIKELIHOOD]}


def _evaluator(name: str, seed: int, systems: RatedSystems) -> Columns:
    return SystemScorer(systems, seed).columns(name)


def correlation_rows(
    metrics: Sequence[MetricScores], judgements: Path, contexts: int, seed: int
) -> list[list[Cell]]:
    """A row per metric.

    Args:
        metrics (`Sequence[MetricScores]`):
            Scores of replies.
        judgements (`Path`):
            File of single judgements; their scales are averaged.
        contexts (`int`):
            Contexts that have scores.
        seed (`int`):
            Seed of the bootstrap over contexts and systems.

    Returns:
        `list[list[Cell]]`: In the order of the columns.
    """
    ratings = mean_ratings(list(read_judgements(judgements)), None)
    cells: dict[str, dict[tuple[str, str], Result]] = {metric.name: {} for metric in metrics}
    for row in correlations(ratings, "", metrics, RESAMPLES, seed, ""):
        cells[row.evaluator][row.metric, str(row.details["level"])] = row
    return [
        [name, f"{contexts:,}",
         *(number(known.get((coefficient, level))) for level in ("system", "item")
           for coefficient in ("spearman", "pearson")),
         f"{known['spearman', 'item'].n:,}"]
        for name, known in cells.items() if known
    ]  # fmt: skip


def neighbours(
    data: Path, work: Path, judgements: str, scores: str = "people", seed: int = 0
) -> TableParts:
    """Williams' test between every two metrics that are next to each other.

    Args:
        data, work (`Path`):
            Folders of corpora and of runs.
        judgements (`str`):
            File of single judgements inside `data`.
        scores (`str`, *optional*, defaults to `"people"`):
            The table that left its scores in the folder of runs.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `TableParts`: A part for systems and one for replies.
    """

    def rows(part: str) -> list[list[Cell]]:
        files = sorted((work.parent / scores).glob("*.csv"))
        if not files:
            raise BadInput(
                "there are no scores to compare.", work.parent / scores,
                hint=f"Run `python -m benchmarks.results {scores}` first.",
            )  # fmt: skip
        metrics = [metric for path in files for metric in read_scores(path)]
        ratings = mean_ratings(list(read_judgements(data / judgements)), None)
        return list(_neighbour_rows(ratings, metrics, LEVELS[part], seed))

    columns = ["over", "metric", "Pearson", "next metric", "Pearson of the next", "difference",
               "p, Williams", "n"]  # fmt: skip
    return TableParts(columns, {part: lambda p=part: rows(p) for part in LEVELS})


def _neighbour_rows(
    ratings: Mapping[tuple[str, str], float],
    metrics: Sequence[MetricScores],
    level: str,
    seed: int,
) -> Iterator[list[Cell]]:
    """From the highest correlation to the lowest; both of a pair on the replies they share."""
    made = correlations(ratings, "", metrics, 1, seed, "", levels=(level,))
    values = {row.evaluator: row.value for row in made if row.metric == "pearson"}
    ordered = sorted(
        (metric for metric in metrics if np.isfinite(values.get(metric.name, np.nan))),
        key=lambda metric: -values[metric.name],
    )
    name = next(part for part, known in LEVELS.items() if known == level)
    for pair in pairwise(ordered):
        for row in compare_metrics(ratings, "", pair, RESAMPLES, seed, "", levels=(level,)):
            details = row.details
            yield [
                name, row.evaluator, Number(details["r_first"]), str(details["other"]),
                Number(details["r_second"]), number(row), p_cell(details["p_value"]), f"{row.n:,}",
            ]  # fmt: skip


def rated(
    data: Path,
    work: Path,
    corpus: str,
    files: Sequence[str],
    evaluators: Sequence[str],
    references: Sequence[str] = (),
    likelihood: str = "",
    **settings: Any,
) -> TableParts:
    """Correlation with the ratings of single replies, of evaluators that never saw the systems.

    Args:
        data, work (`Path`):
            Folders of corpora and of trained evaluators.
        corpus (`str`):
            Corpus of human dialogues inside `data`; evaluators learn human against random replies.
        files (`Sequence[str]`):
            Rated replies inside `data`.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        references (`Sequence[str]`, *optional*):
            Corpora that the contexts are from, for BLEU, chrF and similarity.
        likelihood (`str`, *optional*):
            A local model for log p(reply | context).
        settings:
            Further settings of the trainer.

    Returns:
        `TableParts`: A part per file, and one for its likelihoods.
    """
    from benchmarks.results.tables.training import trained
    from dialeval.scorers import load_scorer
    from recipes.rated import LOG_P, read_known
    from recipes.rated import correlations as rated_correlations

    seed = settings.get("seed", 0)

    def rows(path: str) -> list[list[Cell]]:
        folders = [trained(work, data / corpus, name, settings)[1] for name in evaluators]
        scorers = [load_scorer(folder) for folder in folders]
        known = read_known([str(data / name) for name in references])
        return _rated_rows(path, rated_correlations(data / path, scorers, known, seed=seed))

    def likelihood_rows(path: str) -> list[list[Cell]]:
        made = rated_correlations(data / path, [], likelihood=likelihood, seed=seed)
        return _rated_rows(path, {LOG_P: made[LOG_P]})

    parts = {path: lambda p=path: rows(p) for path in files}
    if likelihood:
        parts |= {f"{path}, likelihood": lambda p=path: likelihood_rows(p) for path in files}
    return TableParts(["replies", "metric", "Pearson", "Spearman", "n"], parts)


def _rated_rows(path: str, made: Mapping[str, tuple[Correlation, Correlation]]) -> list[list[Cell]]:
    """A row per metric that has enough replies."""
    return [
        [Path(path).stem, name, Number(first.value),
         Number(second.value, second.low, second.high, second.n), f"{second.n:,}"]
        for name, (first, second) in made.items()
        if second.n >= FEWEST
    ]  # fmt: skip
