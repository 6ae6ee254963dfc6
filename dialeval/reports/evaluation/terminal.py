"""The answer about each system on the terminal: five facts in five lines."""

from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from dialeval.metrics.results import RunResults
from dialeval.reports.evaluation.advice import Caution
from dialeval.reports.evaluation.headline import Headline, headlines, short_cue
from dialeval.reports.evaluation.rows import as_evaluation
from dialeval.reports.format import of_hundred, one_line

IN_FULL = 3
"""Up to so many systems have five lines each; more have two."""
CUES = 3
MOST_WARNINGS = 3
"""Lines about the run as a whole."""
_LABEL = 10
"""Characters before a fact."""


def headline_lines(results: RunResults, width: int = 100) -> list[Text]:
    """Per system: the verdict, why, whether to trust it, what to be careful about, what next.

    Each is one line. Facts that do not fit are left out, the least important first; only a
    command keeps its full length, so that it can be copied.

    Args:
        results (`RunResults`):
            Results of an evaluation.
        width (`int`, *optional*, defaults to 100):
            Width of the terminal.

    Returns:
        `list[Text]`: Five lines per system, or two where there are many; to be printed unwrapped.
    """
    items = headlines(as_evaluation(results))
    return [line for item in items for line in _lines(item, width, len(items) <= IN_FULL)]


def warning_lines(results: RunResults) -> list[str]:
    """Warnings of the run that are not about one system, a line each, the first few."""
    results = as_evaluation(results)
    items = headlines(results)
    mentioned = {caution.text for item in items for caution in item.warnings}
    flags = [flag for item in items for flag in item.verdict.flags]
    cautions = [Caution.of(text) for text in results.warnings if not _has_any(text, flags)]
    lines = list(dict.fromkeys(item.short for item in cautions if item.text not in mentioned))
    left = len(lines) - MOST_WARNINGS
    more = [f"{left} more in the report"] if left > 0 else []
    return [*lines[:MOST_WARNINGS], *more]


def _has_any(text: str, flags: Sequence[str]) -> bool:
    """Whether a warning repeats what is known of a verdict, with the system's name before it."""
    return any(flag in text for flag in flags)


def _lines(item: Headline, width: int, in_full: bool) -> list[Text]:
    facts = {"Why": (_reasons(item), "")}
    if in_full:
        shorts = _cautions(item)
        facts |= {
            "Trust": (item.trust.facts, ""),
            "Careful": (shorts or ["nothing to report"], "count"),
            "Next": ([item.step.line], "whole"),
        }
    return [_first_line(item, width), *fact_lines(facts, width)]


def fact_lines(facts: Mapping[str, tuple[Sequence[str], str]], width: int) -> list[Text]:
    """A line for each fact with its name before it, cut to the terminal.

    Args:
        facts (`Mapping[str, tuple]`):
            By name, the parts of the fact, the most important first; and `"count"` where those
            that are left out are counted, or `"whole"` where nothing is cut.
        width (`int`):
            Columns of the terminal.

    Returns:
        `list[Text]`: To be printed unwrapped.
    """
    lines = []
    for name, (parts, how) in facts.items():
        room = 10**6 if how == "whole" else width - _LABEL
        text = join_fitting(parts, room, "; ", count=how == "count")
        lines.append(Text.assemble((f"  {name:<{_LABEL - 2}}", "bold"), text))
    return lines


def _cautions(item: Headline) -> list[str]:
    """The warnings in a line each; that about a format leak also has what is left without it."""
    shorts = [caution.short for caution in item.warnings]
    marks = _marks(item)
    if "normalised" not in marks or item.leak is None or item.by_format:  # the first line has it
        return shorts
    leak = f"Format leak: one rule right in {marks['format']}; evaluator normalised "
    leak += marks["normalised"]
    return [leak if short.startswith("Format leak") else short for short in shorts]


def _first_line(item: Headline, width: int) -> Text:
    """The verdict, and how sure it is."""
    answer, *more = _answer(item)
    title = f"{one_line(item.system)} {item.title}: "
    if cell_len(title + answer) > width:  # a long name is cut, and never the number
        name = one_line(item.system)
        room = max(width - cell_len(f" {item.title}: {answer}"), 8)
        title = f"{_cut(name, room)} {item.title}: "
    facts = [fact.replace(" interval", "") for fact in item.certainty_facts]
    text = join_fitting([answer, *more, *facts], width - cell_len(title), ", ")
    return Text.assemble((title, "bold"), text)


def _answer(item: Headline) -> list[str]:
    accuracy = item.verdict.accuracy
    if accuracy is None:
        return [one_line(item.text)]
    if item.by_format and item.leak is not None:
        rule = f"one rule is right in {of_hundred(item.leak.accuracy)} (chance 50)"
        normalised = _marks(item).get("normalised")
        left = [] if normalised is None else [f"after normalising in {normalised}"]
        return [rule, f"the evaluator in {100 * accuracy:.0f}", *left]
    return [f"right in {of_hundred(accuracy)} (chance 50)"]


def _marks(item: Headline) -> dict[str, str]:
    """The marks of the bar in per cent, by kind."""
    return {mark.kind: f"{100 * mark.value:.0f}" for mark in item.marks}


def _reasons(item: Headline) -> list[str]:
    """What gives it away, in a few words each."""
    rules = {cue.rule for cue in item.cues[:CUES]}
    known = item.leak is None or not item.by_format or item.leak.rule in rules
    rule = [] if known or item.leak is None else [f"“{one_line(item.leak.rule)}”"]
    reasons = [*rule, *map(short_cue, item.cues[:CUES]), *filter(None, [item.short_reason])]
    return reasons or [item.no_cues]


def join_fitting(parts: Sequence[str], width: int, sign: str, count: bool = False) -> str:
    """As many parts as fit, in their order; the first one is cut if it is too long by itself.

    Args:
        parts (`Sequence[str]`):
            The parts, the most important first.
        width (`int`):
            Columns of the terminal.
        sign (`str`):
            What separates them.
        count (`bool`, *optional*, defaults to `False`):
            Whether the number of those that are left out is given.

    Returns:
        `str`: One line.

    Examples:
        >>> join_fitting(["wide interval", "few contexts", "cut replies"], 36, "; ", count=True)
        'wide interval; few contexts; +1 more'
    """
    parts = list(map(one_line, parts))
    for kept in range(len(parts), 0, -1):
        left = [f"+{len(parts) - kept} more"] if count and kept < len(parts) else []
        text = sign.join([*parts[:kept], *left])
        if cell_len(text) <= width:
            return text
        if kept == 1:
            room = width - cell_len("".join(sign + part for part in left))
            return sign.join([_cut(parts[0], room), *left])
    return ""


def _cut(text: str, width: int) -> str:
    """A text of at most `width` columns, with an ellipsis where it was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 1)).rstrip() + "…"
