"""Plain text: subtitles line by line, and lists of responses, recognised by their file names."""

from collections.abc import Iterator
from itertools import groupby, islice

from dialeval.dialogues.formats import Head, formats, reader
from dialeval.dialogues.readers.records import blocks, is_blank
from dialeval.dialogues.sources import Source
from dialeval.dialogues.types import Dialogue, Reply

# Splits go by dialogue, so a film that is one dialogue could not be split at all, and one a line
# would leak: neighbouring lines share their context. Fifty lines are about a scene.
_SCENE_LINES = 50

_RESPONSE_SUFFIXES = (".tgt", ".hyp", ".ref", ".pred")
_BY_NAME = ("lines", "opensubtitles")


def _is_nothing_else(head: Head) -> bool:
    others = (format for name, format in formats().items() if name not in _BY_NAME)
    return bool(head.lines) and not any(format.fits(head) for format in others)


def _recognise_subtitles(head: Head) -> bool:
    is_named = "opensubtitles" in head.path.name.lower() and head.suffix not in _RESPONSE_SUFFIXES
    return is_named and _is_nothing_else(head)


@reader(
    "opensubtitles",
    example="Where were you last night?\nAt the harbour.\nNobody saw you there.",
    recognise=_recognise_subtitles,
)
def read_opensubtitles(source: Source) -> Iterator[Dialogue]:
    """OpenSubtitles: one utterance a line, a blank line or else every 50th line ends a dialogue."""
    longest = None if _has_blank_lines(source) else _SCENE_LINES
    for lines in _runs(source, longest):
        yield Dialogue.from_texts(lines, corpus="opensubtitles", language="en")


def _has_blank_lines(source: Source) -> bool:
    with source.open() as file:
        runs = (has_words for has_words, _ in groupby(file, key=lambda raw: bool(raw.strip())))
        return len(list(islice(filter(None, runs), 2))) == 2


def _runs(source: Source, longest: int | None) -> Iterator[list[str]]:
    if longest is None:
        for lines in blocks(source, is_blank):
            yield [line.strip() for _, line in lines]
        return
    utterances = (line.strip() for _, line in source.filled_lines())
    while run := list(islice(utterances, longest)):
        yield run


@reader(
    "lines",
    example="Fine, thanks.\nAt the station, I think.",
    recognise=lambda head: head.suffix in _RESPONSE_SUFFIXES and _is_nothing_else(head),
    by_line=True,
    whole=False,
    needs_context=False,
)
def read_lines(source: Source) -> Iterator[Dialogue]:
    """Lines: one response a line, no context; a blank line is an empty response."""
    for number, line in source.lines():
        name = f"line-{number}"
        with source.record(number):
            yield Dialogue((), id=name, replies=(Reply("human", line, id=name),))
