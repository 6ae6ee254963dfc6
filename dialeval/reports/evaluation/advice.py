"""What a reader needs beside a number: whether to trust it, and what to be careful about."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dialeval.metrics.cue_results import TOO_FEW, Cue
from dialeval.metrics.evaluation_results import DISTINGUISHABLE, EvaluationResults, Verdict
from dialeval.reports.evaluation.rows import Row, error_above_blind, value_of
from dialeval.reports.format import (
    finite,
    first_clause,
    format_count,
    format_share,
    of_hundred,
    one_line,
    sentence,
)

RELIABLE, WEAK, NOT_MEASURED = "reliable", "weak", "not measured"
SIGNIFICANT = "significant"
"""The badge of a difference, whatever the evaluator: that it is weak makes a "no" doubtful only."""
FORMAT_LEAK = "format leak"
"""How the flag of a verdict about its format begins."""
WIDE = 0.15
"""Width of an interval from which more contexts are recommended."""
SAME_RESPONSE = "gives the same response"
"""How the warning about a constant system goes on after its name."""
OPTIMISED = "is the discriminator that the generator was trained against"
"""In a warning that makes the accuracy worthless, so that it comes before all others."""
FEW_DIFFERENT, SAME_REPLY = 0.5, 0.1
"""Share of different replies below which, and of one reply above which, replies repeat."""


@dataclass(frozen=True)
class Caution:
    """Something to be careful about.

    Args:
        short (`str`):
            In one line, for the first screen.
        text (`str`):
            In full.
    """

    short: str
    text: str

    @classmethod
    def of(cls, text: str) -> "Caution":
        """A warning of the run, and its first clause."""
        return cls(first_clause(text), sentence(text))

    @property
    def says_more(self) -> bool:
        """Whether the full text has more than the line."""
        text, short = self.text.rstrip("."), self.short.rstrip(".")
        return text.lower() != short.lower()


@dataclass(frozen=True)
class Trust:
    """Whether a verdict can be trusted, and the evaluator behind it.

    Args:
        level (`str`):
            `"reliable"`, `"weak"` or `"not measured"`: the evaluator's.
        numbers (`str`):
            Its ERE, and what to compare it with.
        meaning (`str`, *optional*):
            What follows for this verdict.
        is_difference (`bool`, *optional*, defaults to `False`):
            Whether the verdict is that there is a difference, which a weak evaluator can show too.
    """

    level: str
    numbers: str
    meaning: str = ""
    is_difference: bool = False

    @property
    def badge(self) -> str:
        """Two words at most for a list of systems."""
        if self.is_difference and self.level != RELIABLE:
            return SIGNIFICANT
        return self.level if self.level == NOT_MEASURED else f"{self.level} evaluator"

    @property
    def text(self) -> str:
        """The numbers and what follows from them."""
        weak = "A weak evaluator: " if self.badge == SIGNIFICANT and self.level == WEAK else ""
        return weak + "; ".join(filter(None, (self.numbers, self.meaning))) + "."

    @property
    def facts(self) -> list[str]:
        """The same in short for a line of the terminal, the most important first."""
        if self.level == NOT_MEASURED:
            return [f"{SIGNIFICANT}; ERE not measured" if self.is_difference else self.badge]
        first, *more = self.numbers.split("; ")
        first = re.sub(": 0 is perfect, (.*) is a random guess", r", a random guess \1", first)
        by = f"{SIGNIFICANT}, by a weak evaluator" if self.badge == SIGNIFICANT else self.badge
        return [f"{by} ({first})", *more]


def trust_of(row: Row, verdict: str) -> Trust:
    """Whether to trust a verdict, by the ERE of its evaluator.

    The evaluator is reliable if its ERE is at most half of a random guess's: closer to perfect than
    to that. Where next turns can be recognised without their contexts, the ERE above that baseline
    counts: an evaluator that knows the position of a turn need not read anything.

    Examples:
        >>> trust_of(Row("bot", "stack"), "distinguishable").level
        'not measured'
    """
    error, differs = value_of(row.ere), verdict == DISTINGUISHABLE
    if error is None or row.by_transfer:
        other = f" (by transfer: {format_share(error)}, another quantity)" if error else ""
        missing = f"This run has no reliability error (ERE){other}"
        return Trust(NOT_MEASURED, missing, is_difference=differs)
    guess = 1 / 6 if row.three_scenarios else 0.25
    numbers = f"ERE {format_share(error)}: 0 is perfect, {format_share(guess)} is a random guess"
    above, details = error_above_blind(row.ere), row.ere.details if row.ere else {}
    # Older results, and ERE over three scenarios, have no such baseline.
    checked = above is not None or "above_blind" not in details
    if above is not None and above > error:
        numbers += f"; {format_share(above)} above what next turns reveal without a context"
        error = above
    if error <= guess / 2:
        unknown = "whether next turns can be recognised without a context was not measured"
        level, meaning = (RELIABLE, "") if checked else (NOT_MEASURED, unknown)
    elif differs:
        level, meaning = WEAK, "the difference is real, and a better evaluator may find more"
    else:
        level, meaning = WEAK, "a better evaluator may find a difference that this one does not"
    return Trust(level, numbers, meaning, differs)


def warnings_of(
    results: EvaluationResults,
    verdict: Verdict,
    row: Row,
    length: float | None,
    by_format: bool = False,
) -> list[Caution]:
    """What a reader has to know before quoting the verdict, the most important first.

    Args:
        results (`EvaluationResults`):
            Results of the run.
        verdict (`Verdict`):
            The verdict.
        row (`Row`):
            The strongest evaluator's numbers.
        length (`float`, *optional*):
            Accuracy of length alone.
        by_format (`bool`, *optional*, defaults to `False`):
            Whether the headline is about the format, so that no warning repeats it.

    Returns:
        `list[Caution]`: Each once.
    """
    system, systems = verdict.system, [item.system for item in results.verdicts]
    accuracy, low = finite(verdict.accuracy), finite(verdict.low)
    about = [
        text for text in results.warnings
        if is_about(text, system, systems) and not text.startswith(TOO_FEW)  # said with the cues
    ]  # fmt: skip
    first = (OPTIMISED, f"{system} {SAME_RESPONSE}")
    items = [Caution.of(text) for text in about if any(words in text for words in first)]
    items += [] if by_format else _leak(results, verdict, row)
    items += [Caution.of(flag) for flag in verdict.flags if not flag.startswith(FORMAT_LEAK)]
    items += _stronger_cue(results, verdict)
    if length is not None and low is not None and length >= low and length > 0.55:
        as_well = (
            "does as well" if accuracy is not None and length >= accuracy else "may do as well"
        )
        items.append(_caution(f"Length alone {as_well}", f"right in {of_hundred(length)} cases"))
    items += _repetition(results, system)
    items += _width(verdict)
    if row.upper_bound and accuracy is not None and of_hundred(accuracy) != of_hundred(1.0):
        items.append(Caution.of("More training data would make the evaluator better"))
    items += [Caution.of(text) for text in about if not any(flag in text for flag in verdict.flags)]
    return list(dict.fromkeys(items))


def _caution(short: str, number: str, more: str = "") -> Caution:
    """A line with its number in parentheses, and the same with what follows from it."""
    line = f"{short} ({number})"
    return Caution(line, f"{line}{f': {more}' if more else ''}.")


def _leak(results: EvaluationResults, verdict: Verdict, row: Row) -> list[Caution]:
    """The clearest format leak, with the accuracies as given and normalised."""
    leaks = [leak for leak in results.leaks if leak.system == verdict.system]
    if not leaks:
        return [Caution.of(flag) for flag in verdict.flags if flag.startswith(FORMAT_LEAK)]
    leak, wrong = max(leaks, key=lambda item: item.accuracy), value_of(row.normalised)
    alone = f"one rule alone is right in {of_hundred(leak.accuracy)} cases"
    text = f"Format leak: {alone} (“{one_line(leak.rule)}”); the evaluator in "
    text += f"{of_hundred(verdict.accuracy).split()[0]} as given"
    text += "" if wrong is None else f", in {100 - 100 * wrong:.0f} normalised"
    return [Caution(f"Format leak: {alone}", f"{text}.")]


def _stronger_cue(results: EvaluationResults, verdict: Verdict) -> Iterator[Caution]:
    """A single cue, or all of them together, that is right more often than the evaluator."""
    cues = [cue for cue in results.cues if cue.system == verdict.system]
    one, all_cues = max((cue.accuracy for cue in cues), default=0.0), together(cues)
    high, more = finite(verdict.high), "the system is easier to spot than this evaluator shows"
    if high is None or max(one, all_cues or 0.0) <= high:
        return
    if one > high:
        more += "; a stronger one will see it"
        yield _caution("One cue alone does better than the evaluator", of_hundred(one), more)
    else:
        number = of_hundred(all_cues)
        yield _caution("All cues together do better than the evaluator", number, more)


def together(cues: Sequence[Cue]) -> float | None:
    """How often several cues of one system together are right; `None` where that is unknown."""
    known = [cue.gain for cue in cues if cue.gain is not None]
    return None if len(cues) < 2 or len(known) < len(cues) else 0.5 + sum(known)


def is_about(warning: str, system: str, systems: Iterable[str] = ()) -> bool:
    """Whether a warning of the run names a system, and not only one whose name contains its name.

    Args:
        warning (`str`):
            The warning.
        system (`str`):
            Name of the system.
        systems (`Iterable[str]`, *optional*):
            Names of all systems.

    Returns:
        `bool`: Whether it is about that system.

    Examples:
        >>> is_about("bot-2 answers 5 of 9 contexts.", "bot", ["bot", "bot-2"])
        False
    """
    for other in systems:
        if system != other and system in other:
            warning = warning.replace(other, "")
    return bool(re.search(rf"(?<!\w){re.escape(system)}(?!\w)", warning))


def _repetition(results: EvaluationResults, system: str) -> Iterator[Caution]:
    def share(metric: str, name: str) -> float | None:
        return value_of(results.get(metric, name))

    if any(f"{system} {SAME_RESPONSE}" in text for text in results.warnings):
        return  # said already
    unique, top = share("unique", system), share("most_frequent", system)
    human, human_top = share("unique", "human"), share("most_frequent", "human")
    repeats = unique is not None and unique < FEW_DIFFERENT and (human or 1) > 1.5 * unique
    if repeats or (top is not None and top > SAME_REPLY and top > 2 * (human_top or 0)):
        different = f"{of_hundred(unique)} replies are different" if unique is not None else ""
        same = f"the most frequent one is {of_hundred(top)} of them" if top is not None else ""
        yield Caution.of(f"Replies repeat: {', '.join(filter(None, (different, same)))}")


def _width(verdict: Verdict) -> Iterator[Caution]:
    low, high = finite(verdict.low), finite(verdict.high)
    if low is not None and high is not None and high - low > WIDE and verdict.n:
        more = f"about {format_count(3 * verdict.n)} more contexts would halve it"
        yield _caution("The interval is wide", f"{100 * (high - low):.0f} points", more)
