"""Tables of generated responses, next to the human ones."""

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table


def samples_table(path: Path | str, rows: int, human: Mapping[str, str] | None = None) -> Table:
    """The first responses of a file, each with the last turn of its context.

    Args:
        path (`Path` or `str`):
            File that `dialeval generate` wrote; only .jsonl files are shown.
        rows (`int`):
            Maximum number of responses.
        human (`Mapping[str, str]`, *optional*):
            Human responses, by the id of the passage.

    Returns:
        `Table`: To print.
    """
    columns = ("context", "human", "response") if human else ("context", "response")
    table = Table(*columns, title=f"First responses in {escape(str(path))}", title_justify="left")
    if Path(path).suffix != ".jsonl":
        return table
    with Path(path).open(encoding="utf-8") as lines:
        for record in map(json.loads, islice(lines, rows)):
            turns = record["context"]
            cells = [turns[-1]["content"] if turns else "", record["response"] or "-"]
            if human:
                cells.insert(1, human.get(record["id"], ""))
            table.add_row(*(escape(shortened(cell)) for cell in cells))
    return table


def shortened(text: str, width: int = 160) -> str:
    """A text in one line, cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def chat_table(dialogues: Sequence[Any]) -> Table:
    """Conversations, one turn per row, with speaker and author."""
    table = Table("speaker", "author", "turn", title="First conversations", title_justify="left")
    for dialogue in dialogues:
        for turn in dialogue.turns:
            table.add_row(escape(turn.speaker), escape(turn.author), escape(shortened(turn.text)))
        table.add_section()
    return table


def decodings_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Adversarial success of each strategy by evaluator, and the diversity of its responses."""
    table = Table("decoding", "evaluator", title="Adversarial success", title_justify="left")
    names = ("AdverSuc", "95 %", "n", "by length", "distinct-1", "distinct-2", "tokens", "most")
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        numbers = (row["length_only"], row["distinct_1"], row["distinct_2"])
        table.add_row(
            escape(row["decoding"]),
            escape(row["evaluator"]),
            f"{row['adversuc']:.3f}",
            f"{row['low']:.3f}-{row['high']:.3f}",
            f"{row['n']:,}",
            *(f"{number:.3f}" for number in numbers),
            f"{row['tokens']:.1f}",
            f"{row['most_frequent']:.1%}",
        )
    return table
