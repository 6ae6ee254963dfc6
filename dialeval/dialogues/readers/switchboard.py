"""Switchboard dialogue acts: telephone calls in slash units."""

import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import stem
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn, merge_by_speaker

_UNIT = re.compile(r"[^|\s]{1,20}\|[^|]*\|[^|\s]+")
_MARKER = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|\(\(.*?\)\)")
_NON_VERBAL = "x"


def _recognise(head: Head) -> bool:
    if not head.path.is_dir():
        return _is_call(head)
    # Two levels and twenty files are enough to recognise a corpus, even in a deep folder.
    below = chain(head.path.glob("*.txt"), head.path.glob("*/*.txt"))
    files = list(islice(below, 20))
    return bool(files) and all(_is_call(Head(path, size=4096)) for path in files)


def _is_call(head: Head) -> bool:
    complete = head.lines[:-1] or head.lines
    return bool(complete) and all(_UNIT.fullmatch(line) for line in complete)


@reader(
    "switchboard",
    example="A|Do you keep a garden?|qy\nB|Uh-huh,|b\nB|mostly beans.|sd\nA|Oh, nice.|ba",
    recognise=_recognise,
)
def read_switchboard(source: Source) -> Iterator[Dialogue]:
    """Switchboard: `speaker|utterance|act` lines, one call a .txt file, or a folder of them."""
    for path in _calls(source.path):
        call = source.inside(path)
        units = list(_units(call))
        with call.record():
            yield _call(units, path)


def _calls(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    paths = sorted(path.rglob("*.txt"))
    if not paths:
        raise BadInput("expected .txt files in the folder, found none.", path)
    return paths


def _units(source: Source) -> Iterator[Turn]:
    for number, line in source.filled_lines():
        with source.record(number):
            yield from _spoken(line)


def _call(units: list[Turn], path: Path) -> Dialogue:
    if not units:
        raise BadInput("expected a call, found no utterance with words.")
    return Dialogue(
        turns=merge_by_speaker(units),
        id=f"swb-{stem(path)}",
        corpus="switchboard",
        language="en",
        units=len(units),
    )


def _spoken(line: str) -> list[Turn]:
    speaker, bar, rest = line.partition("|")
    text, second_bar, act = rest.rpartition("|")
    if not (bar and second_bar and speaker.strip()):
        raise BadInput(f"expected speaker|utterance|act, found {line!r:.60}.")
    words = any(letter.isalnum() for letter in _MARKER.sub("", text))
    is_spoken = words and act.strip() != _NON_VERBAL
    return [Turn(speaker.strip(), text.strip())] if is_spoken else []
