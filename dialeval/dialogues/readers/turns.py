"""Tables with one turn a row: whose conversation it belongs to, who speaks, and what."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.messages import conversation
from dialeval.dialogues.readers.records import as_object, delimited_rows
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, merge_by_speaker, text_hash

_NAMES = {
    "dialogue_id": (
        "dialogue_id", "conversation_id", "dialog_id", "conv_id", "chat_id", "thread_id",
        "session_id", "conversation", "dialogue", "call_id", "ticket_id", "session",
    ),
    "speaker": (
        "speaker", "role", "sender", "from", "author", "user", "participant", "name", "speaker_id",
    ),
    "text": ("text", "utterance", "message", "content", "body", "turn_text", "msg"),
    "order": (
        "turn_id", "turn_index", "turn_idx", "turn_number", "turn", "position", "message_index",
        "index", "seq", "timestamp", "created_at", "sent_at", "time", "date", "ts",
    ),
}  # fmt: skip
"""Usual names of the columns, most usual first."""

_NEEDED = ("dialogue_id", "speaker", "text")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
Row = tuple[int, Mapping[str, Any]]


@dataclass(frozen=True)
class TurnColumns:
    """Names of the columns of a table with one turn a row."""

    dialogue_id: str
    speaker: str
    text: str
    order: str | None = None


def turn_columns(
    names: Iterable[str], mapped: Mapping[str, str] | None = None
) -> TurnColumns | None:
    """Which columns are which; `None` where a table has no turns in its rows.

    Examples:
        >>> turn_columns(["Conversation ID", "speaker", "text"]).dialogue_id
        'Conversation ID'
    """
    given, mapped = {_plain(name): name for name in names}, mapped or {}
    if {"context", "response"} <= set(given) or {"context", "response"} & set(mapped):
        return None
    columns = {field: mapped.get(field) or _column(given, field) for field in _NAMES}
    if not all(columns[field] for field in _NEEDED):
        return None
    if len({columns[field] for field in _NEEDED}) < len(_NEEDED):
        return None
    return TurnColumns(**columns)  # type: ignore[arg-type]  # checked above


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _column(given: Mapping[str, str], field: str) -> str | None:
    return next((given[name] for name in _NAMES[field] if name in given), None)


def has_turns(names: Iterable[str], mapped: Mapping[str, str] | None = None) -> bool:
    """Whether a table with these columns has one turn a row."""
    return turn_columns(names, mapped) is not None


def _recognise(head: Head) -> bool:
    if head.first.lstrip().startswith(("{", "[")):
        return has_turns(head.fields)
    cells = [cell.strip().strip('"') for cell in head.first.split(head.delimiter)]
    return len(head.lines) > 1 and has_turns(cells)


@reader(
    "turns",
    example="conversation_id,speaker,text\nc1,customer,my screen is black\nc1,agent,is it on?",
    recognise=_recognise,
)
def read_turns(source: Source) -> Iterator[Dialogue]:
    """One turn a row: `conversation_id, speaker, text` as CSV, TSV or JSON lines, in any order."""
    head = Head(source.path)
    if head.first.lstrip().startswith(("{", "[")):
        yield from read_turn_rows(Source.json_records, source)
    else:
        yield from read_turn_rows(lambda file: delimited_rows(file, head.delimiter), source)


def read_turn_rows(rows: Callable[[Source], Iterable[Row]], source: Source) -> Iterator[Dialogue]:
    """Dialogues of numbered rows; those of one conversation need not be together.

    Args:
        rows (`Callable`):
            From the source to its numbered rows; it is called twice.
        source (`Source`):
            Where they come from.

    Returns:
        `Iterator[Dialogue]`: What one speaker says in a row is one turn.
    """
    trial = replace(source, problems=[], location={}, skip_bad=True)  # errors are reported once
    if _is_grouped(_keyed(rows(trial), trial)):
        groups: Iterable[tuple[str, Iterable[_Keyed]]] = groupby(
            _keyed(rows(source), source), key=lambda item: item[0]
        )
    else:
        source.note("The rows of a conversation are not together: they are collected in memory.")
        groups = _collected(_keyed(rows(source), source))
    for key, items in groups:
        turns = _ordered(list(items), source)
        with source.record(turns[0][2]):
            messages = [{"role": row.speaker, "content": row.text} for _, row, _ in turns]
            dialogue = conversation(messages, source, id=key)
            merged = merge_by_speaker(dialogue.turns)
            yield replace(dialogue, turns=merged, units=len(dialogue.turns))


@dataclass(frozen=True, slots=True)
class _Row:
    speaker: str
    text: Any
    order: Any


_Keyed = tuple[str, _Row, int]


def _keyed(rows: Iterable[Row], source: Source) -> Iterator[_Keyed]:
    """Rows with the key of their conversation and their number."""
    columns: TurnColumns | None = None
    for number, item in rows:
        with source.record(number):
            record = as_object(item, "a row")
            columns = columns or turn_columns(record, source.columns) or _refuse(record)
            key, speaker = record.get(columns.dialogue_id), record.get(columns.speaker)
            if key in (None, "") or speaker in (None, ""):
                missing = columns.speaker if key not in (None, "") else columns.dialogue_id
                raise BadInput(f"no {missing!r} in this row.")
            order = record.get(columns.order) if columns.order else None
            yield str(key), _Row(str(speaker), record.get(columns.text), order), number


def _refuse(record: Mapping[str, Any]) -> TurnColumns:
    raise BadInput(
        f"expected a conversation, a speaker and a text, found {', '.join(map(str, record))}.",
        hint="Name the columns: --column dialogue_id=NAME --column speaker=NAME --column text=NAME",
    )


def _is_grouped(rows: Iterable[_Keyed]) -> bool:
    """Whether no conversation continues after another one began; keys are kept as hashes."""
    seen: set[int] = set()
    for key, _ in groupby(item[0] for item in rows):
        digest = text_hash([key])
        if digest in seen:
            return False
        seen.add(digest)
    return True


def _collected(rows: Iterable[_Keyed]) -> Iterator[tuple[str, list[_Keyed]]]:
    groups: dict[str, list[_Keyed]] = {}
    for item in rows:
        groups.setdefault(item[0], []).append(item)
    yield from groups.items()


def _ordered(rows: list[_Keyed], source: Source) -> list[_Keyed]:
    """The rows by their turn numbers or times, where the table has comparable ones."""
    keys = [_order_key(row.order) for _, row, _ in rows]
    if any(key is None for key in keys) or len({type(key) for key in keys}) > 1:
        return rows
    order = sorted(range(len(rows)), key=lambda index: keys[index])  # type: ignore[arg-type,return-value]
    if order != list(range(len(rows))):
        source.note("Turns are sorted by their numbers or times, not as in the file.")
    return [rows[index] for index in order]


def _order_key(value: Any) -> float | str | None:
    with suppress(TypeError, ValueError, OverflowError):
        number = float(value)
        return number if math.isfinite(number) else None  # NaN has no place in an order
    text = str(value)
    return text if _ISO.match(text) else None
