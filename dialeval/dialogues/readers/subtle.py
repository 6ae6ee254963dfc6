"""SubTle: pairs of subtitles, with the time between them."""

import re
from collections.abc import Iterator

from dialeval.dialogues.formats import reader
from dialeval.dialogues.readers.records import blocks, is_blank, non_empty
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue

_FIELDS = ("SubId", "DialogueId", "Diff", "I", "R")
_LINE = re.compile(rf"({'|'.join(_FIELDS)}) - ?(.*)")

# Subtitles further apart are seldom an answer to each other: Bruni and Fernández (2017, sec. 2.2)
# keep pairs that are at most one second apart.
_MAX_MILLISECONDS = 1000


@reader(
    "subtle",
    example="SubId - 7\nDialogueId - 1\nDiff - 250\nI - Who's there?\nR - Only the cat.",
    recognise=lambda head: head.first.startswith("SubId - "),
)
def read_subtle(source: Source) -> Iterator[Dialogue]:
    """SubTle: blocks of `SubId`, `DialogueId`, `Diff`, `I` and `R`, at most 1 second apart."""
    for lines in blocks(source, is_blank):
        with source.record(lines[0][0]):
            fields = _fields([line for _, line in lines])
            difference = _milliseconds(fields["Diff"])
            if difference <= _MAX_MILLISECONDS:
                yield Dialogue.from_texts(
                    non_empty([fields["I"], fields["R"]]),
                    id=f"subtle-{fields['SubId']}-{fields['DialogueId']}",
                    corpus="subtle",
                    language="en",
                    extra={"diff": difference},
                )


def _fields(lines: list[str]) -> dict[str, str]:
    pairs = [_field(line) for line in lines]
    fields = dict(pairs)
    missing = [name for name in _FIELDS if not fields.get(name)]
    if missing or len(lines) != len(_FIELDS):
        names = ", ".join(name for name, _ in pairs)
        raise BadInput(f"expected each of {', '.join(_FIELDS)} once and filled, found {names}.")
    return fields


def _field(line: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise BadInput(f"expected `Field - text`, found {line!r:.60}.")
    return match[1], match[2].strip()


def _milliseconds(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"expected milliseconds as Diff, found {text!r:.60}.") from None
