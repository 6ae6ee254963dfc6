"""What the numbers show about a pile, in words; the topic is ruled out before a system is blamed.

- *Is there a difference?* The held-out test of every evaluator on responses without contexts.
- *Can the topic explain it?* The same evaluators on the partners' turns; then the comparison
  within dialogues whose partners say comparable things; and the responses with their rarer words
  masked. A system is called distinguishable only if the difference survives all that applies.
- *Can a "no" be trusted?* Only with a positive control: another system that this run does detect.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
)
from dialeval.metrics.significance import holm
from dialeval.metrics.unpaired_results import CONFOUNDED, MatchedComparison, PileVerdict
from dialeval.protocols.evaluation.verdict import ALPHA, format_p, percent, smallest_p_phrase
from dialeval.protocols.unpaired.matching import MIN_MATCHES
from dialeval.protocols.unpaired.scoring import Accuracy


@dataclass(frozen=True)
class PileReading:
    """The numbers of one evaluator about one system's pile.

    Args:
        evaluator (`str`):
            Name of the evaluator.
        response (`Accuracy`):
            On responses without contexts; the interval holds for all evaluators at once.
        p_value (`float`):
            Of the held-out test on these responses.
        control (`Accuracy`, *optional*):
            On the partners' turns; `None` if there are none.
        control_p (`float`, *optional*):
            Of the held-out test on the partners' turns.
        excess (`Accuracy`, *optional*):
            Accuracy on responses minus that on the partners' turns.
        context (`Accuracy`, *optional*):
            On responses in their contexts, if the evaluator reads them.
        context_p (`float`, *optional*):
            Of the held-out test on these.
        style_p (`float`, *optional*):
            Of the held-out test on responses with their rarer words masked.
        matched (`MatchedComparison`, *optional*):
            The comparison within matched dialogues.
    """

    evaluator: str
    response: Accuracy
    p_value: float
    control: Accuracy | None = None
    control_p: float | None = None
    excess: Accuracy | None = None
    context: Accuracy | None = None
    context_p: float | None = None
    style_p: float | None = None
    matched: MatchedComparison | None = None


@dataclass(frozen=True)
class Piled:
    """Sizes of the two piles, and what else bears on the verdict.

    Args:
        human, system (`int`):
            Number of dialogues of each pile.
        detected (`tuple[str, ...]`, *optional*):
            Systems of this run, with no more dialogues, that were distinguished from humans.
        flags (`tuple[str, ...]`, *optional*):
            What a reader has to know beside the verdict.
        leaks (`tuple[str, ...]`, *optional*):
            Names of significant format leaks.
    """

    human: int
    system: int
    detected: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()


def smallest_p(readings: Iterable[PileReading], name: str) -> float | None:
    """The smallest p-value of the evaluators' tests, adjusted for their number (Holm)."""
    values = [value for reading in readings if (value := getattr(reading, name)) is not None]
    return float(min(holm(values))) if values else None


def pile_verdict(
    system: str, readings: Sequence[PileReading], piles: Piled, margin: float = 0.55
) -> PileVerdict:
    """The verdict on a system's pile, with sentences that explain it.

    Args:
        system (`str`):
            Name of the system.
        readings (`Sequence[PileReading]`):
            One per evaluator of the run, at least one.
        piles (`Piled`):
            Sizes of the piles, and what else bears on the verdict.
        margin (`float`, *optional*, defaults to 0.55):
            Accuracy up to which a difference is negligible.

    Returns:
        `PileVerdict`: One of five, with the numbers behind it.

    Examples:
        >>> reading = PileReading("svm", Accuracy(0.9, 0.88, 0.92, 1000), 0.001)
        >>> pile_verdict("bot", [reading], Piled(50, 50)).verdict  # no topic control
        'inconclusive'
    """
    strongest = max(readings, key=lambda reading: reading.response.value)
    p_value = smallest_p(readings, "p_value")
    assert p_value is not None
    name, sentences, reservations = _decide(system, readings, strongest, p_value, piles, margin)
    controls = [reading.control for reading in readings if reading.control is not None]
    best = max(controls, key=lambda control: control.value, default=None)
    text = [_numbers(system, strongest, p_value, readings, piles), *sentences]
    return PileVerdict(
        system, name, " ".join(text), strongest.evaluator, strongest.response.value,
        strongest.response.low, strongest.response.high, p_value,
        best.value if best else None, smallest_p(readings, "control_p"), margin,
        piles.human, piles.system, tuple(reservations), tuple(piles.flags),
    )  # fmt: skip


Decision = tuple[str, list[str], list[str]]
"""Name of a verdict, sentences about it, and reservations."""


def _decide(
    system: str,
    readings: Sequence[PileReading],
    strongest: PileReading,
    p_value: float,
    piles: Piled,
    margin: float,
) -> Decision:
    high = max(reading.response.high for reading in readings)
    if p_value >= ALPHA:
        return _no_difference(readings, high, piles, margin)
    topic = [_control_sentence(system, readings)]
    if high < margin:
        small = f"There is a difference, but no evaluator's interval reaches {percent(margin, 0)}."
        return NEGLIGIBLE, [small, *topic], []
    if all(reading.control is None for reading in readings):
        reason = "there are no partners' turns, so nothing shows whether the topics differ"
        return INCONCLUSIVE, [f"The piles differ, but {reason}."], [reason]
    style = smallest_p(readings, "style_p")
    if style is not None and style >= ALPHA:
        reason = (
            "the difference is in the rarer words: with these masked, no evaluator distinguishes "
            f"the piles (p {format_p(style)}), so the topic may explain it"
        )
        return CONFOUNDED, [*topic, f"But {reason}."], [reason]
    return _by_topic(system, readings, strongest, topic, margin)


def _by_topic(
    system: str,
    readings: Sequence[PileReading],
    strongest: PileReading,
    topic: list[str],
    margin: float,
) -> Decision:
    """Whether a difference that was detected exceeds what the partners' turns explain.

    Matching alone is not enough: a propensity is estimated with noise, so that some of the topic
    is left within matches. Responses also have to reveal more than the partners' turns do, with
    intervals that do not overlap, and more than a margin within matches.
    """
    control_p = smallest_p(readings, "control_p")
    most = max(reading.control.high for reading in readings if reading.control is not None)
    if strongest.response.low <= most:
        reason = (
            "the responses may reveal no more than the partners' turns alone: the interval of the "
            f"ones begins at {percent(strongest.response.low)}, that of the others ends at "
            f"{percent(most)}"
        )
        return CONFOUNDED, [*topic, f"The topic may explain the difference: {reason}."], [reason]
    if control_p is not None and control_p >= ALPHA:
        return DISTINGUISHABLE, topic, []
    matched_p = _matched_p(readings)
    within = [reading.matched for reading in readings if reading.matched is not None]
    supported = [item for item in within if item.gain_low > 0 and item.low >= margin]
    if supported and matched_p < ALPHA:
        best = max(supported, key=lambda item: item.accuracy)
        return DISTINGUISHABLE, [*topic, _matched_sentence(system, best, matched_p)], []
    reason = _why_confounded(within, matched_p)
    return CONFOUNDED, [*topic, f"The topic may explain the difference: {reason}."], [reason]


def _matched_p(readings: Sequence[PileReading]) -> float:
    values = [reading.matched.p_value for reading in readings if reading.matched is not None]
    return float(min(holm(values))) if values else 1.0


def _why_confounded(within: Sequence[MatchedComparison], p_value: float) -> str:
    if not within:
        return (
            f"fewer than {MIN_MATCHES} dialogues of the two piles have partners who say "
            "comparable things"
        )
    best = max(within, key=lambda item: item.accuracy)
    where = f"within {best.pairs:,} matched pairs of dialogues ({percent(best.share, 0)})"
    return (
        f"{where} responses give {percent(best.accuracy)} [{percent(best.low)}, "
        f"{percent(best.high)}] and the partners' turns {percent(best.control)} (p "
        f"{format_p(p_value)})"
    )


def _numbers(
    system: str,
    reading: PileReading,
    p_value: float,
    readings: Sequence[PileReading],
    piles: Piled,
) -> str:
    p_values = {item.evaluator: item.p_value for item in readings}
    response = reading.response
    return (
        f"Contexts are not shared, so two piles are compared: {reading.evaluator} classifies "
        f"{percent(response.value)} [{percent(response.low)}, {percent(response.high)}] of the "
        f"responses of {system} and of humans correctly, without seeing contexts; 50 % is chance "
        f"({smallest_p_phrase(p_value, p_values, reading.evaluator)}; {piles.human:,} human and "
        f"{piles.system:,} "
        f"dialogues of {system})."
    )


def _control_sentence(system: str, readings: Sequence[PileReading]) -> str:
    """What the partners' turns alone reveal."""
    controls = [reading for reading in readings if reading.control is not None]
    p_value = smallest_p(readings, "control_p")
    if not controls or p_value is None:
        return "There is no topic control: the data have no partners' turns."
    accuracy: Callable[[PileReading], float] = lambda item: item.control.value  # type: ignore[union-attr]  # noqa: E731
    best = max(controls, key=accuracy)
    control = best.control
    assert control is not None
    numbers = (
        f"Topic control: the partners' turns alone give {percent(control.value)} "
        f"[{percent(control.low)}, {percent(control.high)}] by {best.evaluator} "
        f"(p {format_p(p_value)})"
    )
    if p_value >= ALPHA:
        return f"{numbers}: nothing shows that the partners reveal the pile."
    return f"{numbers}: topics differ, or partners talk differently to {system}."


def _matched_sentence(system: str, item: MatchedComparison, p_value: float) -> str:
    return (
        f"Within {item.pairs:,} pairs of dialogues whose partners say comparable things "
        f"({percent(item.share, 0)} of the smaller pile), the responses still give "
        f"{percent(item.accuracy)} [{percent(item.low)}, {percent(item.high)}] and the partners' "
        f"turns {percent(item.control)} (p {format_p(p_value)}): the topic does not explain it."
    )


def _no_difference(
    readings: Sequence[PileReading], high: float, piles: Piled, margin: float
) -> Decision:
    """No difference was detected: whether that means that there is none."""
    reasons = []
    context_p = smallest_p(readings, "context_p")
    if context_p is not None and context_p < ALPHA:
        reasons.append(
            "with their contexts the two piles can be distinguished (p "
            f"{format_p(context_p)}): by the topic, or by how responses follow the context"
        )
    contexts = [reading.context.high for reading in readings if reading.context is not None]
    if max([high, *contexts]) >= margin:
        reasons.append(f"an interval reaches {percent(margin, 0)}: more dialogues are needed")
    if not piles.detected:
        reasons.append(
            "nothing shows that this run would have noticed a machine; add a system that is known "
            "to be one, with as many dialogues: --system known=FILE"
        )
    if piles.leaks:
        reasons.append(f"the format differs ({', '.join(piles.leaks)})")
    if reasons:
        sentences = [f"A difference cannot be ruled out: {text}." for text in reasons]
        return INCONCLUSIVE, sentences, reasons
    detected = " and ".join(piles.detected)
    sentence = (
        f"No evaluator's interval reaches {percent(margin, 0)}, and the same run distinguishes "
        f"{detected}."
    )
    return INDISTINGUISHABLE, [sentence], []
