"""Exports of messengers: WhatsApp and other lines with times, Slack, Telegram and Discord."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from dialeval.dialogues.cutting import canonical_role
from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.messages import message_text
from dialeval.dialogues.readers.records import as_object, stem
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn, merge_by_speaker

GAP = timedelta(hours=6)
"""Silence after which a message begins a new conversation."""
_NOTE = f"Messages more than {GAP.seconds // 3600} hours apart begin a new conversation."

_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\ufeff]")
_SPACE = re.compile("[\u00a0\u202f]")
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\.\d+)?(?:\s?[ap]\.?\s?m\.?)?"
_STAMPED = re.compile(
    rf"\[?(?:({_DATE}),?[T\s]\s*)?({_CLOCK})(?:Z|[+-]\d\d:?\d\d)?\]?(?:\s+-)?\s+(.*)", re.I
)
_SPOKEN = re.compile(r"<([^<>]{1,60})>\s*(.*)|([^:<>]{1,60}?):(?:\s+(.*)|)")
_NO_WORDS = re.compile(
    r"<media omitted>|<attached: .*>"
    r"|(?:image|video|audio|sticker|gif|document|contact card) omitted"
    r"|.* \(file attached\)|(?:this message was|you) deleted(?: this message)?\.?"
    r"|null|missed (?:voice|video) call.*|messages (?:and calls )?are end-to-end encrypted.*"
    r"|messages to this (?:chat|group) (?:and calls )?are now secured with end-to-end.*",
    re.I,
)
_EDITED = re.compile(r"\s*<this message was edited>\s*\Z", re.I)
_MENTION = re.compile(r"<@(\w+)(?:\|[^>]*)?>")


@dataclass(frozen=True)
class _Message:
    """A message of an export: its possible times, since 1/2 may be January or February."""

    times: tuple[datetime, ...]
    speaker: str
    text: str
    line: int
    thread: str = ""


# Lines with times


def _stamped(line: str) -> re.Match[str] | None:
    return _STAMPED.fullmatch(_SPACE.sub(" ", _MARKS.sub("", line)))


def _recognise(head: Head) -> bool:
    matches = [match for match in map(_stamped, head.lines) if match]
    spoken = [_SPOKEN.fullmatch(match[3]) for match in matches]
    first = bool(matches) and _stamped(head.first) is not None
    return first and sum(map(bool, spoken)) >= max(2, len(head.lines) // 4)


@reader(
    "messenger",
    example="[31/12/2025, 22:15:03] Ann: are you coming?\n[31/12/2025, 22:16:40] Bo: on my way",
    recognise=_recognise,
)
def read_messenger(source: Source) -> Iterator[Dialogue]:
    """Messages with times, as WhatsApp exports them: `[31/12/2025, 22:15:03] Ann: hi`."""
    yield from _dialogues(_lines(source), source)


def _lines(source: Source) -> Iterator[_Message]:
    waiting: _Message | None = None
    after_notice = False
    for number, line in source.filled_lines():
        match = _stamped(line)
        if not match:  # a message or a notice goes on
            if waiting is not None:
                text = f"{waiting.text} {line.strip()}"
                waiting = _Message(waiting.times, waiting.speaker, text, waiting.line)
            elif not after_notice:
                with source.record(number):
                    raise BadInput(f"expected a message with its time, found {line!r:.60}.")
            continue
        if waiting:
            yield waiting
        spoken = _SPOKEN.fullmatch(match[3])
        after_notice = not spoken
        if not spoken:
            source.skipped["notices"] += 1
            waiting = None
            continue
        speaker, text = (spoken[1], spoken[2]) if spoken[1] else (spoken[3], spoken[4])
        times = _times(match[1], match[2])
        waiting = _Message(times, speaker.strip(), (text or "").strip(), number)
    if waiting:
        yield waiting


@cache
def _days(date: str) -> tuple[datetime, ...]:
    """What a date can mean: day, month and year in any usual order."""
    parts = [int(part) for part in re.split(r"[./-]", date)]
    if parts[0] > 31:
        orders: tuple[tuple[int, int, int], ...] = ((0, 1, 2),)
    else:
        orders = ((2, 1, 0), (2, 0, 1))
    days = []
    for year, month, day in orders:
        with suppress(ValueError):
            full = parts[year] if parts[year] > 99 else 2000 + parts[year]
            days.append(datetime(full, parts[month], parts[day]))
    return tuple(days)


def _times(date: str | None, clock: str) -> tuple[datetime, ...]:
    hour, minute, *rest = (int(part) for part in re.findall(r"\d+", clock)[:3])
    letters = re.search(r"[ap]", clock, re.I)
    if letters:
        hour = hour % 12 + (12 if letters[0].lower() == "p" else 0)
    second = rest[0] if rest else 0
    # Without a date, a message after midnight may be of the next day.
    days = _days(date) if date else (datetime(2000, 1, 1), datetime(2000, 1, 2))
    try:
        time = timedelta(hours=hour, minutes=minute, seconds=second)
        return tuple(day + time for day in days)
    except (OverflowError, ValueError):
        return ()


# JSON


def _is_slack(head: Head) -> bool:
    return {"type", "ts", "text"} <= head.fields


def _is_listing(head: Head) -> bool:
    is_telegram = "messages" in head.fields and {"from_id", "date"} <= head.keys
    return is_telegram or {"guild", "channel", "messages"} <= head.fields


@reader(
    "slack",
    example='[{"type": "message", "user": "U1", "text": "is it up?", "ts": "1767222903.000100"},\n'
    ' {"type": "message", "user": "U2", "text": "yes, since noon", "ts": "1767222990.000200"}]',
    recognise=_is_slack,
)
def read_slack(source: Source) -> Iterator[Dialogue]:
    """Slack: the JSON of a channel's day, threads apart; names come from `users.json`."""
    names = _slack_names(source.path)
    yield from _dialogues(_slack_messages(source, names), source)


def _slack_names(path: Path) -> dict[str, str]:
    """Names of users by their ids, where the export has them beside its channels."""
    for folder in (path.parent, path.parent.parent):
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            users = json.loads((folder / "users.json").read_text(encoding="utf-8"))
            return {user["id"]: user.get("real_name") or user["name"] for user in users}
    return {}


def _slack_messages(source: Source, names: Mapping[str, str]) -> Iterator[_Message]:
    for number, item in source.json_records():
        with source.record(number):
            record = as_object(item, "a message")
            user = record.get("user") or record.get("bot_id") or record.get("username")
            if record.get("subtype") not in (None, "bot_message", "thread_broadcast") or not user:
                source.skipped["notices"] += 1
                continue
            profile = record.get("user_profile")
            name = profile.get("real_name") if isinstance(profile, Mapping) else None
            text = _MENTION.sub(lambda match: "@" + names.get(match[1], match[1]),
                                str(record.get("text") or ""))  # fmt: skip
            time = _from_seconds(record.get("ts"))
            thread = str(record.get("thread_ts") or "")
            speaker = str(name or names.get(str(user), user))
            yield _Message((time,) if time else (), speaker, html.unescape(text), number, thread)


def _from_seconds(value: Any) -> datetime | None:
    with suppress(TypeError, ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(float(value))
    return None


@reader(
    "message-list",
    example='{"name": "Ann", "type": "personal_chat", "messages": [{"type": "message", "from_id": '
    '"u1",\n "from": "Ann", "date": "2025-12-31T22:15:03", "text": "hi"}]}',
    recognise=_is_listing,
)
def read_message_list(source: Source) -> Iterator[Dialogue]:
    """Telegram's and Discord's JSON: `messages` with times and names, streamed."""
    yield from _dialogues(_listed_messages(source), source)


def _listed_messages(source: Source) -> Iterator[_Message]:
    for number, item in source.json_items("messages"):
        with source.record(number):
            record = as_object(item, "a message")
            author = record.get("author")
            speaker = author.get("name") if isinstance(author, Mapping) else record.get("from")
            if not speaker:
                source.skipped["notices"] += 1
                continue
            text = message_text(record.get("content", record.get("text"))) or ""
            time = None
            with suppress(TypeError, ValueError):
                stamp = str(record.get("date", record.get("timestamp")))
                time = datetime.fromisoformat(stamp).replace(tzinfo=None)
            yield _Message((time,) if time else (), str(speaker), str(text), number)


# Conversations


def _dialogues(messages: Iterable[_Message], source: Source) -> Iterator[Dialogue]:
    """Conversations of messages: a thread, or what is said without a long silence."""
    source.note(_NOTE)
    threads: dict[str, list[_Message]] = {}
    run: list[_Message] = []
    index = 0
    for message in messages:
        if _NO_WORDS.fullmatch(message.text) or not message.text.strip():
            source.skipped["messages without text"] += 1
        elif message.thread:
            threads.setdefault(message.thread, []).append(message)
        else:
            if run and _is_apart(run[-1], message):
                index += 1
                yield from _dialogue(run, f"{stem(source.path)}-{index}", source)
                run = []
            run.append(message)
    for key, part in [(f"{index + 1}", run), *threads.items()]:
        if part:
            yield from _dialogue(part, f"{stem(source.path)}-{key}", source)


def _is_apart(one: _Message, other: _Message) -> bool:
    """Whether two messages are far apart, however their dates are read."""
    gaps = [abs(later - earlier) for earlier, later in product(one.times, other.times)]
    return bool(gaps) and min(gaps) > GAP


def _dialogue(messages: list[_Message], id: str, source: Source) -> Iterator[Dialogue]:
    with source.record(messages[0].line):
        turns = merge_by_speaker(_turn(message) for message in messages)
        yield Dialogue(turns, id, units=len(messages), by_role=True)


def _turn(message: _Message) -> Turn:
    author = "assistant" if canonical_role(message.speaker) == "assistant" else "human"
    return Turn(message.speaker, _EDITED.sub("", message.text), author)
