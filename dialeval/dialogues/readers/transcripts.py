"""Transcripts: `Name: text` lines, under headings such as those of Meena, or without any."""

import re
from collections.abc import Iterator

from dialeval.dialogues.cutting import canonical_role
from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import is_blank, non_empty, stem
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn, merge_by_speaker

_HEADING = re.compile(r"(?:[^:]*\s)?Conversation\s+(\d+)\s*")
_SPOKEN = re.compile(r"([^\W_][\w.'-]*(?: (?:\d+|[A-Z][\w.'-]*))?):(?:\s+(.*)|)")
# Names of plain transcripts have up to four words, perhaps in bold letters of Markdown.
_NAMED = re.compile(r"(?:\*\*)?([^\W_][\w.'-]*(?: [\w.'()-]+){0,3})(?:\*\*)?:(?:\*\*)?(?:\s+(.*)|)")
_RULE = re.compile(r"\s*(?:[-=*_#~]{3,}|#+ .*|(?:[^:]*\s)?Conversation\s+\d+\s*)")
_TIME = re.compile(r"\W*\d")
_MOST_NAMES = 12


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
            turns = merge_by_speaker(_turns(lines, _SPOKEN))
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


def _turns(lines: list[str], spoken: re.Pattern[str]) -> list[Turn]:
    turns: list[Turn] = []
    for line in lines:
        match = spoken.fullmatch(line)
        if match:
            turns.append(Turn(match[1], (match[2] or "").strip(), _author(match[1])))
        elif turns:
            text = f"{turns[-1].text} {line.strip()}".strip()
            turns[-1] = Turn(turns[-1].speaker, text, turns[-1].author)
        else:
            raise BadInput(f"expected `Name: text` in the first line, found {line!r:.60}.")
    return turns


def _author(name: str) -> str:
    return "human" if name.lower().startswith(("human", "user")) else name.lower()


# Without headings


def _recognise_speakers(head: Head) -> bool:
    """Mostly `Name: text` lines of few names, and at least one of them speaks twice or answers."""
    lines = [line for line in head.lines if not _RULE.fullmatch(line)]
    if not lines or _TIME.match(lines[0]) or _recognise(head):
        return False
    matches = [match for match in map(_NAMED.fullmatch, lines) if match]
    names = {match[1].casefold() for match in matches}
    is_first = bool(matches) and bool(_NAMED.fullmatch(lines[0]))
    is_outputs = {"context", "ref"} <= names
    return (
        is_first
        and 2 <= len(names) <= min(_MOST_NAMES, max(2, len(matches) // 2 + 1))
        and len(matches) >= 0.5 * len(lines)
        and not is_outputs
    )


@reader(
    "speakers",
    example="Alice: are you coming tonight?\nBob: no, I have to work.",
    recognise=_recognise_speakers,
)
def read_speakers(source: Source) -> Iterator[Dialogue]:
    """Speakers: `Alice: ...` lines; a rule, a heading or blank lines separate conversations."""
    by_blank = _blank_lines_separate(source)
    if by_blank:
        source.note("Blank lines separate conversations: every part has two turns or more.")
    for index, (number, lines) in enumerate(_parts(source, by_blank), 1):
        with source.record(number):
            turns = _turns(lines, _NAMED)
            kept = [turn for turn in turns if turn.text]
            if len(kept) < len(turns):
                source.skipped["turns without text"] += len(turns) - len(kept)
            merged = merge_by_speaker(_with_role(turn) for turn in kept)
            if not merged:
                raise BadInput("expected at least one turn with a text, found none.")
            yield Dialogue(merged, f"{stem(source.path)}-{index}", units=len(kept), by_role=True)


def _with_role(turn: Turn) -> Turn:
    author = "assistant" if canonical_role(turn.speaker) == "assistant" else "human"
    return Turn(turn.speaker, turn.text, author)


def _blank_lines_separate(source: Source) -> bool:
    """Whether every part between blank lines is a conversation, and not a single turn."""
    trial = Source(source.path, skip_bad=True)
    sizes = [sum(bool(_NAMED.fullmatch(line)) for line in part) for _, part in _parts(trial, True)]
    return len(sizes) > 1 and min(sizes) >= 2


def _parts(source: Source, by_blank: bool) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between rules, headings and perhaps blank lines, with their first number."""
    first, lines = 0, list[str]()
    for number, line in source.lines():
        if _RULE.fullmatch(line) or (by_blank and is_blank(line)):
            if lines:
                yield first, lines
            lines = []
        elif not is_blank(line):
            first = first if lines else number
            lines.append(line)
    if lines:
        yield first, lines
