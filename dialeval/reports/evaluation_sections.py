"""What each section of the page says, ready to be laid out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialeval.reports import evaluation_plots as plots
from dialeval.reports.drawing import deviation_bar, interval_bar
from dialeval.reports.evaluation_plots import Scores
from dialeval.reports.evaluation_rows import (
    NONE,
    REFERENCES,
    SCENARIOS,
    SECOND_HUMAN,
    Column,
    Row,
    between,
    columns,
    count,
    notes,
    number,
    only_reliability,
    p_value,
    saturation,
    share,
    signed,
    transfers,
)

_KINDS = {  # how a verdict looks
    "cannot be told apart": "good",
    "told apart": "apart",
    "won by noise": "noise",
    "judge too weak to say": "weak",
}
_BESIDE = {  # what stands beside AdverSuc
    "machines_predicted_human": "machines taken for humans",
    "humans_predicted_machine": "humans taken for machines",
    "pairwise_accuracy": "pairwise accuracy",
    "tpr_at_5_fpr": "machines found, 5 % of humans accused",
    "tpr_at_1_fpr": "machines found, 1 % of humans accused",
    "response_only": "response only",
    "shuffled_context": "shuffled context",
    "length_stratified_accuracy": "accuracy within lengths",
    "minimum_detectable_accuracy": "smallest detectable accuracy",
}
_TEXT, _TURNS, _EXAMPLES = 800, 6, 10  # characters, turns of a context, examples of a kind
_COLOURS = 8


def numbered(told: Mapping[str, Any], found: Sequence[Row]) -> dict[str, int]:
    """Each system with the number it has in pictures."""
    listed = [*(told.get("verdicts") or ()), *(told.get("curves") or ())]
    names = [row.system for row in found] + [each.get("system") for each in listed]
    names = [name for name in dict.fromkeys([*names, *(told.get("examples") or ())]) if name]
    names.sort(key=lambda name: name == SECOND_HUMAN)  # not a system, so it has the last number
    return {name: place for place, name in enumerate(names, 1)}


def line_kinds(judges: Sequence[str]) -> dict[str, str]:
    """How each judge's line looks in every plot: a colour, and dashes once colours run out."""
    real = [name for name in judges if name not in REFERENCES]
    kinds = {
        name: f"c{place % _COLOURS}" + (" dashed" if place >= _COLOURS else "")
        for place, name in enumerate(real)
    }
    return {**kinds, **dict.fromkeys(REFERENCES, "reference")}


def verdicts(
    told: Mapping[str, Any], found: Sequence[Row], systems: Mapping[str, int]
) -> list[dict[str, Any]]:
    """A card for each system: its headline, the numbers behind it, what other judges say."""
    row_of = {(row.system, row.evaluator): row for row in found}
    cards = []
    for system, place in systems.items():
        if system == SECOND_HUMAN or only_reliability(found):
            continue
        own = [each for each in told.get("verdicts") or () if each.get("system") == system]
        first = own[0] if own else {"verdict": "no verdict", "text": "This run gave none."}
        row = row_of.get((system, first.get("evaluator")), Row(system, ""))
        cards.append({
            "place": place, "system": system, "verdict": first.get("verdict") or "no verdict",
            "kind": _KINDS.get(first.get("verdict"), "open"), "text": first.get("text") or "",
            "rests_on": _rests_on(row), "upper_bound": row.upper_bound,
            "others": [{**each, "text": each.get("text") or ""} for each in own[1:]],
        })  # fmt: skip
    return cards


def summary(cards: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Which systems share a verdict, the good news first."""
    found = list(dict.fromkeys(card["verdict"] for card in cards))
    order = [verdict for verdict in _KINDS if verdict in found]
    return {
        verdict: [card for card in cards if card["verdict"] == verdict]
        for verdict in dict.fromkeys([*order, *found])
    }


def _rests_on(row: Row) -> list[tuple[str, str]]:
    """The numbers behind a verdict, without those that are missing."""
    smallest = number(row.adversuc, "minimum_detectable_accuracy")
    facts = [
        ("judge", row.evaluator),
        ("AdverSuc", _with_interval(row.adversuc)),
        ("responses", count(number(row.adversuc, "n"))),
        ("p of no difference", p_value(number(row.adversuc, "p_value"))),
        ("control, human-vs-random", _with_interval(row.control)),
        ("machine-vs-random", _with_interval(row.machine)),
        ("its gap to the response alone", signed(number(row.machine, "gap"))),
        ("ERE by transfer" if transfers(row) else "ERE", _with_interval(row.ere)),
        ("smallest accuracy it would notice", share(smallest)),
    ]
    return [(name, value) for name, value in facts if value.strip(NONE)]


def _with_interval(result: Mapping[str, Any]) -> str:
    ends = between(result)
    return share(number(result, "value")) + (f" ({ends})" if ends != NONE else "")


def _by_system(found: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for system in dict.fromkeys(row.system for row in found):
        yield system, [row for row in found if row.system == system]


def table(found: Sequence[Row]) -> dict[str, Any]:
    """The main table, a group of rows for each system, intervals below their numbers."""
    found = () if only_reliability(found) else found
    shown = [column for column in columns(found) if column.name != "95 %"]
    top = max([0.6, *(number(row.adversuc, "high") or 0 for row in found)])
    groups = [
        (system, [_cells(row, shown, top) for row in own]) for system, own in _by_system(found)
    ]
    heads = [column.name for column in shown]
    return {"heads": heads, "notes": notes(found), "groups": groups, "top": f"{top:.1f}"}


def _cells(row: Row, shown: Sequence[Column], top: float) -> dict[str, Any]:
    parts = {
        "AdverSuc": row.adversuc,
        "machine-vs-random": row.machine,
        "human-vs-random": row.control,
        "ERE": row.ere,
        "ERE (transfer)": row.ere,
    }
    texts = [(column.cell(row), between(parts.get(column.name, {}))) for column in shown]
    ends = (number(row.adversuc, name) for name in ("value", "low", "high"))
    return {
        "evaluator": row.evaluator,
        "reference": row.reference,
        "bar": interval_bar(*ends, top),
        "cells": [(text, both if NONE not in (text, both) else "") for text, both in texts],
    }


def beside(found: Sequence[Row]) -> dict[str, Any]:
    """What else is known of each judgement, without columns that nobody filled."""
    shown = [key for key in _BESIDE if any(number(row.adversuc, key) is not None for row in found)]
    groups = [
        (system, [(row, [share(number(row.adversuc, key)) for key in shown]) for row in own])
        for system, own in _by_system(found)
    ]
    return {"heads": [_BESIDE[key] for key in shown], "groups": groups}


def companions(told: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers that need no judge, such as distinct-1, a row for each system."""
    own = [each for each in told.get("results") or () if not each.get("evaluator")]
    own = [each for each in own if each.get("system")]
    metrics = list(dict.fromkeys(each.get("metric") for each in own))
    value = {(each["system"], each.get("metric")): number(each, "value") for each in own}
    names = dict.fromkeys(each["system"] for each in own)
    cells = [(name, [_companion(key, value.get((name, key))) for key in metrics]) for name in names]
    return {"heads": [str(key).replace("_", " ") for key in metrics], "rows": cells}


def _companion(metric: Any, value: float | None) -> str:
    return f"{value:.1f}" if metric == "tokens" and value is not None else share(value)


def reliability(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Tables of the four scenarios, one for judges that were retrained and one for the others."""
    tables = []
    once = {(row.ere.get("system"), row.evaluator): row for row in found if row.ere}
    for transfer in (False, True):
        own = [row for row in once.values() if transfers(row) == transfer]
        if own:
            names = dict.fromkeys(row.evaluator for row in own)
            groups = [
                (name, [_scenarios(row) for row in own if row.evaluator == name]) for name in names
            ]
            tables.append({"transfer": transfer, "groups": groups})
    return tables


def _scenarios(row: Row) -> dict[str, Any]:
    told = (row.ere.get("details") or {}).get("scenarios") or {}
    cells = []
    for name in SCENARIOS:
        each = told.get(name) or {}
        deviation = number(each, "deviation")
        cells.append({
            "adversuc": share(number(each, "adversuc")), "deviation": signed(deviation),
            "bar": deviation_bar(deviation) if deviation is not None else "",
        })  # fmt: skip
    return {
        "system": row.ere.get("system") or "", "evaluator": row.evaluator,
        "reference": row.reference, "cells": cells, "ere": share(number(row.ere, "value")),
        "interval": between(row.ere), "noise": share(number(row.ere, "noise_floor")),
    }  # fmt: skip


def score_plots(
    scores: Mapping[tuple[str, str], Scores],
    systems: Mapping[str, int],
    kinds: Mapping[str, str],
    found: Sequence[Row],
) -> list[dict[str, Any]]:
    """ROC, histograms and score against length of each system."""
    area = {(row.system, row.evaluator): share(number(row.adversuc, "auroc")) for row in found}
    told = []
    for system, place in systems.items():
        own = {judge: each for (name, judge), each in scores.items() if name == system}
        own = {judge: each for judge, each in own.items() if judge != "coin"}
        real = {judge: each for judge, each in own.items() if judge not in REFERENCES} or own
        if not own:
            continue
        legend = [(judge, kinds.get(judge, "c0"), area.get((system, judge), NONE)) for judge in own]
        lines = {judge: kind for judge, kind, _ in legend}
        told.append({
            "system": system, "place": place, "legend": legend,
            "roc": plots.roc_plot(own, lines, f"ROC curves of the judges of {system}"),
            "panels": [{
                "judge": judge,
                "histogram": plots.histogram_plot(
                    each, f"Histogram of the scores that {judge} gives humans and {system}"),
                "length": plots.length_plot(
                    each, f"Mean score by {judge} against length, for humans and {system}"),
            } for judge, each in real.items()],
        })  # fmt: skip
    return told


def corners(found: Sequence[Row], systems: Mapping[str, int]) -> dict[str, Any]:
    """Plots of AdverSuc against machine-vs-random, and the corner of each system."""
    placed = [row for row in found if plots.corner(row) and row.evaluator not in REFERENCES]
    judges = dict.fromkeys(row.evaluator for row in placed)
    alt = "AdverSuc against machine-vs-random accuracy before {}; the table below has the numbers"
    panels = [
        {"judge": judge, "plot": plots.corner_plot(
            [row for row in placed if row.evaluator == judge], systems, alt.format(judge))}
        for judge in judges
    ]  # fmt: skip
    points = [
        {
            "place": systems[row.system], "system": row.system, "judge": row.evaluator,
            "adversuc": share(number(row.adversuc, "value")),
            "machine": share(number(row.machine, "value")),
            "gap": signed(number(row.machine, "gap")), "corner": plots.CORNERS[plots.corner(row)],
        }
        for row in placed
    ]  # fmt: skip
    return {"panels": panels, "points": points}


def learning(
    told: Mapping[str, Any], systems: Mapping[str, int], kinds: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The learning curves of each system, and what each of them says."""
    states, found = saturation(told), []
    for system, place in systems.items():
        curves: dict[str, list[Mapping[str, Any]]] = {}
        for point in told.get("curves") or ():
            if point.get("system") == system and point.get("evaluator") not in REFERENCES:
                curves.setdefault(point.get("evaluator") or "", []).append(point)
        if curves:
            lines = {judge: kinds.get(judge, "c0") for judge in curves}
            alt = f"Learning curve: AdverSuc of {system} by the number of training examples"
            said = [(judge, lines[judge], states[system, judge]) for judge in curves]
            plot = plots.learning_plot(curves, lines, alt)
            found.append({"system": system, "place": place, "plot": plot, "said": said})
    return found


def examples(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The most fooling and the most obvious replies of each system."""
    kinds = (("fooling", "Most fooling"), ("obvious", "Most obvious"))
    shown = []
    for system, own in (told.get("examples") or {}).items():
        lists = [
            (title, kind, [_example(each) for each in ((own or {}).get(kind) or ())[:_EXAMPLES]])
            for kind, title in kinds
        ]
        if any(each for _, _, each in lists):
            shown.append({"system": system, "lists": lists})
    return shown


def _example(each: Mapping[str, Any]) -> dict[str, Any]:
    turns = each.get("context") or []
    return {
        "earlier": max(0, len(turns) - _TURNS),
        "context": [_cut(turn) for turn in turns[-_TURNS:]],
        "response": _cut(each.get("response")),
        "human": _cut(each.get("human")),
        "score": share(number(each, "score")),
        "evaluator": each.get("evaluator") or "",
    }


def _cut(text: Any) -> str:
    text = "" if text is None else str(text)
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"


def flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Settings one a line, those within others with both names."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from flat(each, f"{name}.{key}" if name else str(key))
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
