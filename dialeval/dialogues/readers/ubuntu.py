"""Ubuntu support: the Ubuntu Dialogue Corpus in its shapes, and threads with named speakers."""

import csv
from collections.abc import Iterator, Mapping
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import (
    as_object,
    key_field,
    list_field,
    non_empty,
    replies_by,
    text_field,
)
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn, alternate

_END_OF_UTTERANCE, _END_OF_TURN = "__eou__", "__eot__"
_PAIRS = ["Context", "Utterance", "Label"]
_CHOICES = ["Context", "Ground Truth Utterance"]
_LABELS = {"1": "human", "0": "random"}


def _recognise_lines(head: Head) -> bool:
    return _END_OF_TURN in head.first and "\t" not in head.first and head.first[0] not in "{["


@reader(
    "ubuntu",
    example="my wifi is gone __eou__ any idea ? __eou__ __eot__ try rfkill list __eou__ __eot__",
    recognise=_recognise_lines,
    by_line=True,
)
def read_ubuntu(source: Source) -> Iterator[Dialogue]:
    """Ubuntu Dialogue Corpus: a dialogue a line, with __eou__ and __eot__ at the ends."""
    for number, line in source.filled_lines():
        with source.record(number):
            yield Dialogue.from_texts(_turns(line), corpus="ubuntu", language="en")


def _turns(text: str) -> list[str]:
    text = text.strip()
    if not text.endswith((_END_OF_TURN, _END_OF_UTTERANCE)):
        raise BadInput(f"expected {_END_OF_UTTERANCE} or {_END_OF_TURN} at the end of the text.")
    return non_empty(map(_utterances, text.removesuffix(_END_OF_TURN).split(_END_OF_TURN)))


def _utterances(turn: str) -> str:
    return " ".join(filter(None, (part.strip() for part in turn.split(_END_OF_UTTERANCE))))


def _recognise_csv(head: Head) -> bool:
    return _header(head.first)[:2] in (_PAIRS[:2], _CHOICES)


def _header(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(",")]


@reader(
    "ubuntu-csv",
    example="Context,Utterance,Label\n"
    "my wifi is gone __eou__ __eot__ since when ? __eou__ __eot__,since the update __eou__,1",
    recognise=_recognise_csv,
    whole=False,
)
def read_ubuntu_csv(source: Source) -> Iterator[Dialogue]:
    """Ubuntu Dialogue Corpus v2: train.csv with labels, or test.csv with nine distractors."""
    rows = _rows(source)
    names = next(rows, (1, []))[1]
    if names[:3] != _PAIRS and names[:2] != _CHOICES:
        expected = f"{','.join(_PAIRS)} or {','.join(_CHOICES)},Distractor_0,..."
        raise BadInput(f"expected the header {expected}, found {','.join(names):.60}.", source.path)
    for number, cells in rows:
        with source.record(number):
            if len(cells) != len(names):
                raise BadInput(f"expected {len(names)} cells, found {len(cells)}.")
            row = dict(zip(names, cells, strict=True))
            yield _from_label(row) if "Label" in row else _choices(row)


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    table = csv.reader((line + "\n" for _, line in source.lines()), strict=True)
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            message = f"expected a table with quoted cells, but {error}."
            source.report(BadInput(message, source.path, table.line_num, "Quote it as CSV does."))
        else:
            if cells:
                yield table.line_num, cells


def _from_label(row: Mapping[str, str]) -> Dialogue:
    author = _LABELS.get(row["Label"].strip().removesuffix(".0"))
    if author is None:
        raise BadInput(f"expected 1 or 0 as Label, found {row['Label']!r:.60}.")
    return _with_replies(row, (Reply(author, _utterances(row["Utterance"])),))


def _choices(row: Mapping[str, str]) -> Dialogue:
    truth = Reply("human", _utterances(row["Ground Truth Utterance"]))
    others = [_utterances(cell) for name, cell in row.items() if name.startswith("Distractor_")]
    return _with_replies(row, (truth, *replies_by("random", others)))


def _with_replies(row: Mapping[str, str], replies: tuple[Reply, ...]) -> Dialogue:
    turns = alternate(_turns(row["Context"]))
    return Dialogue(turns, corpus="ubuntu", language="en", replies=replies)


def _recognise_json(head: Head) -> bool:
    return {"dialogue_id", "timestamp", "text"} <= head.keys and not {"turns"} & head.keys


@reader(
    "ubuntu-json",
    example='[{"dialogue_id": "3/1.tsv", "timestamp": "2005-01-01T10:00:00.000Z", '
    '"text": "hi\\nhello, what broke?"}]',
    recognise=_recognise_json,
)
def read_ubuntu_json(source: Source) -> Iterator[Dialogue]:
    """Ubuntu Dialogue Corpus as a JSON array: utterances separated by newlines, speakers lost."""
    for number, record in source.json_records():
        with source.record(number):
            record = as_object(record, "a dialogue")
            lines = [line.strip() for line in text_field(record, "text").split("\n")]
            yield Dialogue(
                turns=tuple(Turn("?", line) for line in non_empty(filter(None, lines))),
                id=key_field(record, "dialogue_id"),
                corpus="ubuntu",
                language="en",
                extra={"timestamp": record.get("timestamp")},
            )


def _recognise_threads(head: Head) -> bool:
    is_other = {"context", "messages", "personas", "parentId", "complete"} & head.keys
    return {"turns", "speaker", "text"} <= head.keys and not is_other


@reader(
    "threads",
    example='{"dialogue_id": "t1", "turns": [{"speaker": "A", "text": "it hangs"}, '
    '{"speaker": "B", "text": "since when?"}]}',
    recognise=_recognise_threads,
    by_line=True,
)
def read_threads(source: Source) -> Iterator[Dialogue]:
    """Threads: JSON lines with `dialogue_id` and `turns` of speaker and text."""
    for number, record in source.json_records():
        with source.record(number):
            yield _thread(as_object(record, "a thread"), source)


def _thread(record: Mapping[str, Any], source: Source) -> Dialogue:
    fields = ("dialogue_id", "turns", "corpus", "language")
    turns = [_turn(as_object(turn, "a turn")) for turn in list_field(record, "turns")]
    non_empty(turn.text for turn in turns)
    return Dialogue(
        turns=tuple(turns),
        id=key_field(record, "dialogue_id") if "dialogue_id" in record else "",
        corpus=text_field(record, "corpus") if "corpus" in record else "",
        language=text_field(record, "language") if "language" in record else None,
        extra=source.further({key: record[key] for key in record if key not in fields}),
    )


def _turn(turn: Mapping[str, Any]) -> Turn:
    author = text_field(turn, "author") if "author" in turn else "human"
    return Turn(key_field(turn, "speaker"), text_field(turn, "text"), author)
