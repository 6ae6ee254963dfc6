"""Chat messages: which of them are turns, by whom, and conversations made of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from dialeval.dialogues.cutting import NOT_SPOKEN, canonical_role
from dialeval.dialogues.readers.records import parsed_cell
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn

MESSAGE_LISTS = ("messages", "conversations", "conversation")
IDS = ("dialogue_id", "conversation_id", "conversation_hash", "id", "prompt_id")
_ROLE_KEYS = ("role", "from", "speaker")
_TEXT_KEYS = ("content", "value", "text")
_NOT_WORDS = ("tool_use", "tool_result", "thinking", "reasoning")


def chat_record(record: Any, source: Source) -> Dialogue:
    """A whole conversation from a list of messages, such as `messages` with role and content."""
    messages = isinstance(record, Mapping) and next(
        (parsed_cell(record[name]) for name in MESSAGE_LISTS if record.get(name)), None
    )
    if not isinstance(messages, (list, tuple)):
        raise BadInput('expected a list of {"role", "content"} under "messages".')
    taken = {*MESSAGE_LISTS, *IDS, "corpus", "language", "author"}
    return conversation(
        messages,
        source,
        id=conversation_id(record),
        machine=_text(record.get("author")) or _text(record.get("model")),
        corpus=_text(record.get("corpus")),
        language=_text(record.get("language")) or None,
        extra=source.further({key: record[key] for key in record if key not in taken}),
    )


def conversation_id(record: Mapping[str, Any]) -> str:
    """The key of a conversation under one of its usual names; empty if there is none.

    Examples:
        >>> conversation_id({"conversation_hash": "ab12"})
        'ab12'
    """
    return next((str(record[name]) for name in IDS if record.get(name) not in (None, "")), "")


def conversation(
    messages: Sequence[Any], source: Source, *, machine: str = "", **fields: Any
) -> Dialogue:
    """A dialogue of chat messages; what nobody says is skipped and counted.

    Args:
        messages (`Sequence`):
            Messages with a role and a text.
        source (`Source`):
            Where skipped messages are counted.
        machine (`str`, *optional*):
            Author of the assistant's messages, by convention.
        fields:
            Further fields of the dialogue.

    Returns:
        `Dialogue`: Its authors are a convention, unless every message states its own.
    """
    turns: list[Turn] = []
    stated = True
    for number, message in enumerate(messages, 1):
        turn = _turn(message, machine or "assistant", source, is_last=number == len(messages))
        if turn:
            turns.append(turn)
            stated = stated and bool(plain_message(message).get("author"))
    if not turns:
        raise BadInput("expected at least one message with a text, found none.")
    return Dialogue(tuple(turns), by_role=not stated, **fields)


def _turn(message: Any, machine: str, source: Source, is_last: bool) -> Turn | None:
    """The turn of a message; nothing for a system prompt, a tool, or a message without words."""
    message = plain_message(message)
    role = _first(message, _ROLE_KEYS)
    if type(role) is int:  # a speaker's number
        role = str(role)
    text = message_text(_first(message, _TEXT_KEYS))
    if not role or not isinstance(role, str):
        raise BadInput(f"expected a message with a role, found {message!r:.60}.")
    kind = _skipped_kind(role, text, message, is_last)
    if kind:
        source.skipped[kind] += 1
        return None
    if not isinstance(text, str):
        raise BadInput(f'expected {{"role", "content"}} with texts, found {message!r:.60}.')
    author = machine if canonical_role(role) == "assistant" else "human"
    return Turn(role, text, _text(message.get("author")) or author)


def _skipped_kind(role: str, text: Any, message: Mapping[str, Any], is_last: bool) -> str:
    """Why a message is no turn; empty where it is one."""
    name = role.strip().casefold()
    if name in ("system", "developer"):
        return f"{name} messages"
    if name in NOT_SPOKEN:
        return "tool messages"
    is_empty = text is None or (isinstance(text, str) and not text.strip())
    if is_empty and (message.get("tool_calls") or message.get("function_call")):
        return "tool calls"
    if text is None or (is_empty and not is_last):  # a last one is an empty answer
        return "messages without text"
    return ""


def plain_message(item: Any) -> Mapping[str, Any]:
    """A message with role and content, also from the forms in which LangChain writes one.

    Examples:
        >>> plain_message(["human", "hi"])
        {'role': 'human', 'content': 'hi'}
        >>> plain_message({"type": "ai", "content": "hello"})["role"]
        'ai'
    """
    if isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], str):
        return {"role": item[0], "content": item[1]}
    if not isinstance(item, Mapping):
        raise BadInput(f'expected {{"role", "content"}}, found {item!r:.60}.')
    if item.get("lc") and isinstance(item.get("kwargs"), Mapping):  # a serialised object
        names = item.get("id")
        kind = str(names[-1]) if isinstance(names, list) and names else ""
        return {"role": _without_suffix(kind), **item["kwargs"]}
    if isinstance(item.get("data"), Mapping) and "type" in item:
        return {"role": item["type"], **item["data"]}
    if "role" not in item and isinstance(item.get("type"), str) and "content" in item:
        return {**item, "role": _without_suffix(item["type"])}
    return item


def _without_suffix(kind: str) -> str:
    return kind.removesuffix("Chunk").removesuffix("Message").lower()


def message_text(content: Any) -> Any:
    """The words of a message: a text, or the text parts of a multimodal one; `None` without any.

    Examples:
        >>> message_text([{"type": "text", "text": "see"}, {"type": "image_url"}])
        'see'
    """
    if isinstance(content, list | tuple):
        parts = [item if isinstance(item, str) else _part_text(item) for item in content]
        words = [part for part in parts if part]
        return " ".join(words) if words else None
    return content


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping) or part.get("type") in _NOT_WORDS:
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else ""


def _first(message: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((message[name] for name in names if name in message), None)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
