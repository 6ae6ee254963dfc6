"""Conditions on the results of a run, and whether they are met: for tests and gates."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

PASSED, FAILED, NOT_MEASURED = "passed", "failed", "not measured"
EXIT_CODES = {PASSED: 0, FAILED: 1, NOT_MEASURED: 2}
"""Exit code of `dialeval check` by the status of all conditions together."""

HIGHER_IS_BETTER = frozenset(
    (
        "adversuc", "adversuc_length_matched", "adversuc_normalised", "adversuc.p_value",
        "adversuc.machines_predicted_human", "relevance", "human_vs_random", "machine_vs_random",
        "distinct_1", "distinct_2", "unique",
    )
)  # fmt: skip
LOWER_IS_BETTER = frozenset(
    (
        "ere", "ere_three", "accuracy", "dialogue_accuracy", "matched_accuracy",
        "adversuc.accuracy", "adversuc.auroc", "adversuc.pairwise_accuracy",
        "adversuc.held_out_accuracy",
        "adversuc.held_out_pairwise_accuracy", "adversuc.length_stratified_accuracy",
        "adversuc.response_only_accuracy", "adversuc.tpr_at_1_fpr", "adversuc.tpr_at_5_fpr",
        "most_frequent", "self_repetition",
        "machine_share", "known_machine_share", "machine_share_at_most", "unlike_reference",
    )
)  # fmt: skip
_WORDS = {PASSED: "pass", FAILED: "FAIL", NOT_MEASURED: "not measured"}


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
    def status(self) -> str:
        """`"passed"`, `"failed"` or `"not measured"`."""
        tested = getattr(self, self.bound)
        if self.problem or tested is None:
            return NOT_MEASURED
        met = tested <= self.limit if self.upper else tested >= self.limit
        return PASSED if met else FAILED

    @property
    def passed(self) -> bool:
        """Whether the condition is met."""
        return self.status == PASSED

    @property
    def title(self) -> str:
        """The condition."""
        return f"{self.name} {'<=' if self.upper else '>='} {self.limit:g}"

    @property
    def finding(self) -> str:
        """The number, or why there is none."""
        return self.problem or self._format_numbers()

    def __str__(self) -> str:
        names = ", evaluated by ".join(filter(None, (self.system, self.evaluator)))
        return f"{_WORDS[self.status]}: {self.title}{', ' + names if names else ''}: {self.finding}"

    def _format_numbers(self) -> str:
        numbers = (self.value, self.low, self.high)
        value, low, high = (_format_exactly(number, self.limit) for number in numbers)
        bound = "" if self.bound == "value" else f", {self.bound} bound tested"
        return f"{value} (95 %: {low} to {high}{bound}), n = {self.n}"


@dataclass(frozen=True)
class VerdictCheck:
    """A condition on the verdict about one system.

    Args:
        accepted (`tuple[str, ...]`):
            Verdicts that meet it.
        system (`str`):
            Which system.
        verdict, text (`str`, *optional*):
            The verdict and its explanation; empty where the run has none.
        open_verdicts (`tuple[str, ...]`, *optional*):
            Verdicts that leave the question open, so that they count as not measured.
        evaluator (`str`, *optional*):
            The strongest evaluator.
    """

    accepted: tuple[str, ...]
    system: str
    verdict: str = ""
    text: str = ""
    open_verdicts: tuple[str, ...] = ()
    evaluator: str = ""

    @property
    def status(self) -> str:
        """`"passed"`, `"failed"` or `"not measured"`."""
        if self.verdict in self.accepted:
            return PASSED
        return NOT_MEASURED if self.verdict in ("", *self.open_verdicts) else FAILED

    @property
    def passed(self) -> bool:
        """Whether the condition is met."""
        return self.status == PASSED

    @property
    def title(self) -> str:
        """The condition."""
        return f"verdict {' or '.join(self.accepted)}"

    @property
    def finding(self) -> str:
        """The verdict with its explanation."""
        return f"{self.verdict}. {self.text}" if self.verdict else "the run has no verdict on it."

    def __str__(self) -> str:
        return f"{_WORDS[self.status]}: {self.title}, {self.system}: {self.finding}"


AnyCheck = Check | VerdictCheck


def status_of(checks: Iterable[AnyCheck], allow_unmeasured: bool = False) -> str:
    """The status of all conditions together: one that failed outweighs one without a number.

    Args:
        checks (`Iterable[AnyCheck]`):
            The conditions.
        allow_unmeasured (`bool`, *optional*, defaults to `False`):
            Whether conditions without a number are left out.

    Returns:
        `str`: `"passed"`, `"failed"` or `"not measured"`.
    """
    statuses = {check.status for check in checks}
    if FAILED in statuses:
        return FAILED
    return NOT_MEASURED if NOT_MEASURED in statuses and not allow_unmeasured else PASSED


def wrong_way(name: str, upper: bool) -> str:
    """Why a limit on a number points the wrong way; empty if it does not.

    Examples:
        >>> wrong_way("adversuc", upper=False)
        ''
        >>> wrong_way("adversuc.auroc", upper=False)
        'a lower adversuc.auroc is better'
    """
    if upper and name in HIGHER_IS_BETTER:
        return f"a higher {name} is better"
    return f"a lower {name} is better" if not upper and name in LOWER_IS_BETTER else ""


def problem_of(check: Check) -> str:
    """Why the number of a condition cannot be tested; empty if it can."""
    if check.value is None:
        return f"it is null: nothing could be measured (n = {check.n})."
    if not isinstance(check.value, int | float) or isinstance(check.value, bool):
        return f"it is {json.dumps(check.value)[:60]}, not a number."
    if getattr(check, check.bound) is None:
        return f"it is {check.value:g} without an interval, so its {check.bound} bound is unknown."
    return ""


def check_record(check: AnyCheck) -> dict[str, Any]:
    """A condition with its outcome, as JSON has it."""
    common = {"condition": check.title, "status": check.status, "finding": check.finding}
    return {**common, **asdict(check)}


def _format_exactly(value: float | None, limit: float) -> str:
    """A number to three digits, or to all if three would hide on which side it lies."""
    if value is None:
        return "-"
    hidden = round(value, 3) == round(limit, 3) and value != limit
    return repr(value) if hidden else f"{value:.3f}"
