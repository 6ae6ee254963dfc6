"""Records of chat models: prompts with completions, preferences, and logs of simulations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.messages import (
    IDS,
    MESSAGE_LISTS,
    conversation,
    conversation_id,
    message_text,
    plain_message,
)
from dialeval.dialogues.readers.records import as_list, as_object, key_field, parsed_cell
from dialeval.dialogues.sources import SCHEMA_COLUMNS, BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn

_PROMPTS = (
    ("prompt", "completion"), ("prompt", "response"), ("instruction", "output"),
    ("instruction", "response"), ("question", "answer"),
)  # fmt: skip
PREFERENCE = {"chosen", "rejected"}
_SDIALOG = {"personas", "parentId", "complete", "scenario"}


def prompt_columns(fields: set[str]) -> tuple[str, str] | None:
    """The names of the prompt and of its answer, if a record has them."""
    if "context" in fields and "instruction" not in fields:
        return None
    return next((pair for pair in _PROMPTS if set(pair) <= fields), None)


def _is_prompts(head: Head) -> bool:
    is_other = {*MESSAGE_LISTS, *PREFERENCE} & head.fields
    return bool(prompt_columns(head.fields)) and not is_other


@reader(
    "prompts",
    example='{"prompt": "Is it far?", "completion": "Ten minutes on foot."}\n'
    '{"prompt": "And back?", "completion": "The same."}',
    recognise=_is_prompts,
    by_line=True,
    whole=False,
)
def read_prompts(source: Source) -> Iterator[Dialogue]:
    """Prompts with answers: `prompt` and `completion` or `response`, or Alpaca's `instruction`."""
    for number, item in source.json_records():
        with source.record(number):
            yield prompt_record(as_object(item, "a record"), source)


def prompt_record(record: Mapping[str, Any], source: Source) -> Dialogue:
    """A prompt with its one answer, from a mapping."""
    names = prompt_columns(set(record))
    if not names:
        raise BadInput(f"expected a prompt with its answer, found {', '.join(record)}.")
    turns = _prompt_turns(record[names[0]], source)
    read = {*names, *IDS, "input", *SCHEMA_COLUMNS}
    further = {key: value for key, value in record.items() if key not in read and value is not None}
    extra = record.get("input") or record.get("context")
    if names[0] == "instruction" and isinstance(extra, str) and extra.strip():
        turns = (Turn("user", f"{turns[0].text}\n{extra.strip()}"),)
    id = conversation_id(record)
    answer = answer_text(record[names[1]])
    reply = Reply("human", answer, id, "assistant", extra=source.further(further))
    return Dialogue(turns, id=id, replies=(reply,), by_role=True)


@reader(
    "preferences",
    example='{"prompt": "Is it far?", "chosen": "Ten minutes on foot.", "rejected": "An AI."}\n'
    '{"prompt": "And back?", "chosen": "The same.", "rejected": "As an AI, I cannot walk."}',
    recognise=lambda head: head.fields >= PREFERENCE,
    by_line=True,
    whole=False,
)
def read_preferences(source: Source) -> Iterator[Dialogue]:
    """Preferences as TRL has them: `chosen` is human, `rejected` a system."""
    for number, item in source.json_records():
        with source.record(number):
            yield preference_record(as_object(item, "a record"), source)


def preference_record(record: Mapping[str, Any], source: Source) -> Dialogue:
    """A prompt with a human answer and a system's, from a mapping."""
    chosen, rejected = (parsed_cell(record.get(name)) for name in ("chosen", "rejected"))
    if "prompt" in record:
        turns = _prompt_turns(record["prompt"], source)
    elif isinstance(chosen, Sequence) and not isinstance(chosen, str) and len(chosen) > 1:
        turns = _prompt_turns(chosen[:-1], source)
    else:
        raise BadInput("expected a `prompt`, or messages under `chosen`.")
    system = record.get("rejected_model")
    author = system if isinstance(system, str) and system else "rejected"
    id = conversation_id(record)
    source.note("`chosen` is read as human, `rejected` as a system.")
    replies = Reply("human", answer_text(chosen), id), Reply(author, answer_text(rejected), id)
    return Dialogue(turns, id=id, replies=replies)


def _is_tau2(head: Head) -> bool:
    """Simulations, which come after settings and tasks of any length."""
    is_run = {"user_info", "agent_info"} & head.keys or "tasks" in head.keys
    is_settings = "info" in head.keys and bool(is_run)
    return "simulations" in head.fields or (is_settings and head.has_key_later("simulations"))


@reader(
    "tau2",
    example='{"info": {}, "simulations": [{"id": "s1", "messages": ['
    '{"role": "assistant", "content": "Hi!"},\n {"role": "user", "content": "My order?"}]}]}',
    recognise=lambda head: _is_tau2(head),
)
def read_tau2(source: Source) -> Iterator[Dialogue]:
    """Results of tau2-bench: the messages of each simulation, streamed."""
    for number, item in source.json_items("simulations"):
        with source.record(number):
            record = as_object(item, "a simulation")
            kept = ("task_id", "trial", "termination_reason")
            yield conversation(
                as_list(record.get("messages"), "'messages'"),
                source,
                id=key_field(record, "id"),
                corpus="tau2",
                extra={name: record[name] for name in kept if record.get(name) is not None},
            )


@reader(
    "sdialog",
    example='{"id": 7, "complete": true, "personas": null, "turns": ['
    '{"speaker": "Ann", "text": "Hi!"},\n {"speaker": "Bo", "text": "Hello."}]}',
    recognise=lambda head: "turns" in head.fields and bool(_SDIALOG & head.fields),
)
def read_sdialog(source: Source) -> Iterator[Dialogue]:
    """SDialog's JSON: turns of two agents, by name."""
    for number, item in source.json_records():
        with source.record(number):
            record = as_object(item, "a dialogue")
            turns = as_list(record.get("turns"), "'turns'")
            model = record.get("model")
            name = model if isinstance(model, str) else ""
            yield conversation(turns, source, id=conversation_id(record), machine=name)


def _prompt_turns(prompt: Any, source: Source) -> tuple[Turn, ...]:
    prompt = parsed_cell(prompt)
    if isinstance(prompt, str):
        return (Turn("user", prompt),)
    return conversation(as_list(prompt, "prompt"), source).turns


def answer_text(value: Any) -> str:
    """The text of an answer: a text, a message, or the last of several messages."""
    value = parsed_cell(value)
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        value = value[-1]
    if isinstance(value, Mapping):
        message = plain_message(value)
        value = message_text(message.get("content", message.get("value")))
    if not isinstance(value, str):
        raise BadInput(f"expected a text as the answer, found {value!r:.60}.")
    return value
