"""A passage as one row of token ids: special tokens between turns, and truncation."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dialeval.dialogues.cutting import NOT_SPOKEN
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.types import UNKNOWN_SPEAKERS, Passage, Turn, merge_by_speaker
from dialeval.settings.checks import check_settings

_SPECIAL = ("bos", "eos", "cls", "sep")


@dataclass(frozen=True)
class Encoded:
    """Token ids of a passage.

    Args:
        ids (`list[int]`):
            Context and response in one row.
        response_at (`int`):
            Index at which the response begins, its start token included.
        cut (`int`):
            How many tokens were cut.
        response_cut (`int`):
            How many of them belonged to the response.
    """

    ids: list[int]
    response_at: int
    cut: int = 0
    response_cut: int = 0


@dataclass(frozen=True)
class InputFormat:
    """How a scorer reads a passage. Special tokens are named bos, eos, cls or sep.

    Args:
        start (`str`, *optional*):
            Token before everything.
        turn_end (`str`, *optional*):
            Token after each turn of the context.
        response_start (`str`, *optional*):
            Token before the response.
        response_end (`str`, *optional*):
            Token after the response.
        max_context, max_response (`int`, *optional*):
            Tokens kept of each, end tokens included; a context is cut at its start, a response at
            its end.
        max_length (`int`, *optional*):
            Tokens kept in total; the context is cut first.
        cut_left (`bool`, *optional*, defaults to `False`):
            At `max_length` keep the last tokens of the row, as DialogRPT does.
        chat (`bool`, *optional*, defaults to `False`):
            Use the tokenizer's chat template, with the response as the assistant's message.
    """

    name: str = "words"
    start: str | None = None
    turn_end: str | None = None
    response_start: str | None = None
    response_end: str | None = None
    max_context: int | None = None
    max_response: int | None = None
    max_length: int | None = None
    cut_left: bool = False
    chat: bool = False

    def __post_init__(self) -> None:
        check_settings(self)
        for name in ("start", "turn_end", "response_start", "response_end"):
            if getattr(self, name) not in (None, *_SPECIAL):
                choices = ", ".join(_SPECIAL)
                raise BadInput(
                    f"`{name}` names a special token, but got {getattr(self, name)!r}.",
                    hint=f"Choose one of {choices}, or none.",
                )

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON takes them."""
        return asdict(self)

    def limited(self, max_length: int | None) -> "InputFormat":
        """The same format for a model that reads at most so many tokens."""
        if max_length is None or (self.max_length or max_length + 1) <= max_length:
            return self
        return replace(self, max_length=max_length)

    def __call__(self, tokenizer: Any, passages: Sequence[Passage]) -> list[Encoded]:
        """Token ids of each passage; every text is tokenized once."""
        if self.chat:
            return [self._from_chat(tokenizer, passage) for passage in passages]
        texts = dict.fromkeys(
            text.strip() for p in passages for text in (*(t.text for t in p.context), p.response)
        )
        rows = _token_ids(tokenizer, list(texts)) if texts else []
        ids_of = dict(zip(texts, rows, strict=True))
        return [self._join(tokenizer, passage, ids_of) for passage in passages]

    def _join(self, tokenizer: Any, passage: Passage, ids_of: dict[str, list[int]]) -> Encoded:
        end = self._token(tokenizer, self.turn_end)
        context = [i for turn in passage.context for i in (*ids_of[turn.text.strip()], *end)]
        response = [
            *self._token(tokenizer, self.response_start),
            *ids_of[passage.response.strip()],
            *self._token(tokenizer, self.response_end),
        ]
        return self._truncate(self._token(tokenizer, self.start), context, response, end)

    def _truncate(
        self, start: list[int], context: list[int], response: list[int], end: list[int]
    ) -> Encoded:
        whole = len(start) + len(context) + len(response)
        most = self.max_context
        if most is not None and len(context) - len(end) > most:
            context = context[-most - len(end) :]  # the separator after it is not counted
        kept = response[: self.max_response]
        limit = None if self.max_length is None else self.max_length - len(start)
        if limit is not None and self.cut_left:
            row = (context + kept)[-limit:] if limit > 0 else []
            at = len(start) + max(0, len(row) - len(kept))
            lost = max(0, len(kept) - len(row))
            return Encoded(start + row, at, whole - len(start) - len(row), lost)
        if limit is not None:
            kept = kept[: max(0, limit)]
            context = context[max(0, len(context) + len(kept) - limit) :]
        row = start + context + kept
        return Encoded(row, len(start) + len(context), whole - len(row), len(response) - len(kept))

    def _from_chat(self, tokenizer: Any, passage: Passage) -> Encoded:
        messages = chat_messages(passage.context)
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        ids = _token_ids(tokenizer, prompt)
        response = _token_ids(tokenizer, passage.response.strip())
        response = [*response, *self._token(tokenizer, self.response_end)]
        return self._truncate([], ids, response, [])

    def _token(self, tokenizer: Any, name: str | None) -> list[int]:
        if name is None:
            return []
        token = getattr(tokenizer, f"{name}_token_id", None)
        if token is None:
            raise BadInput(
                f"the input format {self.name!r} needs a {name} token, and the tokenizer has none.",
                hint="Choose another format, or a tokenizer that has one.",
            )
        return [token]


def chat_messages(turns: Sequence[Turn]) -> list[dict[str, str]]:
    """Turns as chat messages: the last one is the user's, and roles alternate back from there.

    What one speaker says in a row is one message. Where a speaker is not known, every turn is.
    Messages of tools are left out: a model without these tools has no role for them.

    Examples:
        >>> [message["role"] for message in chat_messages([Turn("A", "hi"), Turn("B", "hello")])]
        ['assistant', 'user']
        >>> chat_messages([Turn("A", "hi"), Turn("A", "are you there?")])
        [{'role': 'user', 'content': 'hi are you there?'}]
    """
    if not any(turn.speaker in UNKNOWN_SPEAKERS for turn in turns):
        turns = merge_by_speaker(turns)
    messages: list[dict[str, str]] = []
    role = "user"
    for turn in reversed(turns):
        if turn.speaker in ("system", "developer"):
            messages.append({"role": "system", "content": turn.text})
            continue
        if turn.speaker in NOT_SPOKEN:
            continue
        messages.append({"role": role, "content": turn.text})
        role = "assistant" if role == "user" else "user"
    return messages[::-1]


PRESETS = {
    # One sequence, a mark before the response and at every turn's end (Bruni and Fernández, 2017).
    "words": InputFormat("words", None, "eos", "bos", "eos"),
    # Separator between turns, none at the end, 50 tokens from the right.
    "dialogrpt": InputFormat("dialogrpt", None, "eos", max_length=50, cut_left=True),
    # The separator ends the response too; 60 tokens of context and 30 of response.
    "att": InputFormat("att", None, "eos", None, "eos", max_context=60, max_response=30),
    "encoder": InputFormat("encoder", "cls", "sep", None, "sep"),
    "chat": InputFormat("chat", response_end="eos", chat=True),
}


def input_format(name: str) -> InputFormat:
    """A format by its name."""
    if name not in PRESETS:
        raise BadInput(
            f"Unknown input format {name!r}.", hint=f"Choose one of {', '.join(PRESETS)}."
        )
    return PRESETS[name]


def _token_ids(tokenizer: Any, texts: Any) -> Any:
    """Token ids of a text, or of each of several.

    Raises:
        BadInput: The tokenizer cannot read them, because its files are damaged.
    """
    try:
        return tokenizer(texts, add_special_tokens=False)["input_ids"]
    except Exception as error:  # the library raises nothing more specific
        name = str(getattr(tokenizer, "name_or_path", ""))
        hint = "Copy the whole folder again."
        raise BadInput(f"its tokenizer cannot read a text: {error}.", name, hint=hint) from error
