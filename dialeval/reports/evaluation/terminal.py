"""The answer about each system on the terminal, in five lines."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.metrics.results import RunResults
from dialeval.reports.evaluation.headline import Headline, cue_phrase, headlines
from dialeval.reports.evaluation.rows import as_evaluation
from dialeval.reports.format import one_line

IN_FULL = 3
"""Up to so many systems have five lines each; more have two."""
CUES = 3


def headline_lines(results: RunResults) -> list[RenderableType]:
    """Per system: the verdict, why, whether to trust it, what to be careful about, what next."""
    items = headlines(as_evaluation(results))
    lines: list[RenderableType] = []
    for item in items:
        line = Text(f"{one_line(item.system)} {item.title}: ", style="bold")
        certainty = f" ({item.certainty})" if item.certainty else ""
        lines.append(line.append(one_line(item.text) + certainty, style="not bold"))
        lines.append(_facts(item, in_full=len(items) <= IN_FULL))
    return lines


def _facts(item: Headline, in_full: bool) -> Table:
    """What explains a headline, one line each, with a hanging indent."""
    cues = "; ".join([*(cue_phrase(cue) for cue in item.cues[:CUES]), *filter(None, [item.reason])])
    facts = {"Why": cues or "no single word, phrase or format gives it away"}
    if in_full:
        facts |= {
            "Trust": f"{item.trust.level}. {item.trust.text}",
            "Careful": " ".join(item.warnings) or "nothing to report",
            "Next": f"{item.step.text} {item.step.command}",
        }
    grid = Table.grid(padding=(0, 1))
    for name, text in facts.items():
        grid.add_row(Text(f"  {name:<7}", style="bold"), Text(one_line(text)))
    return grid
