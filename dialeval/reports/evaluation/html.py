"""An evaluation as one self-contained HTML page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.evaluation_results import EvaluationResults, ReliabilityResults
from dialeval.metrics.results import REFERENCES, RESULTS, SECOND_HUMAN, RunResults, read_results
from dialeval.reports.drawing import line_classes
from dialeval.reports.evaluation import sections
from dialeval.reports.evaluation.cards import system_cards
from dialeval.reports.evaluation.columns import columns_of, ere_of_guess
from dialeval.reports.evaluation.headline import cue_phrase, headlines
from dialeval.reports.evaluation.plots import Scores, read_scores
from dialeval.reports.evaluation.replies import Replies, read_replies, reply_views
from dialeval.reports.evaluation.rows import (
    SCENARIOS,
    UPPER_BOUND,
    Row,
    as_evaluation,
    only_reliability,
    rows_of,
    verdict_phrase,
)
from dialeval.reports.evaluation.scatter import scatter_view
from dialeval.reports.format import flatten, format_count
from dialeval.reports.pages import render

_HINT = "Run `dialeval evaluate` with this folder as its --output-dir."
_CONTENTS = (
    ("verdict", "Verdict"),
    ("cues", "What gives it away"),
    ("relevance", "Human-like and relevant?"),
    ("results", "Results by evaluator"),
    ("reliability", "Is the evaluator reliable?"),
    ("examples", "Examples"),
    ("scores", "ROC and scores"),
    ("length", "Score and length"),
    ("learning", "Learning curve"),
    ("corners", "Against random replies"),
    ("warnings", "Warnings"),
    ("settings", "Settings and versions"),
)


def load_evaluation(folder: Path | str) -> RunResults:
    """The results of an evaluation or of a reliability run in a folder.

    Raises:
        ValueError: There are none; says what to do.
    """
    path = Path(folder) / RESULTS
    try:
        reliability = read_results(path).get("protocol") == ReliabilityResults.protocol
        return (ReliabilityResults if reliability else EvaluationResults).load(path)
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).removeprefix(f'{path}: ')} {_HINT}") from error


def write_report(folder: Path | str, target: Path | str | None = None) -> Path:
    """Write `report.html`, or `target`, from the results and scores in a folder."""
    folder = Path(folder)
    scores = _load_scores(folder / "scores.parquet")
    page = render_report(load_evaluation(folder), scores, read_replies(folder))
    target = Path(target or folder / "report.html")
    target.parent.mkdir(parents=True, exist_ok=True)
    return atomic_write_text(target, page)


def _load_scores(path: Path) -> dict[tuple[str, str], Scores]:
    try:
        return read_scores(path) if path.is_file() else {}
    except ValueError as error:  # what pyarrow raises too
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: expected a table of scores, but {reason}. {_HINT}") from error


def render_report(
    results: RunResults,
    scores: Mapping[tuple[str, str], Scores] | None = None,
    replies: Replies | None = None,
) -> str:
    """The page, the same for the same results; texts of users and models are escaped.

    Args:
        results (`RunResults`):
            Results of an evaluation or of a reliability run.
        scores (`Mapping`, *optional*):
            Scores by system and evaluator.
        replies (`Replies`, *optional*):
            Every reply in its context.

    Returns:
        `str`: HTML.
    """
    view = _view(as_evaluation(results), scores or {}, replies or Replies())
    return render("evaluation/report.html.jinja", view)


def _view(
    results: EvaluationResults, scores: Mapping[tuple[str, str], Scores], replies: Replies
) -> dict[str, Any]:
    """The values of the template."""
    rows = rows_of(results)
    systems = sections.system_numbers(results, rows)
    evaluators = dict.fromkeys([*(row.evaluator for row in rows), *(name for _, name in scores)])
    classes = line_classes(list(evaluators))
    cards = system_cards(results, rows, systems)
    return {
        "contents": _CONTENTS,
        "systems": systems,
        "n_systems": sum(name != SECOND_HUMAN for name in systems),
        "only_reliability": only_reliability(rows),
        "n_evaluators": sum(name not in REFERENCES for name in evaluators),
        "n": format_count(_contexts(results, rows)),
        "verdicts": cards,
        "has_cues": bool(results.cues),
        "scatter": scatter_view(results),
        "replies": reply_views(replies, systems),
        "SCENARIO_NAMES": [name for name, _ in SCENARIOS.values()],
        "table": sections.main_table(rows),
        "measures": sections.measure_table(rows),
        "diversity": sections.diversity_table(results),
        "reliability": sections.reliability_tables(rows),
        "ere_of_guess": ere_of_guess(rows),
        "curves": sections.score_plots(scores, systems, classes, rows),
        "corners": sections.corner_section(rows, systems),
        "learning": sections.learning_curves(results.curves, systems, classes),
        "examples": sections.example_section(results),
        "warnings": results.warnings,
        "settings": list(flatten(results.settings)) if results.settings else [],
        "versions": list(flatten(results.versions)) if results.versions else [],
        "signature": results.signature,
        "UPPER_BOUND": UPPER_BOUND,
    }


def _contexts(results: EvaluationResults, rows: Sequence[Row]) -> int:
    """How many contexts were evaluated; each has a human and a machine response."""
    counts = [verdict.n for verdict in results.verdicts if verdict.n]
    return max(counts or [(row.adversuc.n or 0) // 2 for row in rows if row.adversuc], default=0)


def notebook_html(results: RunResults) -> str:
    """The verdicts, the table and the warnings as HTML, for the output cell of a notebook."""
    results = as_evaluation(results)
    rows = rows_of(results)
    view = {
        "headlines": headlines(results),
        "cue_phrase": cue_phrase,
        "verdict_phrase": verdict_phrase,
        "columns": columns_of(rows),
        "rows": rows,
        "warnings": results.warnings,
    }
    return render("evaluation/notebook.html.jinja", view)
