"""Results of an audit: the share of machine-written replies, checks, and groups."""

import math
from dataclasses import dataclass
from typing import ClassVar

from dialeval.metrics.results import Result, RunResults
from dialeval.registry import import_object

SHARE, AT_MOST, UNLIKE = "share", "at most", "unlike the reference"
"""What an audit can give: with both known samples, with machines only, with a reference only."""
KNOWN_ONLY = "like the machine file"
"""In place of `SHARE` where the data are not a mixture of the known samples: only this share."""
METRICS = {
    SHARE: "machine_share",
    KNOWN_ONLY: "known_machine_share",
    AT_MOST: "machine_share_at_most",
    UNLIKE: "unlike_reference",
}
"""Name of the number in `results`."""
FIT, NEITHER = "fit of the mixture", "replies like neither"
"""Names of the checks that must pass before there is a share."""


def stated_share(kind: str, result: Result, digits: int) -> float:
    """The share that a sentence states: a bound is rounded so that it stays one.

    Args:
        kind (`str`):
            What the audit gave.
        result (`Result`):
            The number with its interval.
        digits (`int`):
            Decimals of the share that are printed.

    Returns:
        `float`: The upper bound for `AT_MOST`, the lower one for `UNLIKE`, else the value.

    Examples:
        >>> result = Result("unlike_reference", "data", "svm", 0.2, 0.1276, 0.3, 90, "")
        >>> stated_share(UNLIKE, result, 2), stated_share(AT_MOST, result, 2)
        (0.12, 0.3)
    """
    scale, slack = 10**digits, 1e-9  # without it .29 would be .28: 100 * .29 is 28.999...
    if kind == AT_MOST:
        return math.ceil(scale * result.high - slack) / scale
    if kind == UNLIKE:
        return math.floor(scale * result.low + slack) / scale
    return result.value


@dataclass(frozen=True)
class AuditCheck:
    """A check of what the share rests on.

    Args:
        name (`str`):
            What is checked.
        value (`float`):
            The number.
        passed (`bool`):
            Whether it is as it should be.
        text (`str`):
            A sentence about it.
        p_value (`float`, *optional*):
            Where it is a test.
    """

    name: str
    value: float
    passed: bool
    text: str
    p_value: float | None = None


@dataclass(frozen=True)
class AuditGroup:
    """The replies of one worker or source.

    Args:
        name (`str`):
            Name in the column.
        replies, dialogues (`int`):
            How many there are.
        share, low, high (`float`):
            Share of machine-written replies after partial pooling, and its interval.
        unpooled (`float`):
            The share from the group's replies alone.
        p_value, q_value (`float`):
            Of the hypothesis that all replies are human; q-values control the false discovery
            rate (Benjamini and Hochberg, 1995).
        stands_out (`bool`):
            Whether the q-value is below the false discovery rate of the run.
    """

    name: str
    replies: int
    dialogues: int
    share: float
    low: float
    high: float
    unpooled: float
    p_value: float
    q_value: float
    stands_out: bool


@dataclass(frozen=True)
class ScoreBin:
    """One bin of the evaluator's scores, from the most human-like to the most machine-like.

    Args:
        human, machine, data (`float`):
            Share of each sample in this bin.
        fitted (`float`):
            Share in the mixture that fits the data best.
    """

    human: float
    machine: float
    data: float
    fitted: float


@dataclass(frozen=True, kw_only=True)
class AuditResults(RunResults):
    """Everything `dialeval audit` computed; what its `results.json` holds.

    Args:
        kind (`str`, *optional*):
            `SHARE`, `KNOWN_ONLY`, `AT_MOST` or `UNLIKE`.
        text (`str`, *optional*):
            The result in a sentence.
        checks (`tuple[AuditCheck, ...]`, *optional*):
            What the number rests on.
        by (`str`, *optional*):
            Column of the groups.
        groups (`tuple[AuditGroup, ...]`, *optional*):
            The smallest p-value first.
        bins (`tuple[ScoreBin, ...]`, *optional*):
            Distributions of scores.

    The other fields are those of [`RunResults`].
    """

    protocol: ClassVar[str] = "audit"

    kind: str = SHARE
    text: str = ""
    checks: tuple[AuditCheck, ...] = ()
    by: str | None = None
    groups: tuple[AuditGroup, ...] = ()
    bins: tuple[ScoreBin, ...] = ()

    @property
    def share(self) -> float:
        """The share, or the bound; NaN where the data are not a mixture of the known samples."""
        return float("nan") if self.kind == KNOWN_ONLY else self.results[0].value

    def __str__(self) -> str:
        return str(import_object("dialeval.reports.audit:to_text", "dialeval")(self))

    def _repr_html_(self) -> str:
        return str(import_object("dialeval.reports.audit:notebook_html", "dialeval")(self))
