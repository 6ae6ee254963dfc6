"""Logs of services: OpenAI's requests with their answers, exports of Langfuse and LangSmith."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.logs import answer_text
from dialeval.dialogues.readers.messages import conversation, message_text, plain_message
from dialeval.dialogues.readers.records import as_object, delimited_rows
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, Turn

_MOST_EARLIER = 10_000  # responses that a later one can continue
_TRACE = {"sessionId", "traceId", "bookmarked", "observations", "userId", "projectId", "htmlPath"}
_ASKED = ("messages", "input", "question", "query", "prompt", "text", "user_input", "chat_history")
_ANSWERED = (
    "output", "answer", "messages", "generations", "choices", "content", "text", "response",
    "result", "completion", "return",
)  # fmt: skip
_NO_ANSWER = ("tool", "retriever", "embedding", "parser", "prompt")


# OpenAI


def _is_requests(head: Head) -> bool:
    fields = head.fields
    has_items = "output" in fields and bool({"object", "previous_response_id"} & fields)
    return has_items or {"request", "response"} <= fields or {"messages", "choices"} <= fields


@reader(
    "requests",
    example='{"id": "resp_1", "object": "response", "input": "Is it far?", "output": [{"type": '
    '"message", "role": "assistant",\n "content": [{"type": "output_text", "text": "Ten minutes."'
    "}]}]}",
    recognise=_is_requests,
)
def read_requests(source: Source) -> Iterator[Dialogue]:
    """OpenAI's logs: Responses with their `input`, or requests with their answers."""
    earlier: OrderedDict[str, tuple[str, tuple[Turn, ...]]] = OrderedDict()
    for number, item in source.json_records():
        with source.record(number):
            request, answer = _request_and_answer(as_object(item, "a record"))
            previous = str(answer.get("previous_response_id") or "")
            root, history = earlier.get(previous, ("", ()))
            turns = (*history, *_request_turns(request, source, bool(history)))
            key = str(answer.get("id") or "")
            text = _answer_of(answer, source)
            if key:  # also of a tool call: what follows its result continues the conversation
                new = () if text is None else (Turn("assistant", text, "assistant"),)
                earlier[key] = root or key, (*turns, *new)
            if len(earlier) > _MOST_EARLIER:
                earlier.popitem(last=False)
            if text is None:
                source.skipped["answers without text"] += 1
            else:
                yield _answered(turns, text, root or key, key, answer.get("model"))


def _request_and_answer(record: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What was sent and what came back, from one record or from its two parts."""
    if not isinstance(record.get("request"), Mapping):
        return record, record
    request, answer = record["request"], as_object(record.get("response"), "'response'")
    bodies = [part.get("body", part) for part in (request, answer)]
    request, answer = (as_object(body, "a body") for body in bodies)
    chained = request.get("previous_response_id")
    return request, {"previous_response_id": chained, **answer}


def _request_turns(request: Mapping[str, Any], source: Source, continues: bool) -> tuple[Turn, ...]:
    """What was said in a request; nothing where it only has the result of a tool."""
    given = request.get("input", request.get("messages"))
    if isinstance(given, str):
        return (Turn("user", given),)
    if not isinstance(given, list):
        raise BadInput(
            "expected the `input` or the `messages` of the request, found none.",
            hint="Log requests with their answers: an answer alone has no context.",
        )
    messages = _spoken(given, source)
    return conversation(messages, source).turns if messages or not continues else ()


def _spoken(items: list[Any], source: Source) -> list[Any]:
    """The messages among the items of a Responses log; calls, results and reasoning are counted."""
    kept = []
    for item in items:
        kind = item.get("type", "message") if isinstance(item, Mapping) else "message"
        if kind == "message" or (isinstance(item, Mapping) and "role" in item):
            kept.append(item)
        else:
            name = "reasoning" if kind == "reasoning" else "tool calls"
            source.skipped[name] += 1
    return kept


def _answer_of(answer: Mapping[str, Any], source: Source) -> str | None:
    """The words of an answer; `None` where it is a tool call only."""
    if isinstance(answer.get("choices"), list) and answer["choices"]:
        choice = as_object(answer["choices"][0], "a choice")
        text = message_text(as_object(choice.get("message"), "a message").get("content"))
    elif isinstance(answer.get("output"), str):
        text = answer["output"]
    elif isinstance(answer.get("output"), list):
        items = _spoken(answer["output"], source)
        texts = [message_text(plain_message(item).get("content")) for item in items]
        text = "\n".join(text for text in texts if isinstance(text, str)) or None
    else:
        raise BadInput(f"expected an answer under `output` or `choices`, found {list(answer)}.")
    return text if isinstance(text, str) and text.strip() else None


# Langfuse and LangSmith


def _is_langfuse(head: Head) -> bool:
    names = head.fields or {cell.strip().strip('"') for cell in head.first.split(",")}
    return {"input", "output"} <= names and bool(_TRACE & names)


@reader(
    "langfuse",
    example='{"id": "t1", "sessionId": "s1", "input": [{"role": "user", "content": "Is it far?"}], '
    '"output": {"role": "assistant", "content": "Ten minutes."}}\n'
    '{"id": "t2", "sessionId": "s2", "input": "And back?", "output": "The same."}',
    recognise=_is_langfuse,
    whole=False,
)
def read_langfuse(source: Source) -> Iterator[Dialogue]:
    """Langfuse's export of traces or observations, as JSON, JSON lines or CSV."""
    for number, item in _export_rows(source):
        with source.record(number):
            record = as_object(item, "a trace")
            if str(record.get("type") or "GENERATION").upper() not in ("GENERATION", "TRACE"):
                source.skipped["spans and events"] += 1
                continue
            session = record.get("sessionId") or record.get("traceId")
            dialogue = _exchange(record.get("input"), record.get("output"), record, source, session)
            if dialogue:
                yield dialogue


@reader(
    "langsmith",
    example='{"run_type": "llm", "inputs": {"messages": [{"type": "human", "content": "Far?"}]}, '
    '"outputs": {"output": "No."}}\n'
    '{"run_type": "chain", "inputs": {"question": "Back?"}, "outputs": {"answer": "No."}}',
    recognise=lambda head: {"inputs", "outputs"} <= head.fields,
    whole=False,
)
def read_langsmith(source: Source) -> Iterator[Dialogue]:
    """LangSmith's export of runs, or of the examples of a dataset."""
    level: dict[
        str, bool
    ] = {}  # of the run that gives a trace's answer: whether it is an inner one
    for number, item in _export_rows(source):
        with source.record(number):
            record = as_object(item, "a run")
            parent = record.get("parent_run_id") or ""
            if record.get("run_type") in _NO_ANSWER:
                source.skipped["runs of tools and retrievers"] += 1
                continue
            trace = str(record.get("trace_id") or parent or record.get("id") or number)
            if level.setdefault(trace, bool(parent)) != bool(parent):
                source.skipped["runs inside or around another run"] += 1
                continue
            session = _thread(record) or record.get("trace_id")
            dialogue = _exchange(
                record.get("inputs"), record.get("outputs"), record, source, session
            )
            if dialogue:
                yield dialogue


def _thread(record: Mapping[str, Any]) -> Any:
    """The conversation that LangSmith groups runs by, in their metadata."""
    extra = record.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else record.get("metadata")
    names = ("session_id", "thread_id", "conversation_id")
    return (
        next((metadata[name] for name in names if metadata.get(name)), None)
        if isinstance(metadata, Mapping)
        else None
    )


def _export_rows(source: Source) -> Iterator[tuple[int, Any]]:
    """Rows of an export: CSV, JSON lines, one array, or the array under `data`."""
    head = Head(source.path)
    if not head.first.lstrip().startswith(("{", "[")):
        yield from delimited_rows(source, ",")
    elif "data" in head.fields:
        yield from source.json_items("data")
    else:
        yield from source.json_records()


def _exchange(
    given: Any, answered: Any, record: Mapping[str, Any], source: Source, session: Any
) -> Dialogue | None:
    """The messages of a call with their answer; nothing where either has no words."""
    turns, text = _asked_turns(_loaded(given), source), _answered_text(_loaded(answered))
    if not turns or not text:
        source.skipped["calls without a text and an answer"] += 1
        return None
    key = str(record.get("id") or "")
    return _answered(turns, text, str(session or key), key, record.get("model"))


def _loaded(value: Any) -> Any:
    """A value that may be stored as JSON text, as in a CSV file."""
    import json

    if isinstance(value, str) and value.lstrip().startswith(("{", "[", '"')):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _asked_turns(value: Any, source: Source) -> tuple[Turn, ...]:
    value = _inner(value, _ASKED)
    if isinstance(value, str):
        return (Turn("user", value),) if value.strip() else ()
    while isinstance(value, list) and value and isinstance(value[0], list) and not _is_pair(value):
        value = value[0]  # a batch of one
    if not isinstance(value, list) or not value:
        return ()
    if all(isinstance(item, str) for item in value):
        return tuple(Turn("user", item) for item in value[:1])
    return conversation(value, source).turns


def _is_pair(value: list[Any]) -> bool:
    """Whether the items are `["human", "hi"]`, and not batches."""
    return all(isinstance(item, list) and item and isinstance(item[0], str) for item in value)


def _answered_text(value: Any) -> str:
    """The words of an answer in any of the shapes that tracers store."""
    for _ in range(6):
        if isinstance(value, list):
            value = value[-1] if value else ""
        elif isinstance(value, Mapping) and "message" in value:
            value = value["message"]
        elif isinstance(value, Mapping) and ({"role", "lc", "type"} & set(value)):
            text = message_text(plain_message(value).get("content"))
            return text if isinstance(text, str) else ""
        elif isinstance(value, Mapping):
            value = _inner(value, _ANSWERED)
            if isinstance(value, Mapping) and not set(_ANSWERED) & set(value):
                return ""
        else:
            break
    return value if isinstance(value, str) else ""


def _inner(value: Any, names: tuple[str, ...]) -> Any:
    """The value under the first of some names, through the arguments of a traced function."""
    if isinstance(value, Mapping) and {"args", "kwargs"} <= set(value):
        positional = value["args"]
        value = positional[0] if isinstance(positional, list) and positional else value["kwargs"]
    if isinstance(value, Mapping):
        return next((value[name] for name in names if value.get(name)), value)
    return value


def _answered(
    turns: tuple[Turn, ...], text: str, dialogue_id: str, id: str, model: Any
) -> Dialogue:
    author = model if isinstance(model, str) and model else "assistant"
    reply = Reply(author, answer_text(text), id, "assistant")
    return Dialogue(turns, id=dialogue_id, replies=(reply,), by_role=True)
