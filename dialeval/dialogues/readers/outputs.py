"""Dumps of model outputs: blocks with a context, each model's answer, and the reference."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dialeval.dialogues.formats import Head, reader
from dialeval.dialogues.readers.records import as_text, blocks, non_empty
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue, Reply, alternate, text_key

_NAMED = re.compile(r"([^\W\d_][\w+ .-]{0,30}):\s*(.*)")
_END = re.compile(r"\s*|-{3,}\s*|={3,}\s*")
_REFERENCE = "ref"
_REFERENCE_NAMES = ("ref", "reference", "human")


@dataclass
class _Block:
    context: list[str] | None = None
    answers: dict[str, str] = field(default_factory=dict)  # author -> text
    extra: dict[str, str] = field(default_factory=dict)


def _recognise(head: Head) -> bool:
    names = {_name(match) for match in map(_NAMED.match, head.lines) if match}
    return {"context", _REFERENCE} <= names


@reader(
    "outputs",
    example="Emotion: proud\nContext: ['i passed !']\nGreedy: that is great .\nRef: well done !",
    recognise=_recognise,
    whole=False,
)
def read_outputs(source: Source) -> Iterator[Dialogue]:
    """Model outputs: blocks with `Context:`, a `Name:` line for each model, and `Ref:`.

    A block whose context continues the previous one says what followed that one's reference.
    """
    waiting: tuple[Dialogue, list[str]] | None = None  # until the next block is known
    seen: Counter[str] = Counter()
    for lines in blocks(source, _is_end):
        with source.record(lines[0][0]):
            block = _parse_block([line for _, line in lines])
            if block.context is None and waiting is None and _REFERENCE not in block.answers:
                continue  # a header before the first block
            context, reference = _context_and_reference(block)
            key = text_key([*context, reference])
            seen[key] += 1
            id = key if seen[key] == 1 else f"{key}-{seen[key]}"
            conversation = key
            if waiting and _continues(context, waiting[1]):
                conversation = waiting[0].id
                waiting = _with_following(waiting[0], context[len(waiting[1]) :]), waiting[1]
            if waiting:
                yield waiting[0]
            dialogue = Dialogue(
                turns=alternate(context),
                id=conversation,
                replies=tuple(_replies(block.answers, id)),
                extra=block.extra,
            )
            waiting = dialogue, [*context, reference]
    if waiting:
        yield waiting[0]


def _with_following(dialogue: Dialogue, later: list[str]) -> Dialogue:
    """The dialogue with the utterance after its human reply."""
    if not later:
        return dialogue
    replies = (
        replace(reply, extra={**reply.extra, "following": later[0]})
        if reply.author == "human"
        else reply
        for reply in dialogue.replies
    )
    return replace(dialogue, replies=tuple(replies))


def _is_end(line: str) -> bool:
    return bool(_END.fullmatch(line))


def _parse_block(lines: list[str]) -> _Block:
    block = _Block()
    for line in lines:
        if block.context is None:
            _parse_before_answers(line, block)
        else:
            _parse_answer(line, block)
    return block


def _parse_before_answers(line: str, block: _Block) -> None:
    # MIME puts its three header lines right before the first block; they have no names.
    for cell in line.split("\t"):
        match = _NAMED.fullmatch(cell.strip())
        if not match:
            continue
        name = _name(match)
        if name == "context":
            block.context = _turns(match[2].strip())
        elif name == _REFERENCE:
            block.answers[name] = match[2].strip()
        else:
            block.extra[name] = match[2].strip()


def _parse_answer(line: str, block: _Block) -> None:
    match = _NAMED.fullmatch(line.strip())
    if not match:
        raise BadInput(f"expected `Name: text`, found {line!r:.60}.")
    name, text = _name(match), match[2].strip()
    if name in block.answers or name == "context":
        raise BadInput(f"expected one `{match[1]}:` line a block, found two.")
    if "emotion" in name:
        block.extra[name] = text
    else:
        block.answers[name] = text


def _name(match: re.Match[str]) -> str:
    name = match[1].strip().lower()
    return _REFERENCE if name in _REFERENCE_NAMES else name


def _turns(text: str) -> list[str]:
    if not (text.startswith("[") and text.endswith("]")):
        return [text]
    try:
        turns = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise BadInput(f"expected a list of texts as Context, found {text!r:.60}.") from None
    return [as_text(turn, "turn of the Context") for turn in turns]


def _context_and_reference(block: _Block) -> tuple[list[str], str]:
    if block.context is None:
        raise BadInput("expected a `Context:` line in the block, found none.")
    if not block.answers.get(_REFERENCE):
        raise BadInput("expected a filled `Ref:` line in the block, found none.")
    return non_empty(block.context), block.answers[_REFERENCE]


def _continues(context: list[str], earlier: list[str]) -> bool:
    """Whether a context begins with earlier turns; spacing, case and punctuation are ignored."""
    return len(context) >= len(earlier) and all(map(_same, context, earlier))


def _same(one: str, other: str) -> bool:
    return re.sub(r"\W", "", one).casefold() == re.sub(r"\W", "", other).casefold()


def _replies(answers: dict[str, str], id: str) -> Iterator[Reply]:
    yield Reply("human", answers[_REFERENCE], id)
    for author, text in answers.items():
        if author != _REFERENCE:
            yield Reply(author, text, id)
