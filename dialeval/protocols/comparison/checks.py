"""Conditions that the results of a run must meet, for tests and continuous integration."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.metrics.evaluation_results import INCONCLUSIVE, NEGLIGIBLE
from dialeval.metrics.gate_results import AnyCheck, Check, VerdictCheck, problem_of, wrong_way
from dialeval.metrics.results import RESULTS, SECOND_HUMAN, Result, RunResults, plain, read_results
from dialeval.metrics.unpaired_results import CONFOUNDED, UNPAIRED_VERDICTS
from dialeval.protocols.comparison.decisions import select_names

BOUNDS = ("value", "low", "high", "conservative")
OPEN_VERDICTS = (INCONCLUSIVE, CONFOUNDED)
"""Verdicts that leave open whether there is a difference."""
_SHORT = {"negligible": NEGLIGIBLE, "confounded": CONFOUNDED}
_OF_SOME = ("relevance",)
"""Metrics that evaluators which do not read contexts never have."""
_NUMBERS = ("value", "low", "high", "n")
_LISTED = 20  # names of details in an error message


def check_run(
    folder: Path | str,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    *,
    systems: Sequence[str] = (),
    evaluators: Sequence[str] = (),
    bound: str = "value",
    either_way: bool = True,
) -> list[Check]:
    """Whether a run meets conditions such as `min={"adversuc": 0.2}, max={"ere": 0.2}`.

    Args:
        folder (`Path` or `str`):
            Output folder of the run.
        min, max (`Mapping[str, float]`, *optional*):
            Limits by metric, or by key in a metric's details: `"adversuc.auroc"`.
        systems, evaluators (`Sequence[str]`, *optional*):
            For which they must hold; by default every system but the second human, and every
            evaluator but the references coin and length; of `relevance` those that measure it.
        bound (`str`, *optional*, defaults to `"value"`):
            What is tested: the value, the `"low"` or `"high"` bound of its interval, or the
            `"conservative"` one: low for `min` and high for `max`.
        either_way (`bool`, *optional*, defaults to `True`):
            Whether limits may ask for a worse number, such as a minimum of the evaluator's AUROC.

    Returns:
        `list[Check]`: One per condition, system and evaluator.
    """
    if bound not in BOUNDS:
        raise BadInput(f"Unknown bound {bound!r}.", hint=f"Choose one of {', '.join(BOUNDS)}.")
    limits = [(name, limit, False) for name, limit in (min or {}).items()]
    limits += [(name, limit, True) for name, limit in (max or {}).items()]
    if not limits:
        hint = "Give one: --verdict indistinguishable, or --min adversuc=0.2"
        raise BadInput("no condition to check.", hint=hint)
    if not either_way:
        _check_directions(limits)
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
            rows, Check(name, limit, upper, "", ""), wanted, wanted_evaluators, bound,
            all_evaluators=bool(evaluators),
        )
    ]  # fmt: skip


def check_verdicts(
    folder: Path | str, accepted: Sequence[str], systems: Sequence[str] = ()
) -> list[VerdictCheck]:
    """Whether the verdicts of a run are among those that are accepted.

    Args:
        folder (`Path` or `str`):
            Output folder of `dialeval evaluate`.
        accepted (`Sequence[str]`):
            Verdicts that pass, such as `"indistinguishable"`. An inconclusive one that is not among
            them counts as not measured, because the run leaves the question open.
        systems (`Sequence[str]`, *optional*):
            Which systems; all by default.

    Returns:
        `list[VerdictCheck]`: One per system.

    Raises:
        BadInput: There is no such verdict or system, or the run has no verdicts on systems.
    """
    names = tuple(_SHORT.get(name, name) for name in accepted)
    unknown = [name for name in names if name not in UNPAIRED_VERDICTS]
    if unknown:
        hint = f"Choose from {', '.join(UNPAIRED_VERDICTS)}."
        raise BadInput(f"there is no verdict {unknown[0]!r}.", hint=hint)
    path = Path(folder)
    content = read_results(path if path.is_file() else path / RESULTS)
    rows = content.get("verdicts") if content.get("protocol") in _WITH_VERDICTS else None
    if not isinstance(rows, list):
        hint = "Give the folder of `dialeval evaluate`, or leave out --verdict."
        raise BadInput("this run has no verdicts on systems.", folder, hint=hint)
    verdicts = {str(row.get("system")): row for row in rows if isinstance(row, dict)}
    evaluated = [row.system for row in RunResults.load(folder).results if row.system]
    wanted = select_names(systems, [*verdicts, *evaluated], "system") if systems else [*verdicts]
    return [VerdictCheck(names, name, *_verdict_texts(verdicts.get(name, {}))) for name in wanted]


_WITH_VERDICTS = ("evaluation", "unpaired")


def _verdict_texts(row: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...], str]:
    texts = [str(row.get(name) or "") for name in ("verdict", "text", "evaluator")]
    return texts[0], texts[1], OPEN_VERDICTS, texts[2]


def assert_metrics(
    folder: Path | str,
    min: Mapping[str, float] | None = None,
    max: Mapping[str, float] | None = None,
    verdict: str | Sequence[str] = (),
    **options: Any,
) -> None:
    """Raise an `AssertionError` with a line for each condition, if one is not met.

    Args:
        folder (`Path` or `str`):
            Output folder of the run.
        min, max (`Mapping[str, float]`, *optional*):
            Limits by metric.
        verdict (`str` or `Sequence[str]`, *optional*):
            Verdicts that are accepted: see [`check_verdicts`].
        options:
            Further arguments of [`check_run`].
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    accepted = [verdict] if isinstance(verdict, str) else list(verdict)
    checks: list[AnyCheck] = []
    if accepted:
        checks += check_verdicts(folder, accepted, options.get("systems", ()))
    if min or max or not accepted:
        checks += check_run(folder, min, max, **options)
    if not all(check.passed for check in checks):
        raise AssertionError("\n".join(map(str, checks)))


def _check_directions(limits: Sequence[tuple[str, float, bool]]) -> None:
    """Refuse limits that only a worse system or evaluator would meet."""
    for name, limit, upper in limits:
        reason = wrong_way(name, upper)
        if reason:
            given, other = ("--max", "--min") if upper else ("--min", "--max")
            raise BadInput(
                f"{given} {name}={limit:g} points the wrong way: {reason}.",
                hint=f"Give {other} {name}={limit:g}; if you mean it, add --either-way.",
            )


def _checks(
    results: Sequence[Result],
    condition: Check,
    systems: Sequence[str],
    evaluators: Sequence[str],
    bound: str,
    all_evaluators: bool,
) -> Iterator[Check]:
    """The condition for every system and evaluator that the metric has."""
    metric, _, key = condition.name.partition(".")
    rows = {(row.system, row.evaluator): row for row in results if row.metric == metric}
    if metric in _OF_SOME and not all_evaluators:
        evaluators = [name for name in evaluators if any(name == other for _, other in rows)]
    if not rows:
        metrics = dict.fromkeys(row.metric for row in results)
        problem = f"the run has no metric {metric!r}. It has {', '.join(metrics) or 'none'}."
        if metric == "ere" and "ere_three" in metrics:
            problem = (
                "ERE was measured over three scenarios, because the data have no next turns. Set a "
                "limit for ere_three, in which a random guess is .167 off."
            )
        yield replace(condition, problem=problem)
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
    return replace(measured, problem=problem_of(measured))


def _detail(row: Result, key: str) -> dict[str, Any] | None:
    """The number under a dotted key of the details, with its interval; `None` without the key."""
    *path, last = key.split(".")
    details: Any = row.details
    for part in path:
        details = details.get(part, {}) if isinstance(details, Mapping) else {}
    if not isinstance(details, Mapping) or last not in details:
        return None
    stem = "pairwise" if last == "pairwise_accuracy" else last  # as [`adversuc`] calls its bounds
    names = {"value": last, "low": f"{stem}_low", "high": f"{stem}_high"}
    numbers = {name: details.get(source) for name, source in names.items()}
    n = details.get("n_pairs") if stem == "pairwise" else None
    return {**numbers, "n": details.get("n", row.n) if n is None else n}
