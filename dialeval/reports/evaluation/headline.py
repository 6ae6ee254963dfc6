"""The answer about each system, as the page and the terminal give it first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialeval.metrics.cue_results import LEXICAL, TOO_FEW, Cue
from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
    EvaluationResults,
    FormatLeak,
    Verdict,
)
from dialeval.metrics.results import SECOND_HUMAN
from dialeval.reports.evaluation.advice import Caution, Trust, trust_of, warnings_of
from dialeval.reports.evaluation.next_step import NextStep, next_step
from dialeval.reports.evaluation.rows import Row, headline_verdicts, rows_of, value_of
from dialeval.reports.format import (
    finite,
    format_count,
    format_p_value,
    format_percent,
    format_share,
    of_hundred,
    one_line,
)

_GRADES = (
    (0.9, "is easy to spot"),
    (0.75, "can usually be spotted"),
    (0.6, "can often be spotted"),
    (0.0, "can sometimes be spotted"),
)
_TITLES = {
    NEGLIGIBLE: "is hard to spot: the difference is negligible",
    INDISTINGUISHABLE: "is not distinguishable from a human",
    INCONCLUSIVE: "is undecided: this run cannot tell",
}
TONES = {INDISTINGUISHABLE: "good", NEGLIGIBLE: "noise", DISTINGUISHABLE: "apart"}
"""CSS class of a verdict; `open` for the others."""
IRRELEVANT = 0.5
"""Relevance below which, with its interval, replies hardly depend on their contexts."""
_KIND_NAMES = {"opener": "opens with ", "closer": "ends with "}


@dataclass(frozen=True)
class Mark:
    """A point on the scale from chance to always right, to compare the accuracy with.

    Args:
        name (`str`):
            What it is the accuracy of.
        value (`float`):
            The accuracy.
        kind (`str`):
            `"length"`, `"format"`, `"normalised"` or `"human"`.
    """

    name: str
    value: float
    kind: str


@dataclass(frozen=True)
class Headline:
    """Everything about one system that fits on the first screen.

    Args:
        system (`str`):
            Its name.
        verdict (`Verdict`):
            Its verdict.
        title (`str`):
            What follows the name in the headline.
        text (`str`):
            The sentence that explains it.
        marks (`tuple[Mark, ...]`):
            What to compare the accuracy with.
        cues (`tuple[Cue, ...]`):
            What gives it away.
        trust (`Trust`):
            Whether the evaluator is reliable.
        warnings (`tuple[Caution, ...]`):
            What to be careful about.
        step (`NextStep`):
            What to do next.
        by_format (`bool`, *optional*, defaults to `False`):
            Whether the format gives it away.
        leak (`FormatLeak`, *optional*):
            Its clearest format leak.
        few_dialogues (`bool`, *optional*, defaults to `False`):
            Whether there were too few dialogues to look for cues.
    """

    system: str
    verdict: Verdict
    title: str
    text: str
    marks: tuple[Mark, ...]
    cues: tuple[Cue, ...]
    trust: Trust
    warnings: tuple[Caution, ...]
    step: NextStep
    by_format: bool = False
    leak: FormatLeak | None = None
    few_dialogues: bool = False

    @property
    def no_cues(self) -> str:
        """What to say where there are no cues."""
        if self.few_dialogues:
            return "not looked for: there are too few dialogues"
        return "no single word, phrase, format or length"

    @property
    def tone(self) -> str:
        """CSS class of the verdict."""
        return TONES.get(self.verdict.verdict, "open")

    @property
    def reason(self) -> str:
        """What is wrong with the replies beside single cues; may be empty."""
        relevance, high = finite(self.verdict.relevance), finite(self.verdict.relevance_high)
        if relevance is None or max(relevance, high or relevance) >= IRRELEVANT:
            return ""
        return (
            f"its replies hardly follow their contexts: relevance {format_share(relevance, 2)}, "
            "where 0 is random replies and 1 human ones"
        )

    @property
    def short_reason(self) -> str:
        """The reason in a few words; may be empty."""
        relevance = format_share(self.verdict.relevance, 2)
        return f"ignores its context (relevance {relevance}; humans 1)" if self.reason else ""

    @property
    def certainty(self) -> str:
        """The interval, the number of contexts and the p-value in one line; may be empty."""
        return ", ".join(self.certainty_facts)

    @property
    def certainty_facts(self) -> list[str]:
        """The interval, the number of contexts and the p-value, as far as they are known."""
        low, high = finite(self.verdict.low), finite(self.verdict.high)
        facts = []
        if low is not None and high is not None:
            facts.append(f"95 % interval {100 * low:.0f} to {100 * high:.0f}")
        if self.verdict.n:
            facts.append(f"{format_count(self.verdict.n)} contexts")
        p_value = finite(self.verdict.p_value)
        if p_value is not None:
            text = format_p_value(p_value)
            facts.append(f"p {'< .001' if text == '<.001' else f'= {text}'}")
        return facts


def headlines(results: EvaluationResults) -> list[Headline]:
    """One headline per system with a verdict, in the order of the run."""
    rows = {(row.system, row.evaluator): row for row in rows_of(results)}
    return [_headline(results, verdict, rows) for verdict in headline_verdicts(results).values()]


def ranked(items: Sequence[Headline]) -> list[Headline]:
    """The hardest to distinguish first, by an evaluator or by one rule on the format."""

    def best(item: Headline) -> float:
        rules = [mark.value for mark in item.marks if mark.kind == "format"]
        return max([_accuracy(item.verdict) or 0.0, *rules])

    return sorted(items, key=best)


def _accuracy(verdict: Verdict) -> float | None:
    return finite(verdict.accuracy)


def _headline(
    results: EvaluationResults, verdict: Verdict, rows: Mapping[tuple[str, str], Row]
) -> Headline:
    system = verdict.system
    row = rows.get((system, verdict.evaluator), Row(system, verdict.evaluator))
    leaks = [leak for leak in results.leaks if leak.system == system]
    leak = max(leaks, key=lambda item: item.accuracy, default=None)
    normalised = complement(value_of(row.normalised))
    by_format = is_by_format(verdict, leak, normalised)
    length = complement(value_of(rows.get((system, "length"), Row(system, "")).adversuc))
    human = rows.get((SECOND_HUMAN, verdict.evaluator), Row(system, ""))
    values = (
        ("length alone", length, "length"),
        ("one format rule", None if leak is None else leak.accuracy, "format"),
        ("format normalised", normalised, "normalised"),
        ("a second human", complement(value_of(human.adversuc)), "human"),
    )
    return Headline(
        system=system,
        verdict=verdict,
        title=_title(verdict, by_format),
        text=_text(verdict, leak, normalised if leak else None, by_format),
        marks=tuple(Mark(name, value, kind) for name, value, kind in values if value is not None),
        cues=tuple(cue for cue in results.cues if cue.system == system),
        trust=trust_of(row, verdict.verdict),
        warnings=tuple(warnings_of(results, verdict, row, length, by_format)),
        step=next_step(results, verdict, by_format),
        by_format=by_format,
        leak=leak,
        few_dialogues=f"{TOO_FEW} {system} away." in results.warnings,
    )


def complement(value: float | None) -> float | None:
    """The accuracy of an AdverSuc."""
    return None if value is None else 1 - value


def is_by_format(verdict: Verdict, leak: FormatLeak | None, normalised: float | None) -> bool:
    """Whether the format gives a system away: a rule does as well, or most is lost without it.

    Args:
        verdict (`Verdict`):
            Its verdict.
        leak (`FormatLeak`, *optional*):
            Its clearest format leak.
        normalised (`float`, *optional*):
            The accuracy after both sides were normalised.

    Returns:
        `bool`: Whether the headline is about the format.
    """
    accuracy = _accuracy(verdict)
    if leak is None or accuracy is None:
        return False
    lost = normalised is not None and normalised - 0.5 < (accuracy - 0.5) / 2
    as_shown = round(100 * leak.accuracy) >= round(100 * accuracy)
    return as_shown or (lost and leak.low > 0.55)


def grade_of(accuracy: float) -> str:
    """How easily a distinguishable system is spotted, in words."""
    return next(title for least, title in _GRADES if accuracy >= least)


def _title(verdict: Verdict, by_format: bool) -> str:
    accuracy = _accuracy(verdict)
    if by_format:
        return "is given away by its format"
    if verdict.verdict == DISTINGUISHABLE and accuracy is not None:
        return grade_of(accuracy)
    return _TITLES.get(verdict.verdict, "has no verdict")


def _text(
    verdict: Verdict, leak: FormatLeak | None, normalised: float | None, by_format: bool
) -> str:
    accuracy = _accuracy(verdict)
    if accuracy is None:
        return verdict.text
    text = f"an evaluator is right in {of_hundred(accuracy)} cases; 50 is chance."
    if by_format and leak is not None:
        text = f"one rule, “{one_line(leak.rule)}”, is right in {of_hundred(leak.accuracy)} cases; "
        text += f"the evaluator in {100 * accuracy:.0f}; 50 is chance."
    if normalised is not None:
        text += f" With the format of both sides normalised: {100 * normalised:.0f}."
    return text


def cue_phrase(cue: Cue) -> str:
    """A cue with its frequency on both sides.

    Examples:
        >>> cue_phrase(Cue("bot", "opener", "i think", "system", .42, .03, .7, .6, .8, .01, ""))
        'opens with “i think”: 42 % of its replies, 3 % of human ones'
    """
    if cue.kind in LEXICAL:
        name = f"{_KIND_NAMES.get(cue.kind, '')}“{one_line(cue.text)}”"
        return f"{name}: {_shares(cue)}"
    if cue.rule.partition(" if ")[2] == cue.measures:
        return f"{one_line(cue.measures).removeprefix('it ')}: {_shares(cue)}"
    system, human = means_of(cue)
    if cue.text == "repeated response":
        return f"other replies with the same words: {system} on average, {human} for humans"
    name = "length" if cue.kind == "length" else one_line(cue.measures)
    unit = f" {one_line(cue.measures)}" if cue.kind == "length" else ""
    if _is_band(cue):  # the averages say little
        name = one_line(cue.rule.partition(" if ")[2])
    return f"{name}: {system}{unit} on average, {human} for humans"


def means_of(cue: Cue) -> tuple[str, str]:
    """The means of a measure on both sides, with as many digits as it takes to differ.

    Examples:
        >>> shares = ("bot", "format", "upper-case letters", "system", .041, .0437)
        >>> means_of(Cue(*shares, .6, .5, .7, .01, "", measures="share of upper-case letters"))
        ('4.1 %', '4.4 %')
    """
    scale, unit = (100, " %") if cue.measures.startswith("share of") else (1, "")
    values = (scale * cue.system_share, scale * cue.human_share)
    fewest = 0 if unit or min(map(abs, values)) >= 10 else 1
    tries = [[f"{value:.{digits}f}{unit}" for value in values] for digits in range(fewest, 4)]
    system, human = next((pair for pair in tries if pair[0] != pair[1]), tries[0])
    return system, human


def _is_band(cue: Cue) -> bool:
    """Whether the rule has two bounds, so that both sides may have the same mean."""
    clause = cue.rule.partition(" if ")[2]
    return " between " in clause or " or " in clause or bool(re.match(r"\d+ to \d+ ", clause))


def short_cue(cue: Cue) -> str:
    """A cue in a few words, for a line of the terminal.

    Examples:
        >>> short_cue(Cue("bot", "opener", "i think", "system", .42, .03, .7, .6, .8, .01, ""))
        'opens with “i think” (42 % / humans 3 %)'
    """
    name, _, facts = cue_phrase(cue).rpartition(": ")
    name = "words of the context" if cue.text == "repeated turn" else name
    for word in (" of its replies", " of human ones", " on average", " for humans"):
        facts = facts.replace(word, "")
    return f"{name} ({facts.replace(', ', ' / humans ')})"


def _shares(cue: Cue) -> str:
    system, human = format_percent(cue.system_share), format_percent(cue.human_share)
    return f"{system} of its replies, {human} of human ones"
