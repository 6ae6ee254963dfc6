"""dialeval's schema and chat messages, as JSON lines, CSV, TSV, Parquet or a Hub dataset."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialeval.dialogues.blocks import further_columns, inner_columns, json_blocks
from dialeval.dialogues.contexts import parsed_list
from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.inspect_logs import is_inspect_log
from dialeval.dialogues.readers.logs import (
    PREFERENCE,
    preference_record,
    prompt_columns,
    prompt_record,
)
from dialeval.dialogues.readers.messages import MESSAGE_LISTS, chat_record
from dialeval.dialogues.readers.records import delimited_rows
from dialeval.dialogues.readers.turns import has_turns
from dialeval.dialogues.sources import SCHEMA_COLUMNS, BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn, alternate


@reader(
    "passages",
    example='{"id": "d1-2", "dialogue_id": "d1", "context": ["hi", "hello"], "response": "bye"}',
    recognise=lambda head: (
        {"context", "response"} <= head.fields and "instruction" not in head.fields
    ),
    by_line=True,
    whole=False,
    blocks=lambda source: json_blocks(source, _passage_records),
)
def read_passages_jsonl(source: Source) -> Iterator[Dialogue]:
    """dialeval's JSON lines: a context, a response, and its author."""
    yield from _passage_records(source.json_records(), source)


def _passage_records(records: Iterable[tuple[int, Any]], source: Source) -> Iterator[Dialogue]:
    for number, record in records:
        with source.record(number):
            yield passage_record(record, source)


@reader(
    "chat",
    example='{"messages": [{"role": "user", "content": "hi"}, '
    '{"role": "assistant", "content": "hello"}]}',
    recognise=lambda head: _is_chat(head),
    by_line=True,
)
def read_chat(source: Source) -> Iterator[Dialogue]:
    """Chat messages with roles, one conversation a line."""
    for number, record in source.json_records():
        with source.record(number):
            yield chat_record(record, source)


@reader(
    "csv",
    example='id,context,response,author\nd1,"[""hi"", ""hello""]",bye,human',
    recognise=lambda head: _has_header(head, ","),
    whole=False,
)
def read_csv(source: Source) -> Iterator[Dialogue]:
    """CSV, also with semicolons, with the names of the columns in its first line."""
    yield from _read_delimited(source, Head(source.path).delimiter)


@reader(
    "tsv-table",
    example="id\tcontext\tresponse\nd1\thello\tbye",
    recognise=lambda head: _has_header(head, "\t"),
    whole=False,
)
def read_tsv_table(source: Source) -> Iterator[Dialogue]:
    """TSV with our column names in its first line."""
    yield from _read_delimited(source, "\t")


def table_record(record: Mapping[str, Any], source: Source) -> Dialogue:
    """A row of a table: a context and a response, chat messages, a prompt, or a preference."""
    fields = {name for name, value in record.items() if value is not None}
    if "response" in source.columns or source.answers:
        return passage_record(record, source)
    if set(MESSAGE_LISTS) & fields:
        return chat_record(record, source)
    if fields >= PREFERENCE:
        return preference_record(record, source)
    if prompt_columns(fields):
        return prompt_record(record, source)
    return passage_record(record, source)


def passage_record(record: Any, source: Source) -> Dialogue:
    """A context with its one reply, from a mapping with our column names or mapped ones."""
    columns = source.columns
    if not isinstance(record, Mapping):
        raise BadInput(f"expected an object with a context and a response, found {record!r:.60}.")
    values: dict[str, Any] = {name: record.get(columns.get(name, name)) for name in SCHEMA_COLUMNS}
    if source.answers:
        return _answers_record(values, record, source)
    for name in ("context", "response"):
        if values[name] is None:
            _raise_missing(name, columns.get(name, name), record)
    for name in ("response", "following"):
        if values[name] is not None and not isinstance(values[name], str):
            raise BadInput(f"expected a text as {name}, found {values[name]!r:.60}.")
    extra = further_columns(record, {columns.get(name, name) for name in SCHEMA_COLUMNS})
    extra = source.further({**extra, "extra": inner_columns(extra.get("extra"))})
    reply = Reply(
        author=_text(values["author"]) or "human",
        text=values["response"],
        id=_text(values["id"]),
        speaker=_text(values["speaker"]),
        source_dialogue_id=_text(values["source_dialogue_id"]) or None,
        extra=extra | ({"following": values["following"]} if values["following"] else {}),
    )
    return Dialogue(
        turns=_context(values["context"], source),
        id=_text(values["dialogue_id"]) or reply.id,
        corpus=_text(values["corpus"]),
        language=_text(values["language"]) or None,
        replies=(reply,),
    )


def _answers_record(
    values: Mapping[str, Any], record: Mapping[str, Any], source: Source
) -> Dialogue:
    """A context with one answer of each author, from a table that has a column for each."""
    if values["context"] is None:
        _raise_missing("context", source.columns.get("context", "context"), record)
    replies = []
    for author, column in source.answers.items():
        text = record.get(column)
        if text is None or text == "":
            source.skipped[f"rows without an answer of {author}"] += 1
        elif not isinstance(text, str):
            raise BadInput(f"expected a text as {column!r}, found {text!r:.60}.")
        else:
            replies.append(Reply(author, text, _text(values["id"])))
    if not replies:
        names = ", ".join(map(repr, source.answers.values()))
        raise BadInput(f"no answer under {names}, only {', '.join(map(repr, record))}.")
    id = _text(values["dialogue_id"]) or _text(values["id"])
    return Dialogue(_context(values["context"], source), id, replies=tuple(replies))


def _context(value: Any, source: Source) -> tuple[Turn, ...]:
    if isinstance(value, str):
        separator = source.turn_separator
        if separator and separator in value:
            source.separated[separator] += 1
        value = value.split(separator) if separator else parsed_list(value)
    if not isinstance(value, (list, tuple)):
        raise BadInput(f"expected a list of turns as context, found {value!r:.60}.")
    speakers = alternate("" for _ in value)
    return tuple(_turn(item, turn.speaker) for item, turn in zip(value, speakers, strict=True))


def _turn(item: Any, speaker: str) -> Turn:
    if isinstance(item, str):
        return Turn(speaker, item)
    if isinstance(item, Mapping):
        text = item.get("content", item.get("text"))
        if isinstance(text, str):
            return Turn(_text(item.get("role", item.get("speaker"))) or speaker, text)
    raise BadInput(f'expected a text or {{"role", "content"}} in the context, found {item!r:.60}.')


def _read_delimited(source: Source, delimiter: str) -> Iterator[Dialogue]:
    for number, row in delimited_rows(source, delimiter):
        with source.record(number):
            record = {name: cell for name, cell in row.items() if cell != ""}
            names = prompt_columns(set(row))
            response = source.columns.get("response", "response")
            # An empty cell is an empty answer.
            record |= {name: row[name] for name in (response, *(names or ())[1:]) if name in row}
            yield table_record(record, source)


def _is_chat(head: Head) -> bool:
    """Messages with roles; a log of requests has the answer elsewhere, a messenger has times."""
    has_roles = bool({"role", "from"} & head.keys)
    is_other = {"simulations", "choices", "request"} & head.fields or "from_id" in head.keys
    return (
        has_roles
        and not is_other
        and not is_inspect_log(head)
        and bool(set(MESSAGE_LISTS) & head.fields)
    )


def _has_header(head: Head, delimiter: str) -> bool:
    delimiter = head.delimiter if delimiter == "," and head.delimiter == ";" else delimiter
    cells = {cell.strip().strip('"') for cell in head.first.split(delimiter)}
    if {"context", "response"} <= cells:
        return True
    if head.suffix != {"\t": ".tsv"}.get(delimiter, ".csv"):
        return False
    known = {"context", *MESSAGE_LISTS} & cells or prompt_columns(cells) or cells >= PREFERENCE
    return bool(known) and not has_turns(cells)


def _raise_missing(name: str, column: str, record: Mapping[str, Any]) -> None:
    raise BadInput(
        f"no {column!r} here, only {', '.join(map(repr, record)) or 'nothing'}.",
        hint=f"Every record needs a context and a response; name the column with "
        f"--column {name}=NAME, or skip such records with --skip-bad.",
    )


def _text(value: Any) -> str:
    if isinstance(value, bool | list | tuple | Mapping):
        raise BadInput(f"expected a text or a number as a name, found {value!r:.60}.")
    return "" if value is None or value != value else str(value)  # NaN is missing, as in pandas
