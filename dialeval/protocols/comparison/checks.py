"""Conditions that the results of a run must meet, for tests and continuous integration."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.metrics.results import SECOND_HUMAN, Result, RunResults, plain
from dialeval.protocols.comparison.decisions import select_names

BOUNDS = ("value", "low", "high", "conservative")
_NUMBERS = ("value", "low", "high", "n")
_LISTED = 20  # names of details in an error message


@dataclass(frozen=True)
class Check:
    """One condition on one system by one evaluator; its text says whether it is met.

    Args:
        name (`str`):
            The metric, or a key in its details: `"adversuc.auroc"`.
        limit (`float`):
            What it must reach, or must not exceed if `upper`.
        upper (`bool`):
            Whether the limit is an upper one.
        system, evaluator (`str`):
            Which system, evaluated by which evaluator; empty where the metric has none.
        bound (`str`, *optional*, defaults to `"value"`):
            Which number is tested: `"value"`, `"low"` or `"high"`.
        value, low, high, n (*optional*):
            The numbers; `None` where there are none.
        problem (`str`, *optional*, defaults to `""`):
            Why there is no number to test; empty if there is one.
    """

    name: str
    limit: float
    upper: bool
    system: str
    evaluator: str
    bound: str = "value"
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether the condition is met."""
        tested = getattr(self, self.bound)
        if self.problem or tested is None:
            return False
        return tested <= self.limit if self.upper else tested >= self.limit

    def __str__(self) -> str:
        names = ", evaluated by ".join(filter(None, (self.system, self.evaluator)))
        condition = f"{self.name} {'<=' if self.upper else '>='} {self.limit:g}"
        outcome = "pass" if self.passed else "FAIL"
        prefix = f"{outcome}: {condition}{', ' + names if names else ''}: "
        return prefix + (self.problem or self._format_numbers())

    def _format_numbers(self) -> str:
        numbers = (self.value, self.low, self.high)
        value, low, high = (_format_exactly(number, self.limit) for number in numbers)
        bound = "" if self.bound == "value" else f", {self.bound} bound tested"
        return f"{value} (95 %: {low} to {high}{bound}), n = {self.n}"


def check_run(
    folder: Path | str,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    *,
    systems: Sequence[str] = (),
    evaluators: Sequence[str] = (),
    bound: str = "value",
) -> list[Check]:
    """Whether a run meets conditions such as `min={"adversuc": 0.2}, max={"ere": 0.2}`.

    Args:
        folder (`Path` or `str`):
            Output folder of the run.
        min, max (`Mapping[str, float]`, *optional*):
            Limits by metric, or by key in a metric's details: `"adversuc.auroc"`.
        systems, evaluators (`Sequence[str]`, *optional*):
            For which they must hold; by default every system but the second human, and every
            evaluator but the references coin and length.
        bound (`str`, *optional*, defaults to `"value"`):
            What is tested: the value, the `"low"` or `"high"` bound of its interval, or the
            `"conservative"` one: low for `min` and high for `max`.

    Returns:
        `list[Check]`: One per condition, system and evaluator.
    """
    if bound not in BOUNDS:
        raise BadInput(f"Unknown bound {bound!r}.", hint=f"Choose one of {', '.join(BOUNDS)}.")
    limits = [(name, limit, False) for name, limit in (min or {}).items()]
    limits += [(name, limit, True) for name, limit in (max or {}).items()]
    if not limits:
        raise BadInput("no condition to check.", hint="Give one: --min adversuc=0.2")
    rows = RunResults.load(folder).results
    evaluated = {row.system for row in rows if row.system and row.evaluator} - {SECOND_HUMAN}
    names = [row.system for row in rows if row.system]
    wanted = select_names(systems, names, "system") if systems else sorted(evaluated or names)
    available = [row.evaluator for row in rows if row.evaluator]
    wanted_evaluators = select_names(evaluators, available, "evaluator")
    return [
        check
        for name, limit, upper in limits
        for check in _checks(
            rows, Check(name, limit, upper, "", ""), wanted, wanted_evaluators, bound
        )
    ]


def assert_metrics(
    folder: Path | str,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    **options: Any,
) -> None:
    """Raise an `AssertionError` with a line for each condition, if one is not met.

    Args:
        folder (`Path` or `str`):
            Output folder of the run.
        min, max (`Mapping[str, float]`, *optional*):
            Limits by metric.
        options:
            Further arguments of [`check_run`].
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    checks = check_run(folder, min, max, **options)
    if not all(check.passed for check in checks):
        raise AssertionError("\n".join(map(str, checks)))


def _checks(
    results: Sequence[Result],
    condition: Check,
    systems: Sequence[str],
    evaluators: Sequence[str],
    bound: str,
) -> Iterator[Check]:
    """The condition for every system and evaluator that the metric has."""
    metric, _, key = condition.name.partition(".")
    rows = {(row.system, row.evaluator): row for row in results if row.metric == metric}
    if not rows:
        choices = ", ".join(dict.fromkeys(row.metric for row in results)) or "none"
        yield replace(condition, problem=f"the run has no metric {metric!r}. It has {choices}.")
        return
    if bound == "conservative":
        bound = "high" if condition.upper else "low"
    by_system, by_evaluator = (any(names) for names in zip(*rows, strict=True))
    for system in systems if by_system else [""]:
        for evaluator in evaluators if by_evaluator else [""]:
            check = replace(condition, system=system, evaluator=evaluator, bound=bound)
            yield _with_numbers(check, rows.get((system, evaluator)), key)


def _with_numbers(check: Check, row: Result | None, key: str) -> Check:
    """The condition with the numbers of its row, or with what is wrong with them."""
    if row is None:
        return replace(check, problem="was not measured.")
    numbers: Mapping[str, Any] | None = {name: plain(getattr(row, name)) for name in _NUMBERS}
    if key:
        numbers = _detail(row, key)
    if numbers is None:
        more = f" and {len(row.details) - _LISTED} more" if len(row.details) > _LISTED else ""
        choices = ", ".join(list(row.details)[:_LISTED]) + more or "none"
        return replace(check, problem=f"no {key!r} in the details. There are {choices}.")
    value, low, high, n = (numbers.get(name) for name in _NUMBERS)
    measured = replace(check, value=value, low=low, high=high, n=n)
    return replace(measured, problem=_problem(measured))


def _detail(row: Result, key: str) -> dict[str, Any] | None:
    """The number under a dotted key of the details, with its interval; `None` without the key."""
    *path, last = key.split(".")
    details: Any = row.details
    for part in path:
        details = details.get(part, {}) if isinstance(details, Mapping) else {}
    if not isinstance(details, Mapping) or last not in details:
        return None
    names = {"value": last, "low": f"{last}_low", "high": f"{last}_high"}
    numbers = {name: details.get(source) for name, source in names.items()}
    return {**numbers, "n": details.get("n", row.n)}


def _problem(check: Check) -> str:
    """Why the number cannot be tested; empty if it can."""
    if check.value is None:
        return f"it is null: nothing could be measured (n = {check.n})."
    if not isinstance(check.value, int | float) or isinstance(check.value, bool):
        return f"it is {json.dumps(check.value)[:60]}, not a number."
    if getattr(check, check.bound) is None:
        return f"it is {check.value:g} without an interval, so its {check.bound} bound is unknown."
    return ""


def _format_exactly(value: float | None, limit: float) -> str:
    """A number to three digits, or to all if three would hide on which side it lies."""
    if value is None:
        return "-"
    hidden = round(value, 3) == round(limit, 3) and value != limit
    return repr(value) if hidden else f"{value:.3f}"
