"""Generated answers for people: a few of them beside what a human said."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table


def samples_table(path: Path | str, rows: int) -> Table:
    """The first answers of a file: the last turn of the context, and what was said to it."""
    table = Table("context", "answer", title=f"First answers in {escape(str(path))}")
    table.title_justify = "left"
    if Path(path).suffix != ".jsonl":
        return table
    with Path(path).open(encoding="utf-8") as lines:
        for record in map(json.loads, islice(lines, rows)):
            turns = record["context"]
            asked = (turns[-1]["content"] if turns else "") or ""
            table.add_row(escape(shortened(asked)), escape(shortened(record["response"])) or "-")
    return table


def shortened(text: str, width: int = 160) -> str:
    """A text in one line, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def chat_table(dialogues: Sequence[Any]) -> Table:
    """Whole conversations, a turn a row, with who said it."""
    table = Table("speaker", "author", "turn", title="First conversations", title_justify="left")
    for dialogue in dialogues:
        for turn in dialogue.turns:
            table.add_row(escape(turn.speaker), escape(turn.author), escape(shortened(turn.text)))
        table.add_section()
    return table
