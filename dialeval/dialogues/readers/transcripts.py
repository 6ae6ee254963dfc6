"""Transcripts of whole chats, such as those of Meena (Adiwardana et al., 2020)."""

import re
from collections.abc import Iterator

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import non_empty, stem
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn, merge_by_speaker

_HEADING = re.compile(r"(?:[^:]*\s)?Conversation\s+(\d+)\s*")
_SPOKEN = re.compile(r"([^\W_][\w.'-]*(?: (?:\d+|[A-Z][\w.'-]*))?):(?:\s+(.*)|)")


def _recognise(head: Head) -> bool:
    return bool(_HEADING.fullmatch(head.first)) and any(map(_SPOKEN.fullmatch, head.lines[1:]))


@reader(
    "transcript",
    example="Robo Conversation 1\nHuman: hi\nRobo: hello, who is it?\nHuman: a friend",
    recognise=_recognise,
)
def read_transcript(source: Source) -> Iterator[Dialogue]:
    """Transcript: `Name: text` lines under headings that end with `Conversation 1`."""
    for number, key, lines in _chats(source):
        with source.record(number):
            turns = merge_by_speaker(_turns(lines))
            non_empty(turn.text for turn in turns)
            yield Dialogue(turns, f"{stem(source.path)}-{key}")


def _chats(source: Source) -> Iterator[tuple[int, str, list[str]]]:
    first, key = 0, ""
    lines: list[str] = []
    for number, line in source.filled_lines():
        heading = _HEADING.fullmatch(line)
        if heading:
            if key:
                yield first, key, lines
            first, key, lines = number, heading[1], []
        elif key:
            lines.append(line)
        else:
            with source.record(number):
                raise BadInput(f"expected a heading such as `Conversation 1`, found {line!r:.60}.")
    if key:
        yield first, key, lines


def _turns(lines: list[str]) -> list[Turn]:
    turns: list[Turn] = []
    for line in lines:
        match = _SPOKEN.fullmatch(line)
        if match:
            turns.append(Turn(match[1], (match[2] or "").strip(), _author(match[1])))
        elif turns:
            text = f"{turns[-1].text} {line.strip()}".strip()
            turns[-1] = Turn(turns[-1].speaker, text, turns[-1].author)
        else:
            raise BadInput(f"expected `Name: text` after the heading, found {line!r:.60}.")
    return turns


def _author(name: str) -> str:
    return "human" if name.lower().startswith(("human", "user")) else name.lower()
