"""Results of a comparison of systems, context by context."""

from dataclasses import asdict, dataclass
from typing import Any

from dialeval.metrics.evaluation_results import FormatLeak
from dialeval.metrics.paired import McNemarResult
from dialeval.metrics.results import plain, signature, versions


@dataclass(frozen=True)
class Pair:
    """Two systems, evaluated by one evaluator, on the contexts that both answered.

    Args:
        evaluator, first, second (`str`):
            The evaluator, and the systems' labels.
        first_adversuc, second_adversuc (`float`):
            AdverSuc of both on these contexts.
        difference (`float`):
            AdverSuc of the first minus that of the second: `machine_side` + `human_side`.
        low, high, p_bootstrap (`float`):
            95 % paired bootstrap over dialogues.
        p (`float`):
            Approximate randomisation over dialogues.
        machine_side, human_side (`float`):
            What the machine and the human responses contribute to the difference.
        mcnemar (`McNemarResult`, *optional*):
            On the machine responses alone: `p`, and in how many contexts `only_first` and
            `only_second` was predicted to be human. `None` where a context has several responses.
        human_changed (`int`):
            Contexts whose human response the two systems' evaluators decided differently.
        n, dialogues (`int`):
            Contexts and dialogues in common.
        first_left_out, second_left_out (`int`):
            Contexts that the other system did not answer.
        detectable (`float`, *optional*):
            Smallest true difference that these contexts detect with 80 % power.
        evaluators_differ (`tuple[str, ...]`):
            Parts of the signature that are not the same.
        p_holm (`float`, *optional*, defaults to 1.0):
            `p` after Holm's correction for the evaluator's pairs.
        significant (`bool`, *optional*, defaults to `False`):
            Whether `p_holm` is at most alpha.
    """

    evaluator: str
    first: str
    second: str
    first_adversuc: float
    second_adversuc: float
    difference: float
    low: float
    high: float
    p: float
    p_bootstrap: float
    machine_side: float
    human_side: float
    mcnemar: McNemarResult | None
    human_changed: int
    n: int
    dialogues: int
    first_left_out: int
    second_left_out: int
    detectable: float | None
    evaluators_differ: tuple[str, ...]
    p_holm: float = 1.0
    significant: bool = False


@dataclass(frozen=True)
class SystemSummary:
    """AdverSuc of one system by one evaluator on all its contexts.

    Args:
        label, run, system, evaluator (`str`):
            Names; the label has the run's name where several runs have a system of that name.
        adversuc (`float`, *optional*):
            `None` without any context.
        n (`int`):
            Number of contexts.
        low, high (`float`, *optional*):
            The 95 % interval of its run, over dialogues and seeds; `None` where contexts of the run
            are left out here, or the run has none.
        leak (`FormatLeak`, *optional*):
            Its clearest format leak.
        normalised (`float`, *optional*):
            AdverSuc after the format of both sides was normalised; `None` where it was not.
    """

    label: str
    run: str
    system: str
    evaluator: str
    adversuc: float | None
    n: int
    low: float | None = None
    high: float | None = None
    leak: FormatLeak | None = None
    normalised: float | None = None


@dataclass(frozen=True)
class Comparison:
    """All pairs of systems, and the systems that do not differ.

    Args:
        pairs (`list[Pair]`):
            By evaluator, largest difference first.
        systems (`list[SystemSummary]`):
            Every system by every evaluator.
        groups (`dict[str, list[list[str]]]`):
            By evaluator, the largest sets in which no difference is significant; a system may be
            in several.
        notes, warnings (`list[str]`):
            What was left out, and what makes a comparison doubtful.
        settings (`dict`):
            Settings of the tests.
    """

    pairs: list[Pair]
    systems: list[SystemSummary]
    groups: dict[str, list[list[str]]]
    notes: list[str]
    warnings: list[str]
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON can hold it."""
        return plain({**asdict(self), "signature": signature(**self.settings)}) | {
            "versions": versions()
        }
