"""An evaluation as one page of HTML that needs nothing beside it."""

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from dialeval.reports import evaluation_sections as sections
from dialeval.reports.evaluation_plots import Scores, read_scores
from dialeval.reports.evaluation_rows import REFERENCES, UPPER_BOUND, cleaned, count, number, rows

_REMEDY = "Run `dialeval evaluate` with this folder as its --output-dir."


def write_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` and `scores.parquet` in a folder."""
    folder = Path(folder)
    page = render(_told(folder / "results.json"), _scores(folder / "scores.parquet"))
    target, part = folder / "report.html", folder / "report.html.part"
    part.write_text(page, encoding="utf-8", newline="\n")
    part.replace(target)  # so that a stopped run leaves no half page under this name
    return target


def _told(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ValueError(f"{path}: expected the results of an evaluation, found no file. {_REMEDY}")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, found {error}. {_REMEDY}") from error
    if not isinstance(told, dict):
        raise ValueError(f"{path}: expected an object with `results`, found a list. {_REMEDY}")
    return told


def _scores(path: Path) -> dict[tuple[str, str], Scores]:
    try:
        return read_scores(path) if path.is_file() else {}
    except ValueError as error:  # what pyarrow raises too
        found = str(error).splitlines()[0]
        raise ValueError(f"{path}: expected a table of scores, found {found}. {_REMEDY}") from error


def render(told: Mapping[str, Any], scores: Mapping[tuple[str, str], Scores]) -> str:
    """The page, the same for the same results; whatever a user or a model wrote is escaped."""
    source = files("dialeval.reports").joinpath("evaluation.html.jinja").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(_view(_clean(told), scores))


def _view(told: Mapping[str, Any], scores: Mapping[tuple[str, str], Scores]) -> dict[str, Any]:
    """What the template lays out."""
    found = rows(told)
    systems = sections.numbered(told, found)
    judges = dict.fromkeys([*(row.evaluator for row in found), *(judge for _, judge in scores)])
    kinds = sections.line_kinds(list(judges))
    cards = sections.verdicts(told, found, systems)
    return {
        "systems": systems,
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
        "remarks": told.get("remarks") or [],
        "settings": list(sections.flat(told.get("settings") or {})),
        "versions": list(sections.flat(told.get("versions") or {})),
        "signature": told.get("signature") or "",
        "UPPER_BOUND": UPPER_BOUND,
    }


def _clean(value: Any) -> Any:
    """The same, with no control character in any text."""
    if isinstance(value, Mapping):
        return {cleaned(key): _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(each) for each in value]
    return cleaned(value) if isinstance(value, str) else value
