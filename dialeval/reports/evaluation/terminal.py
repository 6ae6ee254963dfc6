"""The answer about each system on the terminal, in five lines."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.metrics.results import RunResults
from dialeval.reports.evaluation.headline import Headline, headlines, short_cue
from dialeval.reports.evaluation.rows import as_evaluation
from dialeval.reports.format import one_line

IN_FULL = 3
"""Up to so many systems have five lines each; more have two."""
CUES = WARNINGS = 3


def headline_lines(results: RunResults) -> list[RenderableType]:
    """Per system: the verdict, why, whether to trust it, what to be careful about, what next."""
    items = headlines(as_evaluation(results))
    lines: list[RenderableType] = []
    for item in items:
        line = Text(f"{one_line(item.system)} {item.title}: ", style="bold")
        lines.append(line.append(_answer(item), style="not bold"))
        lines.append(_facts(item, in_full=len(items) <= IN_FULL))
    return lines


def unmentioned_warnings(results: RunResults) -> list[str]:
    """Warnings of the run that the lines about the systems do not have."""
    results = as_evaluation(results)
    items = headlines(results)
    shown = [text for item in items for text in item.warnings[:WARNINGS]]
    return [text for text in results.warnings if len(items) > IN_FULL or text not in shown]


def _answer(item: Headline) -> str:
    """The sentence of a headline; what normalising does is among the warnings."""
    text = one_line(item.text if item.by_format else item.text.partition(" With the format")[0])
    return text + (f" ({item.certainty})" if item.certainty else "")


def _warnings(item: Headline) -> str:
    left = len(item.warnings) - WARNINGS
    more = [f"({left} more in the report)"] if left > 0 else []
    return " ".join([*item.warnings[:WARNINGS], *more]) or "nothing to report"


def _facts(item: Headline, in_full: bool) -> Table:
    """What explains a headline, one line each, with a hanging indent."""
    cues = "; ".join([*map(short_cue, item.cues[:CUES]), *filter(None, [item.short_reason])])
    facts = {"Why": cues or item.no_cues}
    if in_full:
        facts |= {
            "Trust": f"{item.trust.level}: {item.trust.numbers}",
            "Careful": _warnings(item),
            "Next": item.step.command,
        }
    grid = Table.grid(padding=(0, 1))
    for name, text in facts.items():
        grid.add_row(Text(f"  {name:<7}", style="bold"), Text(one_line(text)))
    return grid
