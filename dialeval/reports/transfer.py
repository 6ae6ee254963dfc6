"""Transfer of evaluators between systems: a table for the terminal and heat maps."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from dialeval.metrics.results import Result
from dialeval.metrics.transfer_results import Transfer
from dialeval.reports.format import format_interval, format_share, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
_COLOURS = "RdBu_r"  # white at chance, red above it, blue below it
_LONGEST = 24  # characters of a name in a picture
_EXPLANATION = (
    "Accuracy on human responses and a column's, by the training data of the evaluator; .5 is a "
    "random guess. All are trained on the same number of pairs, of other dialogues than the test.",
    "In brackets: trained on the column itself. Intervals of 95 % are clustered by dialogue and "
    "conditional on the trained evaluators.",
)


def transfer_table(transfer: Transfer) -> Table:
    """The matrix for the terminal: accuracy and interval in each cell, the diagonal in brackets."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title = Text(f"{one_line(transfer.evaluator)}, trained on → applied to", style="bold")
    table.title_justify = table.caption_justify = "left"
    table.add_column("trained on", overflow="fold")
    for name in transfer.tested_on:
        table.add_column(Text(one_line(name)), justify="right", overflow="fold")
    cells = iter(transfer.results)
    for name in transfer.trained_on:
        row = [_cell(next(cells)) for _ in transfer.tested_on]
        table.add_row(Text(one_line(name), style="bold"), *row, end_section=True)
    table.caption = Text("\n".join(_EXPLANATION))
    return table


def _cell(result: Result) -> Text:
    """Accuracy over its interval, in brackets where the evaluator was trained on this system."""
    diagonal = result.details["diagonal"]
    value = f"[{format_share(result.value)}]" if diagonal else format_share(result.value)
    cell = Text(f"{value}\n", style="bold" if diagonal else "")
    return cell.append(format_interval(result.low, result.high), style="not bold dim")


def heat_map(transfer: Transfer, folder: Path | str, name: str = "") -> list[Path]:
    """The matrix as a picture, in a PNG and an SVG file.

    Args:
        transfer (`Transfer`):
            The matrix.
        folder (`Path` or `str`):
            Where the files are written.
        name (`str`, *optional*):
            Name of the files, without ending; `transfer-` and the evaluator by default.

    Returns:
        `list[Path]`: The files.
    """
    from matplotlib.figure import Figure

    values, rows, columns = transfer.matrix(), len(transfer.trained_on), len(transfer.tested_on)
    figure = Figure(figsize=(2.6 + 1.15 * columns, 1.7 + 0.62 * rows), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(values, cmap=_COLOURS, vmin=0, vmax=1, aspect="auto")
    for index, result in enumerate(transfer.results):
        _draw_cell(axes, *divmod(index, columns), result)
    # Names are data: a dollar sign in one does not start a formula.
    axes.set_xticks(range(columns), _short_names(transfer.tested_on), rotation=30, ha="right",
                    parse_math=False)  # fmt: skip
    axes.set_yticks(range(rows), _short_names(transfer.trained_on), parse_math=False)
    axes.set(xlabel="applied to", ylabel="trained on")
    title = f"{one_line(transfer.evaluator)}: accuracy, and its 95 % interval"
    axes.set_title(title, fontsize=10, parse_math=False)
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="accuracy (.5: random guess; framed: trained on it)")
    return _save(figure, Path(folder), name or f"transfer-{transfer.evaluator}")


def _draw_cell(axes: "Axes", row: int, column: int, result: Result) -> None:
    """The numbers of a cell in a readable colour, and the frame of the diagonal."""
    from matplotlib.patches import Rectangle

    colour = "white" if abs(result.value - 0.5) > 0.32 else "black"
    style: dict[str, Any] = {"ha": "center", "color": colour, "parse_math": False}
    axes.text(column, row - 0.06, format_share(result.value), va="bottom", fontsize=10, **style)
    interval = format_interval(result.low, result.high)
    axes.text(column, row + 0.06, interval, va="top", fontsize=6.5, **style)
    if result.details["diagonal"]:
        corner = (column - 0.48, row - 0.47)
        frame = Rectangle(corner, 0.96, 0.94, fill=False, edgecolor="black", lw=2.2, gid="diagonal")
        axes.add_patch(frame)


def _short_names(names: Sequence[str]) -> list[str]:
    lines = map(one_line, names)
    return [name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…" for name in lines]


def _save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    # Text stays text, and the same picture is the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        for kind, path in zip(FORMATS, paths, strict=True):
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(path, dpi=150, format=kind, metadata=metadata)
    return paths
