"""Records of chat models: prompts with completions, preferences, and logs of simulations."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.messages import conversation, message_text
from dialeval.dialogues.readers.records import as_list, as_object, key_field
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn

_PROMPTS = (
    ("prompt", "completion"), ("prompt", "response"), ("instruction", "output"),
    ("instruction", "response"), ("question", "answer"),
)  # fmt: skip
_PREFERENCE = {"chosen", "rejected"}
_SDIALOG = {"personas", "parentId", "complete", "scenario"}


def _columns(fields: set[str]) -> tuple[str, str] | None:
    """The names of the prompt and of its answer, if a record has them."""
    return next((pair for pair in _PROMPTS if set(pair) <= fields), None)


def _is_prompts(head: Head) -> bool:
    is_passage = "context" in head.fields and "instruction" not in head.fields
    is_other = {"messages", "chosen", "rejected"} & head.fields
    return bool(_columns(head.fields)) and not is_passage and not is_other


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
            record = as_object(item, "a record")
            names = _columns(set(record))
            if not names:
                raise BadInput(f"expected a prompt with its answer, found {', '.join(record)}.")
            turns = _prompt_turns(record[names[0]], source)
            extra = record.get("input") or record.get("context")
            if names[0] == "instruction" and isinstance(extra, str) and extra.strip():
                turns = (Turn("user", f"{turns[0].text}\n{extra.strip()}"),)
            reply = Reply("human", _answer(record[names[1]]), _id(record), "assistant")
            yield Dialogue(turns, id=_id(record), replies=(reply,), by_role=True)


@reader(
    "preferences",
    example='{"prompt": "Is it far?", "chosen": "Ten minutes on foot.", "rejected": "I am an AI."}',
    recognise=lambda head: head.fields >= _PREFERENCE,
    by_line=True,
    whole=False,
)
def read_preferences(source: Source) -> Iterator[Dialogue]:
    """Preferences as TRL has them: `chosen` is human, `rejected` a system."""
    for number, item in source.json_records():
        with source.record(number):
            record = as_object(item, "a record")
            chosen, rejected = (record.get(name) for name in ("chosen", "rejected"))
            if "prompt" in record:
                turns = _prompt_turns(record["prompt"], source)
            elif isinstance(chosen, list) and len(chosen) > 1:
                turns = _prompt_turns(chosen[:-1], source)
            else:
                raise BadInput("expected a `prompt`, or messages under `chosen`.")
            system = record.get("rejected_model")
            author = system if isinstance(system, str) and system else "rejected"
            replies = (
                Reply("human", _answer(chosen), _id(record)),
                Reply(author, _answer(rejected), _id(record)),
            )
            yield Dialogue(turns, id=_id(record), replies=replies)


@reader(
    "tau2",
    example='{"info": {}, "simulations": [{"id": "s1", "messages": ['
    '{"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "My order?"}]}]}',
    recognise=lambda head: "simulations" in head.fields,
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
    '{"speaker": "Ann", "text": "Hi!"}, {"speaker": "Bo", "text": "Hello."}]}',
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
            yield conversation(turns, source, id=_id(record), machine=name)


def _id(record: Mapping[str, Any]) -> str:
    names = ("id", "dialogue_id", "conversation_id", "prompt_id")
    return next((str(record[name]) for name in names if record.get(name) is not None), "")


def _prompt_turns(prompt: Any, source: Source) -> tuple[Turn, ...]:
    if isinstance(prompt, str):
        return (Turn("user", prompt),)
    return conversation(as_list(prompt, "prompt"), source).turns


def _answer(value: Any) -> str:
    """A text, or the text of the last message."""
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        last = as_object(value[-1], "a message")
        value = message_text(last.get("content", last.get("value")))
    if not isinstance(value, str):
        raise BadInput(f"expected a text as the answer, found {value!r:.60}.")
    return value
