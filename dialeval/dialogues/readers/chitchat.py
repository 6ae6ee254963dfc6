"""The Chit Chat Challenge: casual conversations between two people, from a package on PyPI."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import as_list, as_object, document, list_field, text_field
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Turn, merge_by_speaker


def chitchat_path() -> Path:
    """The data file in the installed package `chitchat-dataset`, which is not imported."""
    spec = find_spec("chitchat_dataset")
    path = Path(spec.origin).parent / "dataset.json" if spec and spec.origin else None
    if path is None or not path.is_file():
        message = "the corpus `chitchat` is not installed."
        raise BadInput(message, hint="Install it: pip install chitchat-dataset")
    return path


def _recognise(head: Head) -> bool:
    return {"messages", "text", "sender"} <= head.keys and head.first.lstrip().startswith("{")


@reader(
    "chitchat",
    example='{"c1": {"messages": [[{"text": "hey", "sender": "s1"}], '
    '[{"text": "hi!", "sender": "s2"}, {"text": "all well?", "sender": "s2"}]]}}',
    recognise=_recognise,
)
def read_chitchat(source: Source) -> Iterator[Dialogue]:
    """Chitchat: the JSON object of the package `chitchat-dataset`, conversations by key."""
    conversations = document(source, dict, "a JSON object")
    for number, (key, conversation) in enumerate(conversations.items(), 1):
        with source.record(number):
            messages = list(_messages(as_object(conversation, f"conversation {key}")))
            turns = merge_by_speaker(message for message in messages if message.text)
            if not turns:
                raise BadInput(f"conversation {key} has no message with text.")
            yield Dialogue(
                turns=_with_letters(turns),
                id=key,
                corpus="chitchat",
                language="en",
                units=len(messages),
            )


def _messages(conversation: Mapping[str, Any]) -> Iterator[Turn]:
    for group in list_field(conversation, "messages"):
        for message in as_list(group, "group of messages"):
            message = as_object(message, "a message")
            text = " ".join(text_field(message, "text").split())
            yield Turn(text_field(message, "sender"), text)


def _with_letters(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    names = {
        sender: chr(ord("A") + at)
        for at, sender in enumerate(dict.fromkeys(turn.speaker for turn in turns))
    }
    return tuple(Turn(names[turn.speaker], turn.text) for turn in turns)
