"""Negotiations: CoCoA's JSON (He et al., 2017) and FAIR's text (Lewis et al., 2017)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import (
    as_object,
    as_text,
    key_field,
    list_field,
    non_empty,
    text_field,
)
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn, merge_by_speaker

_FAIR_LINE = re.compile(
    r"(?P<input>(?:\d{1,9} ){6})(?P<talk>.*?)(?:YOU|THEM): <selection> (?P<result>.*)"
)
_FAIR_TURN = re.compile(r"(?P<speaker>YOU|THEM): (?P<text>.*)")


def _recognise_cocoa(head: Head) -> bool:
    return {"events", "agent", "action"} <= head.keys


@reader(
    "cocoa",
    example='[{"uuid": "E_1", "scenario": {"kbs": []}, "agents": {"0": "human", "1": "human"}, '
    '"events": [{"agent": 0, "action": "message", "data": "the hat is mine"}, '
    '{"agent": 1, "action": "message", "data": "fine , the books then"}]}]',
    recognise=_recognise_cocoa,
)
def read_cocoa(source: Source) -> Iterator[Dialogue]:
    """CoCoA: a JSON array of chats with events, a scenario and an outcome."""
    for number, record in source.json_records():
        with source.record(number):
            record = as_object(record, "a chat")
            turns = tuple(_messages(record))
            if turns:
                yield Dialogue(
                    turns=merge_by_speaker(turns),
                    id=key_field(record, "uuid"),
                    corpus="cocoa",
                    language="en",
                    extra=_cocoa_extra(record),
                )


def _messages(record: Mapping[str, Any]) -> Iterator[Turn]:
    agents = as_object(record.get("agents") or {}, "'agents'")
    for event in list_field(record, "events"):
        event = as_object(event, "an event")
        if text_field(event, "action") != "message":
            continue
        speaker = key_field(event, "agent")
        author = as_text(agents.get(speaker) or "human", f"agent {speaker}")
        text = " ".join(text_field(event, "data").split())
        if text:
            yield Turn(speaker, text, author)


def _cocoa_extra(record: Mapping[str, Any]) -> dict[str, Any]:
    scenario = as_object(record.get("scenario") or {}, "'scenario'")
    extra = {name: record.get(name) for name in ("events", "outcome", "scenario_uuid")}
    extra["kbs"] = scenario.get("kbs")
    return {name: value for name, value in extra.items() if value is not None}


@reader(
    "fair",
    example="1 0 4 2 1 2 YOU: hats for me ? <eos> THEM: ok <eos> "
    "YOU: <selection> item0=0 item1=4 item2=0 <eos> reward=8 agree 1 4 4 1 1 2",
    recognise=lambda head: bool(_FAIR_LINE.fullmatch(head.first.strip())),
    by_line=True,
)
def read_fair(source: Source) -> Iterator[Dialogue]:
    """FAIR negotiations: counts and values, `YOU:` and `THEM:` turns, and a `<selection>`.

    Each dialogue occurs once for each side. Both views have the same turns by A, the first speaker,
    and B, so that they count as duplicates. `agreed` means that a deal was made: both sides
    choosing "no agreement", which the file marks `agree`, is not one.
    """
    for number, line in source.filled_lines():
        with source.record(number):
            match = _FAIR_LINE.fullmatch(line.strip())
            if not match:
                raise BadInput("expected 6 numbers, YOU: and THEM: turns, and a <selection>.")
            yield Dialogue(
                turns=_talk(match["talk"]),
                corpus="fair",
                language="en",
                extra={
                    "input": [int(number) for number in match["input"].split()],
                    "agreed": bool(re.search(r"reward=\d+ agree\b", match["result"])),
                },
            )


def _talk(talk: str) -> tuple[Turn, ...]:
    parts = [part.strip() for part in talk.split("<eos>")]
    if parts.pop():
        raise BadInput("expected <eos> at the end of each turn.")
    turns = [_fair_turn(part) for part in parts]
    texts = non_empty(text for _, text in turns)
    first = turns[0][0]
    speakers = ("A" if speaker == first else "B" for speaker, _ in turns)
    return tuple(Turn(speaker, text) for speaker, text in zip(speakers, texts, strict=True))


def _fair_turn(part: str) -> tuple[str, str]:
    match = _FAIR_TURN.fullmatch(part)
    if match is None:
        raise BadInput(f"expected YOU: or THEM: and a text, found {part!r:.60}.")
    return match["speaker"], match["text"]
