"""The behaviour profile of piles: a table, one figure, and a page."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from markupsafe import Markup
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dialeval.files import atomic_write_text
from dialeval.metrics.profile_results import ProfileResults, Trait
from dialeval.reports.drawing import Frame
from dialeval.reports.format import format_p_value, one_line
from dialeval.reports.sections import SectionView, TableView, render_sections

ALPHA = 0.05
_ROW = 22  # pixels of a trait in the figure
_NOTE = (
    "One number per dialogue. The effect is Cliff's delta: the probability that a dialogue of the "
    "system has more of it than a human one, minus the probability that it has less; 0 is no "
    "difference, −1 and 1 are complete separation. P-values are adjusted for all traits (Holm). "
    "Word lists are English."
)


def trait_rows(traits: Sequence[Trait]) -> list[list[str]]:
    """Cells of a table of traits."""
    return [
        [
            item.name, item.unit, format_trait(item, item.human), format_trait(item, item.other),
            _signed(item.effect), f"{_signed(item.low)} to {_signed(item.high)}",
            format_p_value(item.p_holm),
        ]
        for item in traits
    ]  # fmt: skip


def format_trait(item: Trait, value: float) -> str:
    """A mean of a trait: shares in per cent, counts with one decimal.

    Examples:
        >>> item = Trait("bot", "hedges", "style", "share of turns", .1, .02, 0, 0, 0, 1, 1)
        >>> format_trait(item, item.human), format_trait(item, .0013)
        ('10 %', '0.1 %')
    """
    if not item.unit.startswith("share"):
        return f"{value:,.1f}"
    return f"{100 * value:.1f} %" if 0 < value < 0.095 else f"{100 * value:.0f} %"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")  # no −0.00


HEADS = ("trait", "mean of", "human", "system", "effect", "95 %", "p (Holm)")


def effect_figure(traits: Sequence[Trait], system: str) -> Markup:
    """The effects of all traits with their intervals, the largest on top."""
    rows = len(traits)
    frame = Frame((-1, 1), (0, rows), width=440, height=rows * _ROW + 50, left=150)
    parts = [frame.line([0, 0], [0, rows], "chance")]
    for index, item in enumerate(traits):
        height = rows - index - 0.5
        parts.append(frame.line([item.low, item.high], [height, height], "whisker"))
        kind = "dot machine" if item.p_holm < ALPHA else "dot"
        parts.append(frame.dots([item.effect], [height], kind))
        label = Markup('<text class="tick end" x="142" y="{:.1f}">{}</text>')
        parts.append(label.format(float(frame.up(height)) + 4, item.name))
    shape = Markup('<svg class="plot" role="img" viewBox="0 0 {} {}" aria-label="{}">{}</svg>')
    inside = Markup("").join([*frame.horizontal_axis("more human ← effect → more system"), *parts])
    return shape.format(frame.width, frame.height, f"Effects of traits, {system}", inside)


def profile_sections(traits: Sequence[Trait]) -> list[SectionView]:
    """A section for every system: the figure, and the numbers behind it."""
    sections = []
    for number, system in enumerate(dict.fromkeys(item.system for item in traits)):
        chosen = [item for item in traits if item.system == system]
        table = TableView(f"Behaviour of {system} and of humans", HEADS, trait_rows(chosen), (1,))
        examples = [
            [item.name, item.human_example, item.other_example]
            for item in chosen
            if item.human_example or item.other_example
        ]
        shown = TableView("A turn with each trait", ("trait", "human", system), examples, (1, 2))
        picture = (effect_figure(chosen, system), "Dots in colour: significant after Holm.")
        sections.append(
            SectionView(
                f"profile-{number}", f"Behaviour: {system}", [_NOTE], [table, shown], [picture]
            )
        )
    return sections


def profile_table(traits: Sequence[Trait], system: str) -> Table:
    """The traits of one system, for the terminal."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title, table.title_justify = Text(f"Behaviour: {one_line(system)}", style="bold"), "left"
    for index, name in enumerate(HEADS):
        table.add_column(name, justify="left" if index < 2 else "right")
    chosen = [item for item in traits if item.system == system]
    for item, cells in zip(chosen, trait_rows(chosen), strict=True):
        table.add_row(*map(Text, cells), style="bold" if item.p_holm < ALPHA else "dim")
    return table


def to_text(results: ProfileResults) -> str:
    """The tables as plain text."""
    console = Console(width=110, record=True, file=StringIO())
    for system in dict.fromkeys(item.system for item in results.traits):
        console.print(profile_table(results.traits, system))
    return console.export_text()


def write_profile_report(run: Path) -> Path:
    """Write `report.html` of a finished profile; returns its path."""
    results = ProfileResults.load(run)
    sizes = ", ".join(f"{name} {size:,}" for name, size in results.dialogues.items())
    page = render_sections(
        "Behaviour profile", f"Dialogues: {sizes}.", profile_sections(results.traits), results
    )
    return atomic_write_text(run / "report.html", page)
