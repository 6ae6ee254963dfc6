"""Chats of people in CoCoA's format, from which the neural agent learns how people speak.

A chat about mutual friends has everything: items, utterances and selections. A negotiation (Deal or
No Deal) has items and utterances; what people select there is a division of all items and no item,
so such selections are left out, and the agent learns to select from other dialogues.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialeval.errors import BadInput
from dialeval.protocols.cocoa.environment import Act, Dialogue
from dialeval.protocols.cocoa.scenarios import Item, KnowledgeBases, Schema

_HINT = "Give a JSON array of chats with `scenario`, `events` and `agents`, as CoCoA writes them."


@dataclass(frozen=True)
class HumanChats:
    """Chats of people, and the attributes and values that they speak of.

    Args:
        dialogues (`tuple[Dialogue, ...]`):
            The chats, without those in which nobody says anything.
        schema (`Schema`):
            Attributes of their items; values that are numbers are not looked for in utterances.
        selections, other_selections (`int`):
            Selections of an item, and selections of something else, which are left out.
    """

    dialogues: tuple[Dialogue, ...]
    schema: Schema
    selections: int
    other_selections: int


def read_chats(paths: Sequence[Path | str], taken: Collection[str] = ()) -> HumanChats:
    """Read chats of CoCoA's JSON files.

    Args:
        paths (`Sequence`):
            The files.
        taken (`Collection[str]`, *optional*):
            Names of attributes that mean something else already; the chats' get a suffix.

    Returns:
        `HumanChats`: With plurals of values written in the singular, so that they are found.

    Raises:
        BadInput: A file has other content, or nobody says anything in it.
    """
    dialogues: list[Dialogue] = []
    values: dict[str, dict[str, None]] = {}
    selected = other = 0
    for path in paths:
        for number, record in enumerate(_records(Path(path)), 1):
            try:
                knowledge = _knowledge(record, taken)
                names = _linked_values(knowledge, values)
                acts = tuple(_acts(record, knowledge, names))
                chosen = sum(event.get("action") == "select" for event in record["events"])
            except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
                raise BadInput(f"expected a chat, but {error!r}.", path, number, _HINT) from None
            kept = sum(act.item is not None for _, act, _ in acts)
            selected, other = selected + kept, other + chosen - kept
            if any(act.text for _, act, _ in acts):
                dialogues.append(Dialogue(knowledge, acts, _complete(record)))
    if not dialogues:
        raise BadInput("there are no utterances in these chats.", paths[0], hint=_HINT)
    schema = Schema({name: tuple(table) for name, table in values.items()})
    return HumanChats(tuple(dialogues), schema, selected, other)


def _records(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"could not read the chats: {error}.", path, hint=_HINT) from None
    if not isinstance(content, list):
        raise BadInput("expected a list of chats.", path, hint=_HINT)
    return content


def _knowledge(record: Mapping[str, Any], taken: Collection[str]) -> KnowledgeBases:
    first, second = record["scenario"]["kbs"]
    keys = list(first[0])
    attributes = tuple(f"{name} (chats)" if name in taken else name for name in keys)
    kbs = tuple(tuple(_item(row, keys) for row in kb) for kb in (first, second))
    return KnowledgeBases(attributes, (kbs[0], kbs[1]), str(record.get("uuid", "")))


def _item(row: Mapping[str, Any], keys: Sequence[str]) -> Item:
    return tuple(str(row[key]).lower() for key in keys)


def _linked_values(knowledge: KnowledgeBases, values: dict[str, dict[str, None]]) -> list[str]:
    """Adds the values of a chat to those of all; returns its values that are words."""
    words = []
    for column, name in enumerate(knowledge.attributes):
        table = values.setdefault(name, {})
        for value in sorted({item[column] for kb in knowledge.kbs for item in kb}):
            if not value.isdigit():
                table[value] = None
                words.append(value)
    return words


def _acts(
    record: Mapping[str, Any], knowledge: KnowledgeBases, names: Sequence[str]
) -> Iterator[tuple[int, Act, str]]:
    plural = re.compile(rf"\b({'|'.join(map(re.escape, names))})s\b", re.I) if names else None
    for event in record["events"]:
        speaker, data = int(event["agent"]), event["data"]
        if event["action"] == "message" and str(data).strip():
            text = " ".join(str(data).split())
            text = plural.sub(r"\1", text) if plural else text
            yield speaker, Act(text), text
        elif event["action"] == "select":
            item = _selected(data, knowledge.kbs[speaker])
            if item is not None:
                yield speaker, Act(item=item), ""


def _selected(data: Any, items: Sequence[Item]) -> Item | None:
    """The selected item, where the selection is one."""
    if not isinstance(data, Mapping):
        return None
    chosen = tuple(str(value).lower() for value in data.values())
    return chosen if chosen in items else None


def _complete(record: Mapping[str, Any]) -> bool:
    outcome = record.get("outcome") or {}
    return bool(outcome.get("reward"))
