"""What a reader needs beside a number: whether to trust it, what to be careful about, what next."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    EvaluationResults,
    Verdict,
)
from dialeval.reports.evaluation.rows import Row, value_of
from dialeval.reports.format import (
    finite,
    format_count,
    format_share,
    of_hundred,
    one_line,
    sentence,
)

RELIABLE, WEAK, NOT_MEASURED = "reliable", "weak", "not measured"
FORMAT_LEAK = "format leak"
"""How the flag of a verdict about its format begins."""
WIDE = 0.15
"""Width of an interval from which more contexts are recommended."""
FEW_DIFFERENT, SAME_REPLY = 0.5, 0.1
"""Share of different replies below which, and of one reply above which, replies repeat."""


@dataclass(frozen=True)
class Trust:
    """Whether the evaluator behind a verdict is reliable.

    Args:
        level (`str`):
            `"reliable"`, `"weak"` or `"not measured"`.
        text (`str`):
            Why, with its ERE.
    """

    level: str
    text: str


@dataclass(frozen=True)
class NextStep:
    """What to do next, in words and as a command."""

    text: str
    command: str


def trust_of(row: Row, verdict: str) -> Trust:
    """The badge of an evaluator, by its ERE.

    It is reliable if its ERE is at most half of a random guess's: closer to perfect than to that.

    Examples:
        >>> trust_of(Row("bot", "stack"), "distinguishable").level
        'not measured'
    """
    error = value_of(row.ere)
    if error is None or row.by_transfer:
        other = f" (by transfer: {format_share(error)}, another quantity)" if error else ""
        return Trust(NOT_MEASURED, f"The reliability error (ERE) was not measured{other}.")
    guess = 1 / 6 if row.three_scenarios else 0.25
    numbers = f"ERE {format_share(error)}: 0 is perfect, {format_share(guess)} a random guess"
    if error <= guess / 2:
        return Trust(RELIABLE, f"{numbers}.")
    if verdict == DISTINGUISHABLE:
        meaning = "the difference is real all the same, and a better evaluator may find more"
    else:
        meaning = "a better evaluator may find a difference that this one does not"
    return Trust(WEAK, f"{numbers}; {meaning}.")


def warnings_of(
    results: EvaluationResults,
    verdict: Verdict,
    row: Row,
    length: float | None,
    by_format: bool = False,
) -> list[str]:
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
        `list[str]`: Sentences.
    """
    system = verdict.system
    accuracy, low = finite(verdict.accuracy), finite(verdict.low)
    flags = [flag for flag in verdict.flags if not (by_format and flag.startswith(FORMAT_LEAK))]
    lines = [sentence(flag) for flag in flags]
    if length is not None and low is not None and length >= low and length > 0.55:
        lines.append(f"Length alone does as well: it is right in {of_hundred(length)} cases.")
    lines += _repetition(results, system)
    lines += _width(verdict)
    if row.upper_bound and accuracy is not None:
        lines.append("The evaluator would be right more often with more training data.")
    about = [text for text in results.warnings if _is_about(text, system)]
    lines += [text for text in about if not any(flag in text for flag in flags)]
    return list(dict.fromkeys(lines))


def _is_about(warning: str, system: str) -> bool:
    """Whether a warning of the run names a system."""
    return bool(re.search(rf"(?<!\w){re.escape(system)}(?!\w)", warning))


def _repetition(results: EvaluationResults, system: str) -> Iterator[str]:
    def share(metric: str, name: str) -> float | None:
        return value_of(results.get(metric, name))

    unique, top = share("unique", system), share("most_frequent", system)
    human, human_top = share("unique", "human"), share("most_frequent", "human")
    repeats = unique is not None and unique < FEW_DIFFERENT and (human or 1) > 1.5 * unique
    if repeats or (top is not None and top > SAME_REPLY and top > 2 * (human_top or 0)):
        different = f"{of_hundred(unique)} replies are different" if unique is not None else ""
        same = f"the most frequent one is {of_hundred(top)} of them" if top is not None else ""
        yield f"Replies repeat: {', '.join(filter(None, (different, same)))}."


def _width(verdict: Verdict) -> Iterator[str]:
    low, high = finite(verdict.low), finite(verdict.high)
    if low is not None and high is not None and high - low > WIDE and verdict.n:
        yield (
            f"The interval is wide ({100 * (high - low):.0f} points): about "
            f"{format_count(3 * verdict.n)} more contexts would halve it."
        )


def next_step(results: EvaluationResults, verdict: Verdict, by_format: bool) -> NextStep:
    """The command that helps most with this verdict.

    Args:
        results (`EvaluationResults`):
            Results of the run.
        verdict (`Verdict`):
            The verdict.
        by_format (`bool`):
            Whether the format gives the system away.

    Returns:
        `NextStep`: In words and as a command, in which the names of files are examples.
    """
    name = one_line(verdict.system)
    file, folder = shlex.quote(f"{name}.jsonl"), str(results.settings.get("output_dir") or "")
    system = shlex.quote(f"{name}={name}.jsonl")
    start = f"dialeval evaluate --human human.jsonl --system {system}"
    target = shlex.quote(f"{folder or 'runs/evaluation'}-2")
    if by_format:
        text = "Write both sides in one format, then evaluate the new files:"
        return NextStep(text, f"dialeval data leaks human.jsonl {file} --normalise")
    if verdict.verdict == DISTINGUISHABLE:
        text = "Change what gives it away, and evaluate the new replies beside the old ones:"
        newer = shlex.quote(f"{name}-2={name}-2.jsonl")
        return NextStep(text, f"{start} --system {newer} -o {target}")
    if verdict.verdict == INCONCLUSIVE or not verdict.verdict:
        more = 2 * verdict.n if verdict.n else 1000
        return NextStep("Evaluate more contexts:", f"{start} --limit {more} -o {target}")
    run = shlex.quote(folder or "runs/evaluation")
    command = f"dialeval annotate human.jsonl --from-run {run} --task real"
    return NextStep("Ask people whether they notice a difference:", command)
