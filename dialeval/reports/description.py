"""The description of a corpus: tables and a histogram for the terminal, and a plot."""

from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

_COLOURS = ("#3b6ea5", "#d1793f", "#4f9d69", "#b5495b", "#7d6fb3", "#8a8a8a")


def description_tables(description: Any, width: int = 40) -> RenderableType:
    """Counts, lengths, authors, frequent responses and a histogram, for the terminal."""
    parts = [_counts(description), _authors(description)]
    if description.authors:
        frequent = _frequent(description)
        parts += [_histogram(description, width), *([frequent] if frequent.row_count else [])]
    return Group(*parts)


def _counts(description: Any) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    unit = "dialogue" if description.whole else "context"
    rows = [
        ("read as", ", ".join(dict.fromkeys(description.formats.values()))),
        (f"{unit}s", f"{description.dialogues:,}"),
        ("messages before merging by speaker", description.units),
        ("turns", f"{description.turn_tokens.n:,}"),
        (f"turns per {unit}", _spread(description.turns)),
        ("tokens per turn", _spread(description.turn_tokens)),
        ("duplicate dialogues, dropped", description.duplicate_dialogues),
        ("dialogues that also occur in other files, dropped", description.seen_elsewhere),
        ("dialogues of a single turn", description.too_short),
        ("passages dropped by filters", description.filtered),
        ("bad records, skipped", description.skipped),
        ("passages", f"{description.passages:,}"),
        ("corpora", _format_counts(description.corpora)),
        ("languages", _format_counts(description.languages)),
    ]
    for name, value in rows:
        if value:
            table.add_row(f"[bold]{name}[/]", value if isinstance(value, str) else f"{value:,}")
    return table


def _authors(description: Any) -> Table:
    table = Table("author", title="Responses", title_justify="left")
    for name in ("responses", "distinct", "empty", "tokens", "median", "most frequent"):
        table.add_column(name, justify="right")
    for author in description.authors:
        top = author.frequent[0][1] / author.responses if author.frequent else 0
        table.add_row(
            escape(author.name),
            f"{author.responses:,}",
            f"{author.distinct / author.responses:.1%}",
            f"{author.empty:,}",
            f"{author.tokens.mean:.1f} ± {author.tokens.sd:.1f}",
            f"{author.tokens.median}",
            f"{top:.1%}",
        )
    return table


def _histogram(description: Any, width: int) -> Table:
    """Bars of response lengths over all authors."""
    step, counts = _binned(description)
    table = Table("tokens", "", title="Length of responses", title_justify="left", box=None)
    table.add_column("share", justify="right")
    total, top = sum(counts), max(counts)
    for number, count in enumerate(counts):
        last = number == len(counts) - 1
        label = f"{number * step}+" if last else f"{number * step}-{(number + 1) * step - 1}"
        bar = "█" * round(width * count / top) or ("▏" if count else "")
        table.add_row(label, f"[#3b6ea5]{bar}[/]", f"{count / total:.1%}")
    return table


def _binned(description: Any, bins: int = 12) -> tuple[int, list[int]]:
    q3 = max(author.tokens.q3 for author in description.authors)
    step = max(1, round(2.5 * q3 / bins))
    counts = [0] * (bins + 1)
    for author in description.authors:
        for length, count in author.lengths.items():
            counts[min(length // step, bins)] += count
    return step, counts


def _frequent(description: Any, most: int = 3) -> Table:
    table = Table("author", "response", title="Most frequent responses", title_justify="left")
    table.add_column("times", justify="right")
    shown = 10 if len(description.authors) == 1 else most
    for author in description.authors:
        for text, count in author.frequent[:shown]:
            if count == 1:  # nothing is frequent
                break
            short = text if len(text) <= 70 else text[:69] + "…"
            table.add_row(escape(author.name), escape(short), f"{count:,}")
    return table


def description_plot(description: Any, path: Path | str) -> Path:
    """Write a PNG with turns per dialogue and response lengths by author; returns its path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4), layout="constrained")
    turns, lengths = figure.subplots(1, 2)
    unit = "dialogue" if description.whole else "context"
    width, bars = _bars(description.turn_histogram)
    middles = [start + (width - 1) / 2 for start in bars]  # a bar of 4 and 5 turns is over 4.5
    turns.bar(middles, list(bars.values()), width=0.9 * width, color=_COLOURS[0])
    turns.set(xlabel=f"turns per {unit} (longest 1 % not shown)", ylabel=f"{unit}s")
    turns.set_title(f"{description.dialogues:,} {unit}s, {description.turn_tokens.n:,} turns")
    turns.set_xlim(min(middles, default=0) - width, max(middles, default=0) + width)
    turns.xaxis.get_major_locator().set_params(integer=True)
    (_curves if len(description.authors) <= 3 else _ranges)(lengths, description.authors)
    lengths.set_title(f"{description.passages:,} responses")
    for axes in (turns, lengths):
        axes.spines[["top", "right"]].set_visible(False)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120, format="png")
    return path


def _curves(axes: Any, authors: list[Any]) -> None:
    """The distribution of each author's response lengths."""
    limit = max((_limit(author.lengths) for author in authors), default=1)
    for colour, author in zip(_COLOURS, authors, strict=False):
        share = [author.lengths.get(length, 0) / author.responses for length in range(limit + 1)]
        axes.step(range(limit + 1), share, where="mid", color=colour, label=author.name)
    axes.set(xlabel="tokens in the response (longest 1 % not shown)", ylabel="share")
    if authors:
        axes.legend(frameon=False)


def _ranges(axes: Any, authors: list[Any]) -> None:
    """Median, quartiles and range of each author's response lengths, one row per author."""
    rows = range(len(authors), 0, -1)
    for row, author in zip(rows, authors, strict=True):
        colour = _COLOURS[0] if author.name == "human" else _COLOURS[1]
        tokens = author.tokens
        axes.plot([tokens.min, _limit(author.lengths)], [row, row], color=colour, linewidth=1)
        axes.plot([tokens.q1, tokens.q3], [row, row], color=colour, linewidth=6, alpha=0.6)
        axes.plot(tokens.median, row, "o", color=colour)
    axes.set_yticks(list(rows), [author.name for author in authors])
    axes.set(xlabel="tokens in the response: median, middle half, range")


def _bars(histogram: dict[int, int], most: int = 40) -> tuple[int, dict[int, int]]:
    """The width of bins, and counts in at most `most` of them, without the long tail."""
    limit = _limit(histogram) if histogram else 1
    width = max(1, -(-limit // most))
    bars: dict[int, int] = {}
    for value, count in histogram.items():
        if value <= limit:
            bars[value // width * width] = bars.get(value // width * width, 0) + count
    return width, bars


def _limit(lengths: dict[int, int]) -> int:
    total, seen = sum(lengths.values()), 0
    for length, count in sorted(lengths.items()):
        seen += count
        if seen >= 0.99 * total:
            return max(length, 1)
    return 1


def _spread(summary: Any) -> str:
    spread = f"{summary.mean:.1f} ± {summary.sd:.1f}"
    return f"{spread}  (min {summary.min}, median {summary.median}, max {summary.max})"


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{escape(name)} {count:,}" for name, count in counts.items() if name)
