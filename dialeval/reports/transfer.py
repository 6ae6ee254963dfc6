"""How judges travel from system to system and how far they agree: heat maps and tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.reports.evaluation_rows import NONE, one_line, share, signed

FORMATS = ("png", "svg")
_COLOURS = (
    "RdBu_r"  # white at chance, red where a judge is right, blue where it is worse than a coin
)
_LONGEST = 24  # characters of a name in a picture
_READING = (
    "Accuracy of telling humans from a column's replies, by what the judge was trained on; .5 is a "
    "coin. All learn from as many pairs, of other dialogues than they are tested on.",
    "In brackets: trained on the column itself. Intervals of 95 % take dialogues as units and are "
    "conditional on the trained judges.",
)


def transfer_table(found: Any) -> Table:
    """The matrix for the terminal: accuracy and interval in each cell, the diagonal in brackets."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title = Text(f"{one_line(found.evaluator)}, trained on → applied to", style="bold")
    table.title_justify = table.caption_justify = "left"
    table.add_column("trained on", overflow="fold")
    for name in found.tested_on:
        table.add_column(Text(one_line(name)), justify="right", overflow="fold")
    cells = iter(found.results)
    for name in found.trained_on:
        row = [_cell(next(cells)) for _ in found.tested_on]
        table.add_row(Text(one_line(name), style="bold"), *row, end_section=True)
    table.caption = Text("\n".join(_READING))
    return table


def _cell(result: Any) -> Text:
    """Accuracy over its interval, marked where the judge was trained on this very system."""
    own = result.details["diagonal"]
    value = f"[{share(result.value)}]" if own else share(result.value)
    between = f"{_number(result.low)}–{_number(result.high)}"
    cell = Text(f"{value}\n", style="bold" if own else "")
    return cell.append(between, style="not bold dim")


def _number(value: float | None) -> str:
    return NONE if value is None or value != value else share(value)


def heat_map(found: Any, folder: Path | str, name: str = "") -> list[Path]:
    """The matrix as a picture, in a PNG and an SVG file.

    Args:
        name (`str`, *optional*):
            Of the files, without ending; `transfer-` and the evaluator by default.
    """
    from matplotlib.figure import Figure

    values, rows, columns = found.matrix(), len(found.trained_on), len(found.tested_on)
    figure = Figure(figsize=(2.6 + 1.15 * columns, 1.7 + 0.62 * rows), layout="constrained")
    axes = figure.subplots()
    drawn = axes.imshow(values, cmap=_COLOURS, vmin=0, vmax=1, aspect="auto")
    for place, result in enumerate(found.results):
        _write(axes, *divmod(place, columns), result)
    # Names are data, and a dollar sign in one is no formula.
    axes.set_xticks(range(columns), _names(found.tested_on), rotation=30, ha="right",
                    parse_math=False)  # fmt: skip
    axes.set_yticks(range(rows), _names(found.trained_on), parse_math=False)
    axes.set(xlabel="applied to", ylabel="trained on")
    title = f"{one_line(found.evaluator)}: accuracy, and its 95 % interval"
    axes.set_title(title, fontsize=10, parse_math=False)
    axes.spines[:].set_visible(False)
    figure.colorbar(drawn, ax=axes, label="accuracy (.5: a coin; framed: trained on it)")
    return _saved(figure, Path(folder), name or f"transfer-{found.evaluator}")


def _write(axes: Any, row: int, column: int, result: Any) -> None:
    """A cell's numbers in a colour that can be read on its own, and the frame of the diagonal."""
    from matplotlib.patches import Rectangle

    colour = "white" if abs(result.value - 0.5) > 0.32 else "black"
    place = {"ha": "center", "color": colour, "parse_math": False}
    axes.text(column, row - 0.06, share(result.value), va="bottom", fontsize=10, **place)
    between = f"{_number(result.low)}–{_number(result.high)}"
    axes.text(column, row + 0.06, between, va="top", fontsize=6.5, **place)
    if result.details["diagonal"]:
        corner = (column - 0.48, row - 0.47)
        frame = Rectangle(corner, 0.96, 0.94, fill=False, edgecolor="black", lw=2.2, gid="diagonal")
        axes.add_patch(frame)


def _names(names: Sequence[str]) -> list[str]:
    lines = map(one_line, names)
    return [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in lines]


def _saved(figure: Any, folder: Path, name: str) -> list[Path]:
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    # Words as words, and the same picture as the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        for kind, path in zip(FORMATS, paths, strict=True):
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(path, dpi=150, format=kind, metadata=metadata)
    return paths


def panel_tables(found: Any) -> list[RenderableType]:
    """AdverSuc by system and evaluator, the evaluators' agreement, and what all agree on."""
    parts: list[RenderableType] = [_adversuc_table(found), Text("")]
    if found.agreements:
        parts += [_agreement_table(found), Text("")]
    parts += [Text(line, style="bold") for line in agreement_sentences(found)]
    parts += [_llm_line(row) for row in found.results]
    return [*parts, *(Text(one_line(line), style="yellow") for line in found.warnings)]


def _adversuc_table(found: Any) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title, table.title_justify = Text("AdverSuc before the panel", style="bold"), "left"
    table.add_column("system", overflow="fold")
    names = [*found.evaluators, *found.references]
    for name in names:
        pairwise = any("pairwise" in cell["metric"] for cell in found.table[name].values())
        style = "dim" if name in found.references else ""
        head = f"{one_line(name)}{' *' if pairwise else ''}"
        table.add_column(Text(head), justify="right", overflow="fold", style=style)
    everyone = dict.fromkeys(system for name in names for system in found.table[name])
    for system in everyone:
        cells = [found.table[name].get(system) for name in names]
        table.add_row(Text(one_line(system), style="bold"), *map(_adversuc_cell, cells))
    starred = "* 1 − pairwise accuracy: comparable in order only." if found.results else None
    table.caption, table.caption_justify = starred, "left"
    return table


def _adversuc_cell(cell: dict[str, Any] | None) -> Text:
    if cell is None:
        return Text(NONE)
    between = f"{_number(cell['low'])}–{_number(cell['high'])}"
    return Text(share(cell["value"])).append(f"\n{between}", style="dim")


def _agreement_table(found: Any) -> Table:
    """Kendall's tau of every two evaluators, those with a reference dimmed."""
    table = Table("evaluator", "evaluator", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.show_edge = False
    table.title, table.title_justify = Text("Do they rank the systems alike?", style="bold"), "left"
    for name in ("Kendall's τ", "95 %"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.agreements:
        names = Text(one_line(each.first)), Text(one_line(each.second))
        table.add_row(*names, *_tau(each), style="dim" if each.reference else "")
    if found.mean is not None:
        table.add_section()
        table.add_row("mean", "", *_tau(found.mean), style="bold")
    return table


def _tau(each: Any) -> tuple[str, str]:
    known = None not in (each.low, each.high)
    return signed(each.tau), f"{signed(each.low)} to {signed(each.high)}" if known else NONE


def agreement_sentences(found: Any) -> list[str]:
    """Which order all evaluators of the panel agree on, and where they do not."""
    size = len(found.ranking)
    if size < 2:
        return []
    who = "Both evaluators" if size == 2 else f"All {size} evaluators"
    said = [
        f"{one_line(each.above)} over {one_line(each.below)}"
        + ("" if each.support is None else f" ({100 * each.support:.0f} % of resamples)")
        for each in found.orders
    ]
    agreed = f"{who} find harder to tell: {', '.join(said)}." if said else (
        f"{who} agree on the order of no two systems.")  # fmt: skip
    pairs = [f"{one_line(one)} and {one_line(two)}" for one, two in found.disputed]
    return [agreed, f"They disagree on {', '.join(pairs)}."] if pairs else [agreed]


def _llm_line(row: dict[str, Any]) -> Text:
    """What one must know about an LLM's verdicts on one system."""
    told = row["details"]
    first = NONE if told["position_bias"] is None else f"{100 * told['position_bias']:.0f} %"
    line = f"{one_line(row['evaluator'])} on {one_line(row['system'])}: finds the human in "
    line += f"{share(row['value'])} ({_number(row['low'])}–{_number(row['high'])}) of {row['n']:,} "
    line += f"pairs; {told['contradictions']:,} contradict themselves when the order is swapped; "
    line += f"{first} of answers are for the reply shown first; {told['parse_failures']:,} of "
    line += f"{told['asked']:,} answers unreadable, {told['refusals']:,} of them refusals."
    if told["unbiased_accuracy"] is not None:
        line += f" Probabilities of both orders together: {share(told['unbiased_accuracy'])}."
    return Text(line)
