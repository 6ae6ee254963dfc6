"""A robustness run as one page of HTML that needs nothing beside it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.reports.evaluation_rows import NONE, between, count, number, share, signed
from dialeval.reports.evaluation_sections import flat
from dialeval.reports.pages import clean, read_json_results, rendered
from dialeval.reports.robustness import score_words
from dialeval.reports.robustness_rows import (
    KINDS,
    LIKENESS,
    NORMAL,
    TONES,
    Index,
    effect_words,
    floor_words,
    headline,
    near,
    notes,
    selectivity_words,
    worth,
)

_HINT = "Run `dialeval robustness` with this folder as its --output-dir."
_TITLES = {
    "verdicts": "Verdicts",
    "map": "Strategies by systems",
    "table-2": "Against the reference (Table 2)",
    "table-4": "Similarity (Table 4)",
    "coverage": "Coverage",
    "judges": "The evaluators themselves",
    "examples": "Worst examples",
    "warnings": "Warnings",
    "settings": "Settings and versions",
}


def write_robustness_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    folder = Path(folder)
    told = read_json_results(folder / "results.json", "a robustness run", _HINT)
    return atomic_write_text(folder / "report.html", render(told))


def render(told: Mapping[str, Any]) -> str:
    """The page, the same for the same results; whatever a user or a model wrote is escaped."""
    return rendered("robustness.html.jinja", _view(clean(told)))


def _view(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the template lays out; a section without content is left out."""
    index = Index(told)
    sections = {
        "verdicts": [_card(index, each) for each in told.get("systems") or ()],
        "map": [_heat_row(index, each) for each in index.strategies],
        "table-2": _worth(index) if index.quality else [],
        "table-4": _near(index),
        "coverage": [_coverage(each) for each in index.strategies],
        "judges": [_judge(each) for each in index.judges],
        "examples": [*_examples(told)],
        "warnings": told.get("warnings") or [],
        "settings": [*flat(told.get("settings") or {})],
    }
    always = ("verdicts", "warnings", "settings")
    return {
        "sections": sections,
        "contents": [(id, said) for id, said in _TITLES.items() if sections[id] or id in always],
        "systems": index.systems,
        "kinds": KINDS,
        "quality": list(index.quality.values()),
        "likeness": list(LIKENESS.values()),
        "notes": notes(told),
        "n": count(number(told.get("settings") or {}, "contexts")),
        "versions": [*flat(told.get("versions") or {})],
        "signature": told.get("signature") or "",
    }


def _card(index: Index, system: Mapping[str, Any]) -> dict[str, Any]:
    """A system: its sentences, and a row for each strategy."""
    rows = []
    for each in index.strategies:
        said = index.verdict(system["name"], each["name"])
        verdict = said.get("verdict") or "nothing to judge"
        rows.append(
            {"strategy": each["name"], "kind": KINDS[each["kind"]], "verdict": verdict,
             "tone": TONES.get(verdict, "open"), "effect": effect_words(said),
             "margin": share(number(said, "margin")), "n": count(number(said, "n")),
             "unchanged": share(number(said, "unchanged"))}
        )  # fmt: skip
    more = filter(None, (selectivity_words(system), floor_words(system)))
    return {"name": system["name"], "headline": headline(index, system["name"]), "more": [*more],
            "rows": rows}  # fmt: skip


def _heat_row(index: Index, strategy: Mapping[str, Any]) -> dict[str, Any]:
    cells = [_heat(index.verdict(system, strategy["name"])) for system in index.systems]
    return {"name": strategy["name"], "kind": KINDS[strategy["kind"]], "cells": cells}


def _heat(said: Mapping[str, Any]) -> dict[str, Any]:
    """A cell: the darker, the further replies move."""
    value = number(said, "effect")
    if value is None:
        return {"value": NONE, "below": [], "title": "not measured", "shade": None, "best": False}
    shade = round(60 * min(max(value, 0), 1))
    below = [between(said), said.get("verdict") or ""]
    return {"value": signed(value), "below": below, "title": "", "shade": shade, "best": False}


def _worth(index: Index) -> list[tuple[str, list[str]]]:
    names = [("Normal Input", NORMAL), *((each["name"],) * 2 for each in index.strategies)]
    return [
        (head, [worth(index, metric, system, name)
                for system in index.systems for metric in index.quality])
        for head, name in names
    ]  # fmt: skip


def _near(index: Index) -> list[tuple[str, list[str]]]:
    return [
        (each["name"], [near(index, metric, system, each["name"])
                        for system in index.systems for metric in LIKENESS])
        for each in index.strategies
    ]  # fmt: skip


def _coverage(each: Mapping[str, Any]) -> dict[str, str]:
    return {
        "name": each["name"], "kind": KINDS[each["kind"]], "signature": each.get("signature") or "",
        "coverage": share(number(each, "coverage")), "edited": count(number(each, "edited")),
        "n": count(number(each, "n")), "foreign": count(number(each, "foreign")),
    }  # fmt: skip


def _judge(each: Mapping[str, Any]) -> dict[str, str]:
    details = each.get("details") or {}
    return {
        "judge": each["evaluator"], "strategy": details.get("strategy") or "",
        "kind": KINDS.get(details.get("kind"), ""), "side": details.get("side") or "",
        "over": (each.get("metric") or "").replace("_", "-"),
        "value": f"{share(number(each, 'value'))} ({between(each)})",
        "score": score_words(each), "n": count(number(each, "n")),
        "verdict": details.get("verdict") or "",
    }  # fmt: skip


def _examples(told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The worst replies of each system and strategy, side by side."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for each in told.get("examples") or ():
        groups.setdefault((each["system"], each["strategy"], each["kind"]), []).append(each)
    for (system, strategy, kind), found in groups.items():
        what = "moved furthest" if kind == "should_not_change" else "moved least"
        title = f"{system}, {strategy}: where its replies {what}"
        yield {"title": title, "cards": [_example(each) for each in found]}


def _example(each: Mapping[str, Any]) -> dict[str, Any]:
    logs = each.get("edits") or ()
    turns = list(zip(each.get("context") or (), logs, strict=False))
    return {
        "before": [[*marked(text, log, "before")] for text, log in turns],
        "after": [[*marked(text, log, "after")] for text, log in turns],
        "normal": each.get("response") or "",
        "perturbed": each.get("perturbed_response") or "",
        "reference": each.get("reference") or "",
        "movement": share(number(each, "movement")),
    }


def marked(text: str, log: Sequence[Sequence[Any]], side: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text before or after its edits, and which of them are edits.

    Example:
        >>> list(marked("I like tea", [[2, "like", "hate"]], "after"))
        [('I ', False), ('hate', True), (' tea', False)]
    """
    end = 0
    for start, before, after in log:
        yield text[end:start], False
        yield (before if side == "before" else after), True
        end = start + len(before)
    yield text[end:], False
