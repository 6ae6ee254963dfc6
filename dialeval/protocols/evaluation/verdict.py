"""What the numbers show about a system, in words: three questions, each answered by itself.

- *Is there a difference?* The held-out test of every evaluator, with Holm's correction.
- *How large is it?* The accuracy of the strongest evaluator, against a margin.
- *Can a "no" be trusted?* Only if the run has power: evaluators that pass their control, see both
  the surface and the context, and would have detected planted differences; and no format leak.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    IGNORES_CONTEXT,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
    Verdict,
)
from dialeval.metrics.power import POWER
from dialeval.metrics.significance import holm

ALPHA = 0.05
PLANTED = 0.2
"""A "no" needs a run that would have detected this share of planted replies, from every source."""
RANDOM = "random human replies"
"""The source of planted replies that every run has; the others are systems."""
IRRELEVANT = 0.5
"""Below this relevance, with its whole interval, replies hardly depend on the context."""
HARDLY_DETECTED = 0.7
"""Accuracy below which a system counts as looking human, for the flag about its context."""


@dataclass(frozen=True)
class Reading:
    """The numbers of one evaluator about one system.

    Args:
        evaluator (`str`):
            Name of the evaluator.
        accuracy, low, high (`float`):
            Accuracy on the system's and human responses; the interval holds for all evaluators of
            the run at once.
        p_value (`float`):
            Of the held-out test that pairs are decided correctly more often than by chance.
        retrained (`bool`, *optional*, defaults to `True`):
            Whether the evaluator was trained on this system.
    """

    evaluator: str
    accuracy: float
    low: float
    high: float
    p_value: float
    retrained: bool = True


@dataclass(frozen=True)
class Trust:
    """What a "no" is based on.

    Args:
        control (`float`, *optional*):
            Best accuracy on human and random replies among the evaluators.
        control_low (`float`, *optional*):
            Lower bound of it; `None` if it could not be measured.
        families (`frozenset[str]`, *optional*):
            What the evaluators see: `"surface"`, `"context"`.
        detectable (`Mapping[str, float | None]`, *optional*):
            By the source of planted replies, the smallest share that would have been detected, or
            `None`; empty if that was not measured.
        leaks (`tuple[str, ...]`, *optional*):
            Names of significant format leaks.
    """

    control: float | None = None
    control_low: float | None = None
    families: frozenset[str] = frozenset()
    detectable: Mapping[str, float | None] = field(default_factory=dict)
    leaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relevance:
    """Relevance of a system's replies with its interval."""

    value: float
    low: float
    high: float


def verdict(
    system: str,
    readings: Sequence[Reading],
    trust: Trust,
    n: int,
    margin: float = 0.55,
    relevance: Relevance | None = None,
    flags: Sequence[str] = (),
) -> Verdict:
    """The verdict on a system, with sentences that explain it.

    Args:
        system (`str`):
            Name of the system.
        readings (`Sequence[Reading]`):
            One per evaluator of the run, at least one.
        trust (`Trust`):
            What a "no" is based on.
        n (`int`):
            Number of contexts.
        margin (`float`, *optional*, defaults to 0.55):
            Accuracy up to which a difference is negligible.
        relevance (`Relevance`, *optional*):
            How closely the replies follow their contexts.
        flags (`Sequence[str]`, *optional*):
            What a reader has to know beside the verdict.

    Returns:
        `Verdict`: One of four, with the numbers behind it.

    Examples:
        >>> reading = Reading("svm", 0.9, 0.88, 0.92, 0.001)
        >>> verdict("bot", [reading], Trust(), n=1000).verdict
        'distinguishable'
    """
    strongest = max(readings, key=lambda reading: reading.accuracy)
    p_value = float(min(holm([reading.p_value for reading in readings])))
    high = max(reading.high for reading in readings)
    weaknesses = _weaknesses(readings, trust, margin)
    # Power is only measured where nothing was detected, and there it is not in question.
    reservations = weaknesses + (_lack_of_power(trust) if p_value >= ALPHA else [])
    name = _name(p_value, high, margin, bool(weaknesses), bool(reservations))
    text = [_numbers(system, strongest, p_value, readings, n)]
    if name == DISTINGUISHABLE:
        text += _size(strongest, high, margin, weaknesses)
    elif name == INDISTINGUISHABLE:
        text.append(_would_have_noticed(trust.detectable, margin))
    else:
        text += _explanation(name, strongest, high, margin, n, reservations)
    flags = [*flags, *_context_flag(strongest, relevance)]
    return Verdict(
        system, name, " ".join(text), strongest.evaluator, strongest.accuracy, strongest.low,
        strongest.high, p_value, margin, n, relevance.value if relevance else None,
        dict(trust.detectable), tuple(reservations), tuple(flags),
        relevance.high if relevance else None,
    )  # fmt: skip


def _name(p_value: float, high: float, margin: float, weak: bool, has_reservations: bool) -> str:
    """A difference that was detected needs no control; that there is none needs everything.

    That it is negligible needs evaluators that would have seen a large one.
    """
    if p_value < ALPHA:
        return NEGLIGIBLE if high < margin and not weak else DISTINGUISHABLE
    return INDISTINGUISHABLE if high < margin and not has_reservations else INCONCLUSIVE


def _numbers(
    system: str, strongest: Reading, p_value: float, readings: Sequence[Reading], n: int
) -> str:
    """The accuracy of the strongest evaluator, and the smallest p-value, perhaps of another."""
    p_values = {reading.evaluator: reading.p_value for reading in readings}
    return (
        f"{strongest.evaluator} classifies {percent(strongest.accuracy)} "
        f"[{percent(strongest.low)}, {percent(strongest.high)}] of the responses of {system} and "
        f"of humans correctly; 50 % is chance "
        f"({smallest_p_phrase(p_value, p_values, strongest.evaluator)}, {n:,} contexts)."
    )


def smallest_p_phrase(adjusted: float, p_values: Mapping[str, float], strongest: str) -> str:
    """The smallest p-value, and the evaluator that it is of where that is not the strongest one.

    Args:
        adjusted (`float`):
            The smallest p-value, adjusted for the number of evaluators.
        p_values (`Mapping[str, float]`):
            By evaluator, as they are.
        strongest (`str`):
            The evaluator whose accuracy stands before it.

    Returns:
        `str`: For a sentence.

    Examples:
        >>> smallest_p_phrase(0.02, {"stack": 0.4, "surface": 0.01}, "stack")
        'p = .020 by surface, Holm over 2 evaluators'
    """
    tester = min(p_values, key=p_values.__getitem__)
    by_other = f" by {tester}" if p_values[strongest] > p_values[tester] else ""
    corrected = f", Holm over {len(p_values)} evaluators" if len(p_values) > 1 else ""
    return f"p {format_p(adjusted)}{by_other}{corrected}"


def _size(strongest: Reading, high: float, margin: float, weaknesses: Sequence[str]) -> list[str]:
    """What can be said about the size of a difference that was detected."""
    if high < margin:
        return [
            f"No evaluator's interval reaches {percent(margin, 0)}, but a better one may see more: "
            f"{'; '.join(weaknesses)}."
        ]
    small = f"The difference may be small: the interval reaches below {percent(margin, 0)}."
    return [small] if strongest.low < margin else []


def _explanation(
    name: str,
    strongest: Reading,
    high: float,
    margin: float,
    n: int,
    reservations: Sequence[str],
) -> list[str]:
    """What follows from the numbers."""
    if name == NEGLIGIBLE:
        return [f"There is a difference, but no evaluator's interval reaches {percent(margin, 0)}."]
    sentences = [] if high < margin else [_needs_more(strongest, high, margin, n)]
    return sentences + [f"A difference cannot be ruled out: {reason}." for reason in reservations]


def _weaknesses(readings: Sequence[Reading], trust: Trust, margin: float) -> list[str]:
    """Why these evaluators may miss a difference, however many contexts there are."""
    reasons = []
    if trust.control_low is None or trust.control is None:
        reasons.append("no evaluator could be tested on human and random replies")
    elif trust.control_low < margin:
        reasons.append(
            "the evaluators failed their control: the best one distinguishes human from random "
            f"replies with an accuracy of {percent(trust.control)}, whose interval reaches below "
            f"{percent(margin, 0)}"
        )
    missing = [family for family in ("surface", "context") if family not in trust.families]
    if missing:
        reasons.append(f"no evaluator is known to read the {' or the '.join(missing)}")
    if not any(reading.retrained for reading in readings):
        reasons.append("no evaluator was trained on this system")
    return reasons


def _lack_of_power(trust: Trust) -> list[str]:
    """Why this run cannot show that there is no difference at all."""
    reasons = [f"the format differs ({', '.join(trust.leaks)})"] if trust.leaks else []
    if not trust.detectable:
        reasons.append("it was not measured which share of replaced replies this run would notice")
    missed = [source for source, share in trust.detectable.items() if not _is_enough(share)]
    if missed:
        reasons.append(
            f"it is not certain that this run would have noticed if {percent(PLANTED, 0)} of the "
            f"replies had been {' or '.join(map(_replies_of, missed))}"
        )
    return reasons


def _is_enough(share: float | None) -> bool:
    return share is not None and share <= PLANTED


def _replies_of(source: str) -> str:
    return source if source == RANDOM else f"replies of {source}"


def _would_have_noticed(detectable: Mapping[str, float | None], margin: float) -> str:
    """Why a "no" can be trusted, by the source of planted replies."""
    shares = [
        f"if {percent(share, 0)} of the replies had been {_replies_of(source)}"
        for source, share in detectable.items()
        if share is not None
    ]
    return (
        f"No evaluator's interval reaches {percent(margin, 0)}, and in at least "
        f"{percent(POWER, 0)} of cases this run would have noticed {' or '.join(shares)}."
    )


def _needs_more(reading: Reading, high: float, margin: float, n: int) -> str:
    """How many more contexts would make the interval narrow enough, at the same accuracy."""
    if reading.low >= margin:  # it is narrow enough: what fails is the test
        return (
            f"The interval is above {percent(margin, 0)}, but the test is not significant: it has "
            "half of the contexts, and evaluators learn from the other half. More are needed."
        )
    half = max(high - reading.accuracy, 1e-6)
    above = reading.accuracy >= margin
    distance = reading.accuracy - 0.5 if above else margin - reading.accuracy
    factor = (half / max(abs(distance), 0.01)) ** 2
    more = max(n // 10, round(n * (factor - 1)), 10)
    result = "make this accuracy significant" if above else "bring it below at this accuracy"
    return (
        f"The interval reaches {percent(margin, 0)}; about {more:,} more contexts would {result}."
    )


def _context_flag(strongest: Reading, relevance: Relevance | None) -> list[str]:
    """The flag of a system that is hardly detected and hardly relevant.

    (Li et al., 2017, sec. 4.3: sampling looks human to an evaluator, and so would random replies.)
    """
    if relevance is None or relevance.high >= IRRELEVANT or strongest.accuracy >= HARDLY_DETECTED:
        return []
    return [
        f"{IGNORES_CONTEXT}: relevance {relevance.value:.2f} [{relevance.low:.2f}, "
        f"{relevance.high:.2f}], where 0 is random replies and 1 is human ones"
    ]


def format_p(value: float) -> str:
    """A p-value for a sentence.

    Examples:
        >>> format_p(0.0001), format_p(0.25)
        ('< .001', '= .250')
    """
    return "< .001" if value < 0.001 else f"= {value:.3f}".replace("0.", ".")


def percent(value: float, digits: int = 1) -> str:
    """A share for a sentence.

    Examples:
        >>> percent(0.905), percent(0.2, 0)
        ('90.5 %', '20 %')
    """
    return f"{100 * value:.{digits}f} %"
