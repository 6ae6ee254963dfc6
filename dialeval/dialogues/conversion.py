"""Passages from what people have in memory: lists, chat messages, data frames and datasets."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from dialeval.dialogues.authors import authors, by_author
from dialeval.dialogues.cutting import NOT_SPOKEN, Cut
from dialeval.dialogues.paths import is_pattern
from dialeval.dialogues.readers.logs import PREFERENCE, prompt_columns
from dialeval.dialogues.readers.messages import MESSAGE_LISTS, message_text
from dialeval.dialogues.readers.tables import table_record
from dialeval.dialogues.readers.turns import has_turns, read_turn_rows
from dialeval.dialogues.reading import ReadOptions, read
from dialeval.dialogues.roles import add_names, check_one_role, check_role_exists, with_side
from dialeval.dialogues.sources import Source
from dialeval.dialogues.storage import FEATURES, Passages, iterate, to_passages
from dialeval.dialogues.types import Dialogue, Passage, Turn, alternate, text_key
from dialeval.errors import BadInput

Message = Mapping[str, Any]
"""`{"role": ..., "content": ...}`"""
_FIELDS = ("context", "response", "messages", "id", "dialogue_id", "following", "author")
"""Keys of a row that are no further columns."""


def as_passages(
    data: Any,
    *,
    author: str,
    contexts: Sequence[Any] | None = None,
    dialogue_ids: Sequence[Any] | None = None,
    role: str | None = None,
) -> Passages:
    """Passages of one author from any of the usual shapes of data.

    Args:
        data:
            A list of responses (with `contexts`); a list of conversations, each a list of chat
            messages or of texts whose last one is the response; a list of dictionaries, a
            dictionary of lists, a pandas DataFrame or a `datasets.Dataset` with `context` and
            `response`, with `messages`, with `prompt` and `completion` or the like, or with one
            turn a row (`conversation_id`, `speaker`, `text`); a path; or passages.
        author (`str`):
            Who wrote the responses: `"human"`, or the name of a system.
        contexts (`Sequence`, *optional*):
            For a list of responses: the context of each, a text or a list of texts or messages.
        dialogue_ids (`Sequence`, *optional*):
            Which dialogue each row comes from. By default rows with the same context share one.
        role (`str`, *optional*):
            Whose turns are the responses, where the data are conversations: `"user"`,
            `"assistant"`, or a speaker's name. Without it, the last message of a list is the
            response, and a file with several roles is refused.

    Returns:
        `Passages`: In the order of the data; rows without an `id` get their position as the id.

    Raises:
        BadInput: A row has no context or no response; says which.
    """
    if isinstance(data, str | PathLike):
        return _from_path(data, author, role)
    if getattr(data, "features", None) == FEATURES:
        return data
    rows = _rows(data)
    if contexts is None and _are_conversations(rows, role):
        return _from_conversations(rows, author, role, dialogue_ids)
    _check_lengths(len(rows), author, contexts=contexts, dialogue_ids=dialogue_ids)
    passages = [
        _passage(
            row,
            index,
            author,
            None if contexts is None else contexts[index],
            None if dialogue_ids is None else dialogue_ids[index],
        )
        for index, row in enumerate(rows)
    ]
    if not passages:
        raise BadInput(f"there are no responses of {author}.", hint="Give at least one.")
    return to_passages(passages)


def _are_conversations(rows: list[Any], role: str | None) -> bool:
    """Whether rows are read as a file of them would be, and not as contexts with responses."""
    first = rows[0] if rows else ""
    if isinstance(first, Mapping):
        is_passage = {"context", "response"} <= set(first)
        return not is_passage and ("messages" not in first or bool(role)) and _is_known(first)
    is_chat = isinstance(first, Sequence) and bool(first) and isinstance(first[0], Mapping)
    return bool(role) and is_chat and not isinstance(first, str)


def _is_known(row: Mapping[str, Any]) -> bool:
    names = set(row)
    is_log = set(MESSAGE_LISTS) & names or prompt_columns(names) or names >= PREFERENCE
    return bool(is_log) or has_turns(names)


def _from_conversations(
    rows: list[Any], author: str, role: str | None, dialogue_ids: Sequence[Any] | None
) -> Passages:
    """Every turn of a role, or every response, in whole conversations."""
    source = Source(Path(f"the data of {author}"))
    records = [row if isinstance(row, Mapping) else {"messages": row} for row in rows]
    if dialogue_ids is not None:
        _check_lengths(len(rows), author, dialogue_ids=dialogue_ids)
        pairs = zip(records, dialogue_ids, strict=True)
        records = [{**record, "dialogue_id": str(id)} for record, id in pairs]
    passages, roles, speakers = [], Counter[str](), Counter[str]()
    cut = Cut(role=role)
    for dialogue in _dialogues(records, source):
        add_names(speakers, (turn.speaker for turn in dialogue.turns))
        for passage in cut(with_side(dialogue, author, role)):
            passages.append(passage)
            if dialogue.by_role:
                add_names(roles, [passage.speaker])
    if not role:
        check_one_role(roles, str(source.path), len(records))
    selected = [passage for passage in passages if passage.author == author]
    if not selected:
        check_role_exists(role, speakers, str(source.path))
        raise BadInput(f"there are no responses of {author}.", hint="Check role and authors.")
    return to_passages(selected)


def _dialogues(records: list[Mapping[str, Any]], source: Source) -> Iterator[Dialogue]:
    plain = [{name: _plain(value) for name, value in record.items()} for record in records]
    if has_turns(plain[0]):
        yield from read_turn_rows(lambda _: enumerate(plain), source)
        return
    for index, record in enumerate(plain):
        with source.record(index):
            yield table_record(record, source)


def _plain(value: Any) -> Any:
    """A list in place of an array of numpy, which pandas has in its cells; no missing numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return None if isinstance(value, float) and value != value else value


def _from_path(path: str | PathLike[str], author: str, role: str | None = None) -> Passages:
    name = str(path)
    known = name.startswith("hub:") or name == "chitchat" or is_pattern(name)
    if not known and not Path(name).exists():
        raise BadInput(
            "no such file.", name, hint="Check the path, or give the responses as a list."
        )
    options = ReadOptions(
        side=author, role=role, keep_duplicates=author != "human", allow_empty=True
    )
    return _of_author(read(name, options)[0], author, name)


def _of_author(passages: Passages, author: str, path: str) -> Passages:
    """The responses of one author; in a system's file, of its only system whatever its name.

    Raises:
        BadInput: A file has responses of several systems, and none has that name.
    """
    names = authors(passages)
    others = [name for name in names if name != "human"]
    if author in names:
        return by_author(passages, author)
    if others and (author == "human" or len(others) > 1):
        what = "no human responses, only those" if author == "human" else "responses"
        message = f"it has {what} of {', '.join(others)}."
        raise BadInput(message, path, hint="Name one of them, or say whose turns: role=...")
    responses = by_author(passages, others[0]) if others else passages
    return to_passages(replace(passage, author=author) for passage in iterate(responses))


def _rows(data: Any) -> list[Any]:
    """Rows of a list, a data frame or a dataset."""
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas, without importing it
        return data.to_dict("records")
    if isinstance(data, Mapping) and data and all(_is_column(value) for value in data.values()):
        columns = [list(value) for value in data.values()]
        if len({len(column) for column in columns}) > 1:
            sizes = ", ".join(f"{name}: {len(value):,}" for name, value in data.items())
            raise BadInput(f"the lists differ in length ({sizes}).", hint="Give equal lengths.")
        return [dict(zip(data, row, strict=True)) for row in zip(*columns, strict=True)]
    if isinstance(data, Iterable) and not isinstance(data, Mapping):
        return list(data)
    raise BadInput(
        f"cannot read responses from an object of type {type(data).__name__}.",
        hint="Give a list of texts, of chat messages or of dictionaries, a dictionary of lists, a "
        "DataFrame, a Dataset or a path.",
    )


def _is_column(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _check_lengths(rows: int, author: str, **columns: Sequence[Any] | None) -> None:
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            raise BadInput(
                f"there are {rows:,} responses of {author}, but {len(column):,} {name}.",
                hint="Give one for each response, in the same order.",
            )


def _passage(row: Any, index: int, author: str, context: Any, dialogue_id: Any) -> Passage:
    record = {name: _plain(value) for name, value in _record(row, index, author, context).items()}
    turns = _turns(record["context"], index, author)
    response = record["response"]
    if not isinstance(response, str):
        raise _bad_row(index, author, f"the response is {response!r}, not a text")
    if not turns:
        raise _bad_row(index, author, "there is no context")
    dialogue = next(
        (value for value in (_plain(dialogue_id), record.get("dialogue_id")) if value is not None),
        text_key(turn.text for turn in turns),
    )
    id, following = record.get("id"), record.get("following")
    extra = {key: value for key, value in record.items() if key not in _FIELDS}
    return Passage(
        turns, response, author, id=str(index if id is None else id), dialogue_id=str(dialogue),
        following=following if isinstance(following, str) else None, extra=extra,
    )  # fmt: skip


def _record(row: Any, index: int, author: str, context: Any) -> dict[str, Any]:
    """A row as a dictionary with `context` and `response`."""
    if isinstance(row, str):
        if context is None:
            raise BadInput(
                f"the responses of {author} are texts without contexts.",
                hint="Pass contexts=[...], one for each response.",
            )
        return {"context": context, "response": row}
    if isinstance(row, Mapping):
        record = {**row} if context is None else {**row, "context": context}
        if "messages" in record:
            return {**record, **_split_conversation(record["messages"], index, author)}
        missing = [name for name in ("context", "response") if name not in record]
        if missing:
            raise _bad_row(index, author, f"there is no {missing[0]!r}, only {', '.join(record)}")
        return record
    if isinstance(row, Sequence):
        return _split_conversation(row, index, author)
    raise _bad_row(index, author, f"expected a text, messages or a dictionary, but got {row!r:.80}")


def _split_conversation(messages: Sequence[Any], index: int, author: str) -> dict[str, Any]:
    """The last message is the response, the others are the context.

    A system prompt, a tool and a message without words, such as a tool call, are no turns.
    """
    turns = [item for item in messages if not (isinstance(item, Mapping) and _is_prompt(item))]
    spoken = [item for item in turns if _text(item) is not None]
    if len(spoken) < 2:
        raise _bad_row(index, author, "a conversation needs a context and a response")
    if _role(spoken[-1]) != _role(turns[-1]):
        raise _bad_row(index, author, "the last message has no text")
    return {"context": spoken[:-1], "response": _text(spoken[-1])}


def _is_prompt(message: Message) -> bool:
    return message.get("role") in NOT_SPOKEN


def _role(item: Any) -> Any:
    return item.get("role") if isinstance(item, Mapping) else None


def _turns(context: Any, index: int, author: str) -> tuple[Turn, ...]:
    items = (
        [context] if isinstance(context, str | Mapping) else list(_items(context, index, author))
    )
    texts = [_text(item) for item in items]
    if not all(isinstance(text, str) for text in texts):
        raise _bad_row(index, author, "a turn of the context is not a text")
    if any(isinstance(item, Mapping) for item in items):
        roles = [item.get("role", "") if isinstance(item, Mapping) else "" for item in items]
        return tuple(Turn(str(role), text) for role, text in zip(roles, texts, strict=True))
    return alternate(texts)


def _items(context: Any, index: int, author: str) -> Iterator[Any]:
    if not isinstance(context, Iterable):
        raise _bad_row(index, author, f"the context is {context!r:.80}, not a text or a list")
    yield from context


def _text(item: Any) -> Any:
    """The text of a turn: a string, a chat message, or a turn of ours."""
    if isinstance(item, Mapping):
        return message_text(item.get("content", item.get("text")))
    return item


def _bad_row(index: int, author: str, problem: str) -> BadInput:
    return BadInput(f"row {index} of {author}: {problem}.", hint="Fix or drop that row.")
