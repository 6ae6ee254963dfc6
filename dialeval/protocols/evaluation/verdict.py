"""What the numbers say about a system, in words and in a fixed order."""

from dataclasses import dataclass

ALPHA = 0.05
SAME = 0.55
"""Accuracy below which two sides count as the same, if the interval lies below it."""


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on, all of one judge.

    Args:
        accuracy, low, high (`float`):
            Of telling the system from humans, with its interval.
        p_value (`float`):
            That this is above chance.
        control, control_p (`float`):
            Accuracy of telling human from random replies (`None` where that could not be tried),
            and that it is above chance.
        random (`float`, *optional*):
            Accuracy of telling the system's replies from random ones.
        below_control (`bool`, *optional*, defaults to `False`):
            Whether that is significantly below the control.
        n (`int`):
            Contexts.
        retrained (`bool`, *optional*, defaults to `True`):
            Whether the judge has learnt to tell this very system.
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


def verdict(system: str, evaluator: str, found: Evidence) -> tuple[str, str]:
    """The verdict, and the sentences that explain it.

    Example:
        >>> found = Evidence(0.9, 0.88, 0.92, 0.001, 0.7, 0.001, 1000)
        >>> verdict("bot", "svm", found)[0]
        'told apart'
    """
    name, text = _verdict(system, evaluator, found)
    if not found.retrained and found.p_value >= ALPHA:
        text += f" It was not trained on {system}: a judge that is may tell more."
    return name, text


def _verdict(system: str, evaluator: str, found: Evidence) -> tuple[str, str]:
    told = f"accuracy {found.accuracy:.3f} [{found.low:.3f}, {found.high:.3f}], "
    told += f"p {_p(found.p_value)}, {found.n:,} contexts"
    if found.control is None or found.control_p >= ALPHA:
        return "judge too weak to say", _too_weak(system, evaluator, found, told)
    control = f"human from random replies at {found.control:.3f} (p {_p(found.control_p)})"
    if found.p_value < ALPHA:
        return "told apart", f"{evaluator} tells {system} from humans: {told}. It tells {control}."
    if found.below_control and found.random is not None:
        return "won by noise", (
            f"{evaluator} does not tell {system} from humans: {told}. But it tells {system}'s replies "
            f"from random ones at {found.random:.3f} only, and {control}: the replies look human "
            "and hardly depend on the context."
        )
    if found.high < SAME:
        return "cannot be told apart", (
            f"{evaluator} tells {control}, but not {system} from humans: {told}; the whole interval "
            f"lies below {SAME}."
        )
    return "inconclusive", (
        f"{evaluator} tells {control}, but leaves open whether {system} can be told from humans: "
        f"{told}. About {_more(found):,} more contexts would settle it."
    )


def _too_weak(system: str, evaluator: str, found: Evidence, told: str) -> str:
    tried = (
        "could not be tried on human and random replies"
        if found.control is None
        else "does not tell human from random replies "
        f"(accuracy {found.control:.3f}, p {_p(found.control_p)})"
    )
    why = f"{evaluator} {tried}, so nothing shows that it reads for meaning."
    if found.p_value < ALPHA:
        return (
            f"{why} It tells {system} from humans by their surface ({told}), but what it misses "
            f"proves nothing about {system}."
        )
    return f"{why} That it does not tell {system} from humans either ({told}) proves nothing."


def _more(found: Evidence) -> int:
    """Contexts that would settle it, if the accuracy stayed as it is."""
    half = max(found.high - found.accuracy, 1e-6)
    gap = found.accuracy - 0.5 if found.accuracy >= SAME else SAME - found.accuracy
    factor = (half / max(abs(gap), 0.01)) ** 2
    return max(found.n // 10, round(found.n * (factor - 1)), 10)


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}"
