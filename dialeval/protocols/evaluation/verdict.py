"""What the numbers of one evaluator show about a system, in words."""

from dataclasses import dataclass

from dialeval.metrics.evaluation_results import (
    CONTEXT_INDEPENDENT,
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    TOO_WEAK,
    Verdict,
)

ALPHA = 0.05
SAME = 0.55
"""Two sides count as the same if the interval of the accuracy lies below this."""


@dataclass(frozen=True)
class Evidence:
    """The numbers that a verdict is based on, all of one evaluator.

    Args:
        accuracy, low, high (`float`):
            Accuracy on the system's and human responses, with its interval.
        p_value (`float`):
            Of the test that this accuracy is above chance.
        control, control_p (`float`):
            Accuracy on human and random replies (`None` if it could not be computed), and the
            p-value of the test that it is above chance.
        n (`int`):
            Number of contexts.
        random (`float`, *optional*):
            Accuracy on the system's and random replies.
        below_control (`bool`, *optional*, defaults to `False`):
            Whether that is significantly below the control.
        retrained (`bool`, *optional*, defaults to `True`):
            Whether the evaluator was trained on this system.
    """

    accuracy: float
    low: float
    high: float
    p_value: float
    control: float | None
    control_p: float
    n: int
    random: float | None = None
    below_control: bool = False
    retrained: bool = True


def verdict(system: str, evaluator: str, evidence: Evidence) -> Verdict:
    """The verdict on a system, with sentences that explain it.

    Args:
        system (`str`):
            Name of the system.
        evaluator (`str`):
            Name of the evaluator.
        evidence (`Evidence`):
            Its numbers.

    Returns:
        `Verdict`: The first that applies, in a fixed order.

    Examples:
        >>> evidence = Evidence(0.9, 0.88, 0.92, 0.001, 0.7, 0.001, 1000)
        >>> verdict("bot", "svm", evidence).verdict
        'distinguishable'
    """
    name, text = _name_and_text(system, evaluator, evidence)
    if not evidence.retrained and evidence.p_value >= ALPHA:
        text += f" It was not trained on {system}; an evaluator that is may detect more."
    return Verdict(system, evaluator, name, text)


def _name_and_text(system: str, evaluator: str, evidence: Evidence) -> tuple[str, str]:
    numbers = f"accuracy {evidence.accuracy:.3f} [{evidence.low:.3f}, {evidence.high:.3f}], "
    numbers += f"p {_p_value(evidence.p_value)}, {evidence.n:,} contexts"
    passed = evidence.control is not None and evidence.control_p < ALPHA
    control = f"human from random replies (accuracy {evidence.control or 0:.3f}, "
    control += f"p {_p_value(evidence.control_p)})"
    if evidence.p_value < ALPHA:  # a difference that was detected needs no control
        text = f"{evaluator} distinguishes {system} from humans: {numbers}. "
        surface = f"It {_failed_control(evidence)}, so the difference may be in the style alone."
        return DISTINGUISHABLE, text + (f"It also distinguishes {control}." if passed else surface)
    if not passed:
        return TOO_WEAK, (
            f"{evaluator} failed its control: it {_failed_control(evidence)}, so it may not use "
            f"the context at all. That it does not distinguish {system} from humans ({numbers}) "
            "proves nothing."
        )
    if evidence.below_control and evidence.random is not None:
        return CONTEXT_INDEPENDENT, (
            f"{evaluator} does not distinguish {system} from humans: {numbers}. But it "
            f"distinguishes {system}'s replies from random ones with an accuracy of only "
            f"{evidence.random:.3f}, significantly less well than {control}: the replies look "
            "human but hardly depend on the context."
        )
    if evidence.high < SAME:
        return INDISTINGUISHABLE, (
            f"{evaluator} distinguishes {control}, but not {system} from humans: {numbers}; the "
            f"whole interval lies below {SAME}."
        )
    return INCONCLUSIVE, (
        f"{evaluator} distinguishes {control}, but the data do not show whether {system} can be "
        f"distinguished from humans: {numbers}. About {_more_contexts(evidence):,} more contexts "
        "would settle it."
    )


def _failed_control(evidence: Evidence) -> str:
    """What the evaluator did not do where there is a difference."""
    if evidence.control is None:
        return "could not be tested on human and random replies"
    return (
        f"does not distinguish human from random replies (accuracy {evidence.control:.3f}, "
        f"p {_p_value(evidence.control_p)})"
    )


def _more_contexts(evidence: Evidence) -> int:
    """Additional contexts for a clear verdict, if the accuracy stayed the same."""
    half = max(evidence.high - evidence.accuracy, 1e-6)
    gap = evidence.accuracy - 0.5 if evidence.accuracy >= SAME else SAME - evidence.accuracy
    factor = (half / max(abs(gap), 0.01)) ** 2
    return max(evidence.n // 10, round(evidence.n * (factor - 1)), 10)


def _p_value(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"
