"""Contexts with many human references: multi-reference DailyDialog, and DailyDialog++."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import (
    as_object,
    document,
    key_field,
    list_field,
    non_empty,
    replies_by,
    text_field,
    texts_field,
)
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn, alternate

_SYSTEM = "hredf"
_KINDS = {
    "human": "positive_responses",
    "adversarial": "adversarial_negative_responses",
    "random": "random_negative_responses",
}
_LABELS = {"positive": "human", "adversarial": "adversarial", "random": "random"}
_RESPONSE_ID = re.compile(r"(\d+)[a-z]\d+")
_SPOKEN = re.compile(r"Speaker (\w+): (.*)", re.DOTALL)


@reader(
    "multiref",
    example='{"dialogue": [{"text": "Is it far ?", "responses": ["ten minutes .", "no ."]}, '
    '{"text": "Ten minutes ."}]}',
    recognise=lambda head: {"dialogue", "responses", "text"} <= head.keys,
    whole=False,
)
def read_multiref(source: Source) -> Iterator[Dialogue]:
    """Multi-reference DailyDialog: JSON lines, up to five human responses to every turn.

    The first response is the true one. Answers of the system `hredf` are added where `hredf.txt`
    and `test_duid_mapping.json` are in the same folder.
    """
    answers = _system_answers(source.path.parent)
    for number, record in source.json_records():
        with source.record(number):
            yield from list(_questions(as_object(record, "a dialogue"), number - 1, answers))


def _system_answers(folder: Path) -> dict[str, str]:
    outputs, mapping = folder / f"{_SYSTEM}.txt", folder / "test_duid_mapping.json"
    if not (outputs.is_file() and mapping.is_file()):
        return {}
    lines = dict(Source(outputs).lines())
    numbers = document(Source(mapping), dict, "a JSON object")
    return {
        question: lines[number]
        for question, number in numbers.items()
        if isinstance(number, int) and number in lines
    }


def _questions(
    record: Mapping[str, Any], index: int, answers: Mapping[str, str]
) -> Iterator[Dialogue]:
    turns = [as_object(turn, "a turn") for turn in list_field(record, "dialogue")]
    context = alternate(non_empty(text_field(turn, "text") for turn in turns))
    for at, turn in enumerate(turns):
        if "responses" in turn:
            id = f"{index}_{at}"
            replies = tuple(_references(turn, id)) + _system_reply(id, answers)
            yield Dialogue(context[: at + 1], f"multiref-{index}", "multiref", "en", replies)


def _references(turn: Mapping[str, Any], id: str) -> Iterator[Reply]:
    texts = texts_field(turn, "responses")
    non_empty(texts[:1], "response")
    return replies_by("human", texts, id)


def _system_reply(id: str, answers: Mapping[str, str]) -> tuple[Reply, ...]:
    if not answers:
        return ()
    if id not in answers:
        raise BadInput(f"expected an answer of {_SYSTEM} to {id}, found none.")
    return (Reply(_SYSTEM, answers[id].strip(), id),)


def _recognise_plus(head: Head) -> bool:
    return _KINDS["human"] in head.keys or {"paragraphs", "responses"} <= head.keys


@reader(
    "dailydialogpp",
    example='{"id": 4, "context": ["Is it far?"], "positive_responses": ["Ten minutes."], '
    '"adversarial_negative_responses": ["I ran far."], "random_negative_responses": ["Blue."]}',
    recognise=_recognise_plus,
    whole=False,
)
def read_dailydialogpp(source: Source) -> Iterator[Dialogue]:
    """DailyDialog++: positive, adversarial and random responses, JSON lines or test-v1.0.json."""
    is_whole = "paragraphs" in Head(source.path).keys
    parsed = _paragraphs(source) if is_whole else source.json_records()
    for number, record in parsed:
        with source.record(number):
            record = as_object(record, "a context with responses")
            yield _from_labels(record) if is_whole else _from_lists(record)


def _from_lists(record: Mapping[str, Any]) -> Dialogue:
    turns = alternate(non_empty(texts_field(record, "context")))
    responses = {author: texts_field(record, name) for author, name in _KINDS.items()}
    return _with_responses(turns, responses, f"ddpp-{key_field(record, 'id')}")


def _paragraphs(source: Source) -> Iterator[tuple[int, Any]]:
    paragraphs: list[Any] = []
    with source.record():
        for title in list_field(document(source, dict, "a JSON object"), "data"):
            paragraphs += list_field(as_object(title, "a title"), "paragraphs")
    return iter(enumerate(paragraphs, 1))


def _from_labels(record: Mapping[str, Any]) -> Dialogue:
    turns = tuple(map(_spoken, text_field(record, "context").split("\n\n")))
    responses: dict[str, list[str]] = {author: [] for author in _KINDS}
    ids = set()
    for response in list_field(record, "responses"):
        response = as_object(response, "a response")
        responses[_kind(text_field(response, "label"))].append(text_field(response, "text"))
        ids.add(_context_id(text_field(response, "id")))
    if len(ids) != 1:
        raise BadInput(f"expected responses to one context, found {sorted(ids)}.")
    return _with_responses(turns, responses, f"ddpp-{ids.pop()}")


def _spoken(part: str) -> Turn:
    match = _SPOKEN.fullmatch(part.strip())
    if not match:
        raise BadInput(f"expected `Speaker A: text`, found {part!r:.60}.")
    return Turn(match[1], match[2].strip())


def _kind(label: str) -> str:
    for word, author in _LABELS.items():
        if word in label.lower():
            return author
    raise BadInput(f"expected a label with one of {', '.join(_LABELS)}, found {label!r:.60}.")


def _context_id(id: str) -> str:
    match = _RESPONSE_ID.fullmatch(id)
    if not match:
        raise BadInput(f"expected an id such as 12p0, found {id!r:.60}.")
    return match[1]


def _with_responses(
    turns: tuple[Turn, ...], responses: Mapping[str, list[str]], id: str
) -> Dialogue:
    replies = [
        reply for author, texts in responses.items() for reply in replies_by(author, texts, id)
    ]
    return Dialogue(turns, corpus="dailydialogpp", language="en", replies=tuple(replies))
