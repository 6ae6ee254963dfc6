"""dialeval's schema and chat messages, as JSON lines, CSV, TSV, Parquet or a Hub dataset."""

import csv
import json
from collections.abc import Iterator, Mapping
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn, alternate

SCHEMA_COLUMNS = (
    "id", "dialogue_id", "corpus", "language", "context", "response", "author", "speaker",
    "source_dialogue_id", "following",
)  # fmt: skip


@reader(
    "passages",
    example='{"id": "d1-2", "dialogue_id": "d1", "context": ["hi", "hello"], "response": "bye"}',
    recognise=lambda head: {"context", "response"} <= head.keys,
    by_line=True,
    whole=False,
)
def read_passages_jsonl(source: Source) -> Iterator[Dialogue]:
    """dialeval's JSON lines: a context, a response, and its author."""
    for number, record in source.json_records():
        with source.record(number):
            yield passage_record(record, source)


@reader(
    "chat",
    example='{"messages": [{"role": "user", "content": "hi"}, '
    '{"role": "assistant", "content": "hello"}]}',
    recognise=lambda head: bool(
        {"messages", "conversations"} & head.keys and {"role", "from"} & head.keys
    ),
    by_line=True,
)
def read_chat(source: Source) -> Iterator[Dialogue]:
    """Chat messages with roles, one conversation a line."""
    for number, record in source.json_records():
        with source.record(number):
            yield chat_record(record)


@reader(
    "csv",
    example='id,context,response,author\nd1,"[""hi"", ""hello""]",bye,human',
    recognise=lambda head: _has_header(head, ","),
    whole=False,
)
def read_csv(source: Source) -> Iterator[Dialogue]:
    """CSV with our column names in its first line; a context may be one turn or a JSON list."""
    yield from _read_delimited(source, ",")


@reader(
    "tsv-table",
    example="id\tcontext\tresponse\nd1\thello\tbye",
    recognise=lambda head: _has_header(head, "\t"),
    whole=False,
)
def read_tsv_table(source: Source) -> Iterator[Dialogue]:
    """TSV with our column names in its first line."""
    yield from _read_delimited(source, "\t")


@reader(
    "parquet",
    example="(binary, with the columns of `passages` or a column `messages`)",
    recognise=lambda head: head.suffix == ".parquet",
    whole=False,
)
def read_parquet(source: Source) -> Iterator[Dialogue]:
    """Parquet with our columns or chat messages, read a batch at a time."""
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(source.path)
    except Exception as error:
        message = f"expected Parquet, but {error}."
        raise BadInput(message, source.path, hint="Write the file again.") from None
    row = 0
    for batch in file.iter_batches(batch_size=1000):
        for record in batch.to_pylist():
            row += 1
            with source.record(row):
                yield table_record(record, source)


def table_record(record: Mapping[str, Any], source: Source) -> Dialogue:
    """A row of a table that holds either a context and a response, or chat messages."""
    is_chat = "response" not in source.columns and {"messages", "conversations"} & set(record)
    return chat_record(record) if is_chat else passage_record(record, source)


def passage_record(record: Any, source: Source) -> Dialogue:
    """A context with its one reply, from a mapping with our column names or mapped ones."""
    columns = source.columns
    if not isinstance(record, Mapping):
        raise BadInput(f"expected an object with a context and a response, found {record!r:.60}.")
    values = {name: record.get(columns.get(name, name)) for name in SCHEMA_COLUMNS}
    for name in ("context", "response"):
        if values[name] is None:
            _raise_missing(name, columns.get(name, name), record)
    if not isinstance(values["response"], str):
        raise BadInput(f"expected a text as response, found {values['response']!r:.60}.")
    read = {columns.get(name, name) for name in SCHEMA_COLUMNS}
    extra = {key: value for key, value in record.items() if key not in read and value is not None}
    kept = extra.pop("extra", None)
    extra |= json.loads(kept) if isinstance(kept, str) and kept else kept or {}
    reply = Reply(
        author=_text(values["author"]) or "human",
        text=values["response"],
        id=_text(values["id"]),
        speaker=_text(values["speaker"]),
        source_dialogue_id=_text(values["source_dialogue_id"]) or None,
        extra=extra | ({"following": values["following"]} if values["following"] else {}),
    )
    return Dialogue(
        turns=_context(values["context"], source.turn_separator),
        id=_text(values["dialogue_id"]) or reply.id,
        corpus=_text(values["corpus"]),
        language=_text(values["language"]) or None,
        replies=(reply,),
    )


def chat_record(record: Any) -> Dialogue:
    """A whole conversation from `messages` with role and content (or ShareGPT's from and value)."""
    messages = isinstance(record, Mapping) and (
        record.get("messages") or record.get("conversations")
    )
    if not isinstance(messages, (list, tuple)):
        raise BadInput('expected a list of {"role", "content"} under "messages".')
    machine = _text(record.get("author")) or _text(record.get("model")) or "assistant"
    extra = {
        key: value
        for key, value in record.items()
        if key not in ("messages", "conversations", "id", "dialogue_id", "corpus", "language")
    }
    return Dialogue(
        turns=tuple(_message(message, machine) for message in messages),
        id=_text(record.get("dialogue_id")) or _text(record.get("id")),
        corpus=_text(record.get("corpus")),
        language=_text(record.get("language")) or None,
        extra=extra,
    )


def _message(message: Any, machine: str) -> Turn:
    if not isinstance(message, Mapping):
        raise BadInput(f'expected {{"role", "content"}}, found {message!r:.60}.')
    role = _text(message.get("role", message.get("from")))
    text = message.get("content", message.get("value"))
    if isinstance(text, list):  # content parts of multimodal chats: the text ones are the words
        text = " ".join(part.get("text", "") for part in text if isinstance(part, Mapping))
    if not role or not isinstance(text, str):
        raise BadInput(f'expected {{"role", "content"}} with texts, found {message!r:.60}.')
    author = machine if role in ("assistant", "gpt", "bot") else "human"
    return Turn(role, text, _text(message.get("author")) or author)


def _context(value: Any, separator: str | None) -> tuple[Turn, ...]:
    if isinstance(value, str):
        value = value.split(separator) if separator else _parsed_list(value)
    if not isinstance(value, (list, tuple)):
        raise BadInput(f"expected a list of turns as context, found {value!r:.60}.")
    speakers = alternate("" for _ in value)
    return tuple(_turn(item, turn.speaker) for item, turn in zip(value, speakers, strict=True))


def _parsed_list(cell: str) -> list[Any]:
    if cell.startswith("["):
        try:
            return json.loads(cell)
        except json.JSONDecodeError:
            return [cell]  # a turn that happens to start with a bracket
    return [cell]


def _turn(item: Any, speaker: str) -> Turn:
    if isinstance(item, str):
        return Turn(speaker, item)
    if isinstance(item, Mapping):
        text = item.get("content", item.get("text"))
        if isinstance(text, str):
            return Turn(_text(item.get("role", item.get("speaker"))) or speaker, text)
    raise BadInput(f'expected a text or {{"role", "content"}} in the context, found {item!r:.60}.')


def _read_delimited(source: Source, delimiter: str) -> Iterator[Dialogue]:
    lines = (line + "\n" for _, line in source.lines())
    rows = csv.DictReader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            message = f"expected a table with quoted cells, but {error}."
            source.report(BadInput(message, source.path, rows.line_num, "Quote it as CSV does."))
            continue
        with source.record(rows.line_num):
            if None in row:
                raise BadInput(f"expected {len(rows.fieldnames or ())} cells, found more.")
            yield table_record({k: v for k, v in row.items() if v not in (None, "")}, source)


def _has_header(head: Head, delimiter: str) -> bool:
    cells = {cell.strip().strip('"') for cell in head.first.split(delimiter)}
    return {"context", "response"} <= cells or (
        "context" in cells and head.suffix == {",": ".csv", "\t": ".tsv"}[delimiter]
    )


def _raise_missing(name: str, column: str, record: Mapping[str, Any]) -> None:
    raise BadInput(
        f"no {column!r} here, only {', '.join(map(repr, record)) or 'nothing'}.",
        hint=f"Every record needs a context and a response; name the column with "
        f"--column {name}=NAME, or skip such records with --skip-bad.",
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)
