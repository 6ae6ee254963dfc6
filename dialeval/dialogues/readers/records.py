"""What readers share: checked fields of records, blocks of lines, and names for many replies."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.storage import FORMULAS
from dialeval.dialogues.types import Reply

LONGEST_CELL = 1 << 26
"""Characters of a cell; csv's own limit of 131,072 is less than a long conversation has."""


def as_object(value: Any, what: str) -> Mapping[str, Any]:
    """The value, if it is a JSON object."""
    if not isinstance(value, Mapping):
        raise BadInput(f"expected {what} as a JSON object, found {value!r:.60}.")
    return value


def as_text(value: Any, what: str) -> str:
    """The value, if it is a text."""
    if not isinstance(value, str):
        raise BadInput(f"expected a text as {what}, found {value!r:.60}.")
    return value


def as_list(value: Any, what: str) -> list[Any]:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise BadInput(f"expected a list as {what}, found {value!r:.60}.")
    return value


def parsed_cell(value: Any) -> Any:
    """The messages that a cell of a table holds as JSON text; any other value as it is.

    Examples:
        >>> parsed_cell('[{"role": "user"}]'), parsed_cell('[{"answer": 1}]')
        ([{'role': 'user'}], '[{"answer": 1}]')
    """
    if not isinstance(value, str) or not value.lstrip().startswith("[{"):
        return value
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    has_roles = all(isinstance(item, dict) and {"role", "from"} & set(item) for item in parsed)
    return parsed if has_roles else value


def delimited_rows(source: Source, delimiter: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Numbered rows of a CSV or TSV file whose first line has the names of the columns.

    Args:
        source (`Source`):
            The file.
        delimiter (`str`):
            What separates the cells.

    Returns:
        `Iterator[tuple[int, dict[str, str]]]`: Cells by column, without those that are missing.
    """
    csv.field_size_limit(LONGEST_CELL)
    lines = (line + "\n" for _, line in source.lines())
    rows = csv.DictReader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            message = f"expected a table with quoted cells, but {error}."
            if "end of data" in str(error):
                message = "a quote opens in this row and is never closed."
            first = rows.line_num + 1  # of the row; the reader counts those it has read
            source.report(BadInput(message, source.path, first, "Quote it as CSV does."))
            continue
        with source.record(rows.line_num):
            if None in row:
                raise BadInput(f"expected {len(rows.fieldnames or ())} cells, found more.")
            cells = {name: cell for name, cell in row.items() if cell is not None}
            yield rows.line_num, {name: without_mark(cell) for name, cell in cells.items()}


def without_mark(cell: Any) -> Any:
    """A cell without the apostrophe that `write_passages` puts before a formula.

    Examples:
        >>> without_mark("'=1+1"), without_mark("'tis")
        ('=1+1', "'tis")
    """
    is_marked = isinstance(cell, str) and cell[:1] == "'" and cell[1:2] in FORMULAS
    return cell[1:] if is_marked and len(cell) > 1 else cell


def document(source: Source, kind: type, what: str) -> Any:
    """The value of a file that is one JSON document, if it has the expected type.

    Args:
        source (`Source`):
            The file.
        kind (`type`):
            The expected type.
        what (`str`):
            What is expected, for the error message.

    Returns:
        `Any`: The value.
    """
    value = source.json()
    if not isinstance(value, kind):
        raise BadInput(f"expected {what} in the file, found {value!r:.60}.", source.path)
    return value


def text_field(record: Mapping[str, Any], name: str) -> str:
    """The text under a name."""
    return as_text(_field(record, name), repr(name))


def key_field(record: Mapping[str, Any], name: str) -> str:
    """The key under a name, which may be written as a text or as a whole number."""
    value = _field(record, name)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise BadInput(f"expected a text or a whole number as {name!r}, found {value!r:.60}.")
    return str(value)


def list_field(record: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a name."""
    return as_list(_field(record, name), repr(name))


def texts_field(record: Mapping[str, Any], name: str) -> list[str]:
    """The list of texts under a name."""
    return [as_text(item, f"item of {name!r}") for item in list_field(record, name)]


def _field(record: Mapping[str, Any], name: str) -> Any:
    if name not in record:
        raise BadInput(f"no {name!r} here, only {', '.join(map(repr, record)) or 'nothing'}.")
    return record[name]


def non_empty(texts: Iterable[str], what: str = "turn") -> list[str]:
    """The stripped texts, if there is at least one and none is empty."""
    stripped = [text.strip() for text in texts]
    if not stripped:
        raise BadInput(f"expected at least one {what}, found none.")
    if "" in stripped:
        raise BadInput(f"{what} {stripped.index('') + 1} is empty.")
    return stripped


def cells_of(line: str, count: int) -> list[str]:
    """The tab-separated cells of a line, if there are so many; quotes mean nothing."""
    cells = line.split("\t")
    if len(cells) != count:
        raise BadInput(f"expected {count} tab-separated cells, found {len(cells)}.")
    return cells


def blocks(source: Source, ends_block: Callable[[str], bool]) -> Iterator[list[tuple[int, str]]]:
    """Runs of numbered lines between the lines that end a block."""
    for is_end, lines in groupby(source.lines(), key=lambda item: ends_block(item[1])):
        if not is_end:
            yield list(lines)


def is_blank(line: str) -> bool:
    """Whether a line holds nothing but white space."""
    return not line.strip()


def replies_by(author: str, texts: Iterable[str], id: str = "") -> Iterator[Reply]:
    """Several replies of one kind to one question; empty ones after the first are left out.

    Args:
        author (`str`):
            Author of the first reply; the others get a number after it.
        texts (`Iterable[str]`):
            The replies.
        id (`str`, *optional*):
            Key of the question.

    Returns:
        `Iterator[Reply]`: The replies.

    Examples:
        >>> [reply.author for reply in replies_by("human", ["yes", "", "no"], "q1")]
        ['human', 'human_3']
    """
    for number, text in enumerate(texts, 1):
        if number == 1 or text.strip():
            yield Reply(author if number == 1 else f"{author}_{number}", text.strip(), id)


def stem(path: Path) -> str:
    """Name of a file without its suffixes `.txt` and `.gz`."""
    return Path(path.name.removesuffix(".gz")).stem
