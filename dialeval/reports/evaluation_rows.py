"""What an evaluation found, a row for each system and evaluator, in numbers a person can read."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dialeval.metrics.results import REFERENCES, SECOND_HUMAN

NONE = "–"
UPPER_BOUND = "upper bound, judge not saturated"
READING = (
    "AdverSuc is the share of wrong judgements: 0 when every reply is told apart, .5 for a coin.",
    "Machine-vs-random counts only by its gap: with the context minus the response alone.",
    "ERE: 0 for a perfect judge, .25 for a coin. Intervals are conditional on the trained judges.",
)
READING_ERE = (
    "Each scenario: AdverSuc and how far it is from gold (.5, .5, 0, 0). ERE is the mean of the "
    "absolute deviations: 0 for a perfect judge, .25 for a coin.",
    "The noise floor is what a perfect judge gets by chance on as many responses. Intervals are "
    "conditional on the trained judges.",
)
TRANSFER = (
    "By transfer: a judge applied as it is, not retrained for each scenario. That is another "
    "quantity, not comparable with ERE."
)
BY_HUMAN = f"{SECOND_HUMAN}: not a system, but what another human's replies get."
SCENARIOS = {
    "human_human": ("human / human", "human/\nhuman"),
    "machine_machine": ("machine / machine", "machine/\nmachine"),
    "human_random": ("human / random", "human/\nrandom"),
    "human_next": ("human / next", "human/\nnext"),
}
_ERES = ("ere", "ere_transfer")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Row:
    """What was found for one system before one evaluator; an empty mapping for what was not."""

    system: str
    evaluator: str
    adversuc: Mapping[str, Any] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    control: Mapping[str, Any] = field(default_factory=dict)
    ere: Mapping[str, Any] = field(default_factory=dict)
    upper_bound: bool = False

    @property
    def reference(self) -> bool:
        """Whether it only shows what others have to beat, or could reach."""
        return self.evaluator in REFERENCES or self.system == SECOND_HUMAN


@dataclass(frozen=True)
class Column:
    """A column of the table: its name, its head in two short lines, and what a row has in it."""

    name: str
    head: str
    cell: Callable[[Row], str]


def number(result: Mapping[str, Any], name: str) -> float | None:
    """A number of a result or of its details; `None` when it is missing, null or not finite."""
    value = result.get(name, (result.get("details") or {}).get(name))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def share(value: float | None) -> str:
    """A share without its leading zero.

    Example:
        >>> share(0.3125), share(1), share(None), share(-0.02)
        ('.312', '1.000', '–', '−.020')
    """
    if value is None:
        return NONE
    text = f"{abs(value):.3f}".removeprefix("0")
    return f"−{text}" if value < 0 and text != ".000" else text


def signed(value: float | None) -> str:
    """A difference with its sign.

    Example:
        >>> signed(0.041), signed(-0.3), signed(0)
        ('+.041', '−.300', '.000')
    """
    text = share(value)
    return f"+{text}" if value is not None and value > 0 and text != ".000" else text


def p_value(value: float | None) -> str:
    """A p-value, to the precision that matters."""
    return "<.001" if value is not None and value < 0.001 else share(value)


def between(result: Mapping[str, Any]) -> str:
    """The interval of a result."""
    low, high = number(result, "low"), number(result, "high")
    return NONE if low is None or high is None else f"{share(low)}–{share(high)}"


def count(value: float | None) -> str:
    """A count with its thousands apart."""
    return NONE if value is None else f"{value:,.0f}"


def cleaned(text: Any) -> str:
    """A text without control characters, which would reach the terminal or break a page."""
    return _CONTROL.sub("\ufffd", "" if text is None else str(text))


def one_line(text: Any) -> str:
    """A text in one line."""
    return " ".join(cleaned(text).split())


def rows(told: Mapping[str, Any]) -> list[Row]:
    """A row for each system and evaluator: systems as they come, reference rows last."""
    found = {_key(each): each for each in told.get("results") or ()}
    keys = dict.fromkeys(
        (system, evaluator)
        for metric, system, evaluator in found
        if evaluator
        and ((system and metric in ("adversuc", "machine_vs_random")) or metric in _ERES)
    )
    named = {evaluator for system, evaluator in keys if system}
    keys = {key: None for key in keys if key[0] or key[1] not in named}
    systems = dict.fromkeys(system for system, _ in keys)
    order = sorted(systems, key=lambda system: system == SECOND_HUMAN)
    upper = {
        key
        for key, state in saturation(told).items()
        if state == UPPER_BOUND and key[1] not in REFERENCES
    }
    ranked = sorted(keys, key=lambda key: (order.index(key[0]), key[1] in REFERENCES))
    return [_row(found, *key, key in upper) for key in ranked]


def _key(result: Mapping[str, Any]) -> tuple[str, str, str]:
    return tuple(result.get(name) or "" for name in ("metric", "system", "evaluator"))


def _row(found: Mapping[tuple, Any], system: str, evaluator: str, upper_bound: bool) -> Row:
    own = [found[name, whose, evaluator] for whose in (system, "") for name in _ERES
           if (name, whose, evaluator) in found]  # fmt: skip
    return Row(
        system,
        evaluator,
        adversuc=found.get(("adversuc", system, evaluator), {}),
        machine=found.get(("machine_vs_random", system, evaluator), {}),
        control=found.get(("human_vs_random", "", evaluator), {}),
        ere=own[0] if own else {},  # without a system, a judge's own
        upper_bound=upper_bound,
    )


def saturation(told: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """What each learning curve says: an upper bound, flat within noise, or too short to say.

    The curve still falls when AdverSuc at half of the training data lies above its interval at
    all of it. Both judge the same responses, so that their difference is about as noisy as one.
    """
    curves: dict[tuple[str, str], dict[float, Mapping[str, Any]]] = {}
    for point in told.get("curves") or ():
        key = (point.get("system") or "", point.get("evaluator") or "")
        curves.setdefault(key, {})[round(number(point, "share") or 0, 3)] = point
    return {key: _saturated(curve.get(0.5, {}), curve.get(1, {})) for key, curve in curves.items()}


def _saturated(half: Mapping[str, Any], whole: Mapping[str, Any]) -> str:
    before, bound = number(half, "adversuc"), number(whole, "high")
    if before is None or bound is None or number(whole, "adversuc") is None:
        return "too few points to say"
    return UPPER_BOUND if before > bound else "flat within its noise"


def columns(found: Sequence[Row]) -> list[Column]:
    """The columns that this table needs: errors of judges not retrained stand in their own."""
    modes = {transfers(row) for row in found if row.ere} or {False}
    errors = [column for mode, column in _ERE.items() if mode in modes]
    if only_reliability(found):
        return [*errors, *_OF_ERE]
    return [*_FIRST, *errors, *_LAST]


def only_reliability(found: Sequence[Row]) -> bool:
    """Whether nobody asked how systems fare, but only what the judges are worth."""
    return bool(found) and not any(row.adversuc or row.machine for row in found)


def transfers(row: Row) -> bool:
    """Whether a row's ERE is of a judge that was not retrained, which is another quantity."""
    return row.ere.get("metric") == "ere_transfer"


def _ere(row: Row, transfer: bool) -> str:
    return share(number(row.ere, "value")) if transfers(row) == transfer else NONE


def _adversuc(row: Row) -> str:
    return ("≤ " if row.upper_bound else "") + share(number(row.adversuc, "value"))


def _column(name: str, head: str, part: str, key: str, form: Callable = share) -> Column:
    return Column(name, head, lambda row: form(number(getattr(row, part), key)))


_FIRST = (
    Column("AdverSuc", "AdverSuc", _adversuc),
    Column("95 %", "95 %", lambda row: between(row.adversuc)),
    _column("n", "n", "adversuc", "n", count),
    _column("machine-vs-random", "machine/\nrandom", "machine", "value"),
    _column("response only", "response\nonly", "machine", "response_only"),
    _column("gap", "gap", "machine", "gap", signed),
    _column("human-vs-random", "human/\nrandom", "control", "value"),
)
_ERE = {
    False: Column("ERE", "ERE", lambda row: _ere(row, False)),
    True: Column("ERE (transfer)", "ERE by\ntransfer", lambda row: _ere(row, True)),
}
_LAST = (
    _column("AUROC", "AUROC", "adversuc", "auroc"),
    _column("p", "p", "adversuc", "p_value", p_value),
)


def _scenario(name: str) -> Column:
    def cell(row: Row) -> str:
        told = ((row.ere.get("details") or {}).get("scenarios") or {}).get(name) or {}
        value = share(number(told, "adversuc"))
        return value if value == NONE else f"{value}\n{signed(number(told, 'deviation'))}"

    return Column(*SCENARIOS[name], cell)


_OF_ERE = (
    Column("95 %", "95 %", lambda row: between(row.ere)),
    _column("noise floor", "noise\nfloor", "ere", "noise_floor"),
    _column("n", "n", "ere", "n", count),
    *map(_scenario, SCENARIOS),
)


def notes(found: Sequence[Row]) -> list[str]:
    """How to read the table, with only what stands in it."""
    reading = READING_ERE if only_reliability(found) else READING
    bound = [f"≤: {UPPER_BOUND}."] if any(row.upper_bound for row in found) else []
    transfer = [TRANSFER] if any(map(transfers, found)) else []
    human = [BY_HUMAN] if any(row.system == SECOND_HUMAN for row in found) else []
    return [*reading, *bound, *transfer, *human]


def headlines(told: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The first verdict of each system, which is the one it is known by."""
    found: dict[str, Mapping[str, Any]] = {}
    for each in told.get("verdicts") or ():
        found.setdefault(each.get("system") or "", each)
    return found
