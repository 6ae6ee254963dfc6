"""The id files of Li et al. (2017): human, decoded and random replies to the same sources."""

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import stem
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn

_VOCABULARY = "movie_25000"
_UNKNOWN = "<unk>"
_AUTHORS = {"t_given_s": "human", "decoded": "machine", "random": "random"}
_NAME = re.compile(rf"({'|'.join(_AUTHORS)})_(.+)")
_LINE = re.compile(r"\s*\d+[\d ]*\|[\d ]*")

Pair = tuple[str, str]  # source, target


def _recognise(head: Head) -> bool:
    if head.path.is_dir():
        return _VOCABULARY in head.names and any(map(_NAME.match, head.names))
    complete = head.lines[:-1] or head.lines
    return bool(complete) and all(_LINE.fullmatch(line) for line in complete)


@reader(
    "li",
    example="12 5 3 2|7 4 2\n9 8 7|5 6 2",
    recognise=_recognise,
    whole=False,
)
def read_li(source: Source) -> Iterator[Dialogue]:
    """Li et al. (2017): `source ids|target ids` lines of `movie_25000`, one file or the folder."""
    folder = source.path if source.path.is_dir() else source.path.parent
    words = _vocabulary(folder / _VOCABULARY)
    if not source.path.is_dir():
        yield from _read_file(source, words)
        return
    splits = sorted(
        stem(path).removeprefix("t_given_s_") for path in folder.glob("t_given_s_*.txt")
    )
    if not splits:
        raise BadInput("expected files named t_given_s_*.txt, found none.", folder)
    for split in splits:
        yield from _read_split(source, folder, split, words)


def _vocabulary(path: Path) -> list[str]:
    if not path.is_file():
        message = f"expected the vocabulary {_VOCABULARY} next to the id files, found none."
        raise BadInput(message, path, hint="Copy it there; its line n is the word with id n.")
    words = [line.strip() for _, line in Source(path).lines()]
    return ["", _UNKNOWN, *words[1:]]  # ids start at 1, and 1 is `UNknown`


def _read_file(source: Source, words: list[str]) -> Iterator[Dialogue]:
    match = _NAME.fullmatch(stem(source.path))
    author, split = (_AUTHORS[match[1]], match[2]) if match else ("human", stem(source.path))
    for number, line in source.filled_lines():
        with source.record(number):
            text, target = _pair(line, words)
            yield _dialogue(text, {author: target}, split, number)


def _read_split(source: Source, folder: Path, split: str, words: list[str]) -> Iterator[Dialogue]:
    members = [_member(source, folder, f"{kind}_{split}.txt") for kind in _AUTHORS]
    for rows in zip_longest(*(_pairs(member, words) for member in members)):
        number = next(row[0] for row in rows if row)
        with members[0].record(number):
            if not all(rows):
                raise BadInput(f"expected as many lines in {_names(members)}, found fewer in some.")
            pairs = [pair for _, pair in rows if pair is not None]
            if len(pairs) < len(rows):
                continue  # reported where it was read
            if len({text for text, _ in pairs}) > 1:
                raise BadInput(f"expected one source in {_names(members)}, found different ones.")
            targets = zip(_AUTHORS.values(), (target for _, target in pairs), strict=True)
            yield _dialogue(pairs[0][0], dict(targets), split, number)


def _pairs(source: Source, words: list[str]) -> Iterator[tuple[int, Pair | None]]:
    for number, line in source.filled_lines():
        pair = None
        with source.record(number):
            pair = _pair(line, words)
        yield number, pair


def _names(members: list[Source]) -> str:
    return ", ".join(member.path.name for member in members)


def _member(source: Source, folder: Path, name: str) -> Source:
    if not (folder / name).is_file():
        raise BadInput(f"expected {name} in the folder, found none.", folder)
    return source.inside(folder / name)


def _pair(line: str, words: list[str]) -> Pair:
    source, bar, target = line.partition("|")
    if not bar:
        raise BadInput(f"expected `source ids|target ids`, found {line!r:.60}.")
    text = _words(source, words)
    if not text:
        raise BadInput("expected ids before the bar, found none.")
    return text, _words(target, words)


def _words(ids: str, words: list[str]) -> str:
    return " ".join(filter(None, (_word(id, words) for id in ids.split())))


def _word(id: str, words: list[str]) -> str:
    if not re.fullmatch(r"[0-9]{1,9}", id) or not 0 < int(id) < len(words):
        raise BadInput(f"expected ids from 1 to {len(words) - 1}, found {id!r:.60}.")
    return words[int(id)]


def _dialogue(text: str, targets: dict[str, str], split: str, number: int) -> Dialogue:
    id = f"{split}-{number}"
    return Dialogue(
        turns=(Turn("A", text),),
        corpus="li2017",
        language="en",
        replies=tuple(Reply(author, target, id) for author, target in targets.items()),
        extra={"split": split},
    )
