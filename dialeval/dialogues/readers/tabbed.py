"""Tab-separated text without a header: triples, DialoGPT, DialogRPT, and contexts in general."""

import re
from collections.abc import Iterator

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import cells_of, non_empty
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, alternate

_NUMBER = re.compile(r"[-+.,\d\s]*")
_WEIGHTED = re.compile(r"(\d+(?:\.\d+)?)\s+(\S.*)")
_TURN_END = re.compile(r"_EOS_|<\|endoftext\|>")
_HEADER_NAMES = {
    "id", "context", "response", "author", "instanceid", "systemid", "judgeid", "dialogue_id",
}  # fmt: skip


def _rows(head: Head) -> list[list[str]]:
    """Cells of the complete lines; none where the first line is the header of a table."""
    rows = [line.split("\t") for line in head.lines[:-1] or head.lines]
    names = {cell.strip().strip('"').lower() for cell in rows[0]} if rows else set()
    return [] if names & _HEADER_NAMES else rows


def _is_dialogpt(head: Head) -> bool:
    rows = _rows(head)
    return bool(rows) and all(
        len(row) == 2 and all(_WEIGHTED.match(cell) for cell in row) for row in rows
    )


def _is_dialogrpt(head: Head) -> bool:
    rows = _rows(head)
    return all(len(row) == 3 for row in rows) and any(_TURN_END.search(row[0]) for row in rows)


def _is_triples(head: Head) -> bool:
    rows = _rows(head)
    has_ends = any(_TURN_END.search(line) or " EOS " in line for line in head.lines)
    return bool(rows) and not has_ends and all(_is_triple(row) for row in rows)


def _is_triple(row: list[str]) -> bool:
    return len(row) == 3 and not any(_NUMBER.fullmatch(cell) for cell in row)


def _is_tsv(head: Head) -> bool:
    rows = _rows(head)
    is_special = any(is_format(head) for is_format in (_is_dialogpt, _is_dialogrpt, _is_triples))
    return (
        head.suffix in (".tsv", ".tab", ".txt")
        and len({len(row) for row in rows}) == 1
        and len(rows[0]) > 1
        and not is_special
        and "__eou__" not in head.first
    )


@reader(
    "movietriples",
    example="is it far ?\tten minutes on foot .\tthen let us walk .",
    recognise=_is_triples,
    by_line=True,
)
def read_movietriples(source: Source) -> Iterator[Dialogue]:
    """MovieTriples: three utterances a line, separated by tabs."""
    for number, line in source.filled_lines():
        with source.record(number):
            texts = non_empty(cells_of(line, 3))
            yield Dialogue.from_texts(texts, corpus="movietriples", language="en")


@reader(
    "dialogpt",
    example="0.0 is it far ? EOS 1.0 ten minutes on foot .\t1.0 then let us walk .",
    recognise=_is_dialogpt,
    by_line=True,
    whole=False,
)
def read_dialogpt(source: Source) -> Iterator[Dialogue]:
    """DialoGPT: weighted turns joined by EOS, a tab, and the weighted response."""
    for number, line in source.filled_lines():
        with source.record(number):
            context, response = cells_of(line, 2)
            texts = [_weighted(turn)[1] for turn in context.split(" EOS ")]
            weight, text = _weighted(response)
            replies = (Reply("human", text, extra={"weight": weight}),)
            yield Dialogue(alternate(texts), replies=replies)


def _weighted(turn: str) -> tuple[float, str]:
    match = _WEIGHTED.fullmatch(turn.strip())
    if not match:
        raise BadInput(f"expected a weight and a text such as `1.0 hello`, found {turn!r:.60}.")
    return float(match[1]), match[2]


@reader(
    "dialogrpt",
    example="is it far ? _EOS_ ten minutes on foot .\tthen let us walk .\ti do not know .",
    recognise=_is_dialogrpt,
    by_line=True,
    whole=False,
)
def read_dialogrpt(source: Source) -> Iterator[Dialogue]:
    """DialogRPT: context turns separated by _EOS_ or <|endoftext|>, a human and a machine reply."""
    for number, line in source.filled_lines():
        with source.record(number):
            context, human, machine = cells_of(line, 3)
            turns = _TURN_END.split(context)
            texts = non_empty(turns[:-1] if len(turns) > 1 and not turns[-1].strip() else turns)
            replies = (Reply("human", human.strip()), Reply("machine", machine.strip()))
            yield Dialogue(alternate(texts), replies=replies)


@reader(
    "tsv",
    example="is it far ?\tten minutes on foot .",
    recognise=_is_tsv,
    by_line=True,
    whole=False,
)
def read_tsv(source: Source) -> Iterator[Dialogue]:
    """TSV without a header: context turns separated by tabs, the last cell is the response."""
    for number, line in source.filled_lines():
        with source.record(number):
            *context, response = line.split("\t")
            if not context:
                raise BadInput("expected at least 2 tab-separated cells, found 1.")
            replies = (Reply("human", response.strip()),)
            yield Dialogue(alternate(non_empty(context)), replies=replies)
