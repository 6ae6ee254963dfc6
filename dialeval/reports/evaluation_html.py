"""An evaluation as one page of HTML that needs nothing beside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.reports import evaluation_sections as sections
from dialeval.reports.evaluation_plots import Scores, read_scores
from dialeval.reports.evaluation_rows import (
    REFERENCES,
    SECOND_HUMAN,
    UPPER_BOUND,
    count,
    number,
    only_reliability,
    rows,
)
from dialeval.reports.pages import clean, read_json_results, rendered

_HINT = "Run `dialeval evaluate` with this folder as its --output-dir."


def write_report(folder: Path | str, target: Path | str | None = None) -> Path:
    """Write `report.html`, or `target`, from what an evaluation left in a folder."""
    folder = Path(folder)
    page = render(
        read_json_results(folder / "results.json", "an evaluation", _HINT),
        _scores(folder / "scores.parquet"),
    )
    target = Path(target or folder / "report.html")
    target.parent.mkdir(parents=True, exist_ok=True)
    return atomic_write_text(target, page)


def _scores(path: Path) -> dict[tuple[str, str], Scores]:
    try:
        return read_scores(path) if path.is_file() else {}
    except ValueError as error:  # what pyarrow raises too
        found = str(error).splitlines()[0]
        raise ValueError(f"{path}: expected a table of scores, found {found}. {_HINT}") from error


def render(told: Mapping[str, Any], scores: Mapping[tuple[str, str], Scores]) -> str:
    """The page, the same for the same results; whatever a user or a model wrote is escaped."""
    return rendered("evaluation.html.jinja", _view(clean(told), scores))


def _view(told: Mapping[str, Any], scores: Mapping[tuple[str, str], Scores]) -> dict[str, Any]:
    """What the template lays out."""
    found = rows(told)
    systems = sections.numbered(told, found)
    judges = dict.fromkeys([*(row.evaluator for row in found), *(judge for _, judge in scores)])
    kinds = sections.line_kinds(list(judges))
    cards = sections.verdicts(told, found, systems)
    return {
        "systems": systems,
        "real_systems": sum(name != SECOND_HUMAN for name in systems),
        "judges_alone": only_reliability(found),
        "judges": [name for name in judges if name not in REFERENCES],
        "n": count(max((number(row.adversuc, "n") or 0 for row in found), default=0)),
        "verdicts": cards,
        "summary": sections.summary(cards),
        "table": sections.table(found),
        "beside": sections.beside(found),
        "companions": sections.companions(told),
        "reliability": sections.reliability(found),
        "curves": sections.score_plots(scores, systems, kinds, found),
        "corners": sections.corners(found, systems),
        "learning": sections.learning(told, systems, kinds),
        "examples": sections.examples(told),
        "warnings": told.get("warnings") or [],
        "settings": list(sections.flat(told.get("settings") or {})),
        "versions": list(sections.flat(told.get("versions") or {})),
        "signature": told.get("signature") or "",
        "UPPER_BOUND": UPPER_BOUND,
    }
