"""A context as the row of tokens that a language model continues."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.dialogues.encoding import chat_messages
from dialeval.dialogues.types import text_key

STYLES = ("turns", "chat", "none")


@dataclass(frozen=True)
class Prompt:
    """Token ids of a context, and how many of its turns and tokens were left out."""

    ids: list[int]
    turns_cut: int = 0
    tokens_cut: int = 0


@dataclass(frozen=True)
class PromptFormat:
    """How a generator reads a context.

    Args:
        style (`str`, *optional*, defaults to `"turns"`):
            `"turns"` ends each turn with the end token, as DialoGPT does; `"chat"` uses a chat
            template; `"none"` gives no context at all, for a model of p(t).
        template (`str`, *optional*):
            Chat template, in place of the tokenizer's own.
        system_prompt (`str`, *optional*):
            What the model is told before the context; only a chat template has a place for it.
        start (`bool`, *optional*, defaults to `False`):
            Begin with the tokenizer's start token. A prompt that would be empty always does.
        max_length (`int`, *optional*):
            Tokens at most; the oldest turns give way whole, and the last one loses its beginning.
    """

    style: str = "turns"
    template: str | None = None
    system_prompt: str | None = None
    start: bool = False
    max_length: int | None = None

    def __post_init__(self):
        if self.style not in STYLES:
            raise BadInput(
                f"Unknown style of prompts {self.style!r}.", hint=f"Choose {', '.join(STYLES)}."
            )
        if self.system_prompt and self.style != "chat":
            raise BadInput(
                "a system prompt needs a chat template, and this model is not given one.",
                hint="Leave out --system-prompt, or pass --chat-template FILE.",
            )
        if self.max_length is not None and self.max_length < 1:
            raise BadInput(f"a prompt has 1 token or more, but got max_length={self.max_length}.")

    @property
    def signature(self) -> str:
        """The format as it stands in signatures; long texts by a hash."""
        parts = [f"prompt:{self.style}"]
        parts += [f"template:{text_key([self.template])[:8]}"] if self.template else []
        parts += [f"system:{text_key([self.system_prompt])[:8]}"] if self.system_prompt else []
        parts += ["start"] if self.start else []
        parts += [f"max:{self.max_length}"] if self.max_length else []
        return "|".join(parts)

    def limited(self, longest: int | None) -> "PromptFormat":
        """The same format for a model that reads at most so many tokens."""
        if longest is None or (self.max_length or longest + 1) <= longest:
            return self
        return replace(self, max_length=longest)

    def __call__(self, tokenizer: Any, passages: Sequence[Passage]) -> list[Prompt]:
        """Token ids of each context, cut to what fits by whole turns."""
        if self.style == "chat":
            return [self._chat(tokenizer, passage) for passage in passages]
        start = _token(tokenizer, "bos") if self.start else []
        if self.style == "none":
            return [Prompt(start or _first(tokenizer)) for _ in passages]
        end = _token(tokenizer, "eos")
        texts = dict.fromkeys(turn.text.strip() for p in passages for turn in p.context)
        rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
        ids_of = dict(zip(texts, rows, strict=True))
        room = None if self.max_length is None else self.max_length - len(start)
        return [
            self._joined([[*ids_of[t.text.strip()], *end] for t in p.context], start, room)
            if p.context
            else Prompt(start or end)
            for p in passages
        ]

    def _joined(self, turns: list[list[int]], start: list[int], room: int | None) -> Prompt:
        kept = list(turns)
        while room is not None and len(kept) > 1 and sum(map(len, kept)) > room:
            kept.pop(0)
        row = [token for turn in kept for token in turn]
        row = row if room is None else row[max(0, len(row) - room) :]
        lost = sum(map(len, turns)) - len(row)
        return Prompt([*start, *row], len(turns) - len(kept), lost)

    def _chat(self, tokenizer: Any, passage: Passage) -> Prompt:
        # A template wants a message: who has said nothing yet says nothing.
        turns = list(passage.context) or [Turn("user", "")]
        whole = ids = self._rendered(tokenizer, turns)
        dropped = 0
        while self.max_length is not None and len(ids) > self.max_length and len(turns) > 1:
            turns.pop(0)
            dropped += 1
            ids = self._rendered(tokenizer, turns)
        if self.max_length is not None and len(ids) > self.max_length:
            ids = self._shortened(tokenizer, turns[0], ids)
        return Prompt(ids, dropped, max(0, len(whole) - len(ids)))

    def _shortened(self, tokenizer: Any, turn: Turn, ids: list[int]) -> list[int]:
        """A turn that does not fit alone without its beginning, inside a template that is whole."""
        words = tokenizer(turn.text, add_special_tokens=False)["input_ids"]
        while words and len(ids) > self.max_length:
            words = words[len(ids) - self.max_length :]
            text = tokenizer.decode(words, skip_special_tokens=False)
            ids = self._rendered(tokenizer, [replace(turn, text=text)])
        return ids[-self.max_length :]  # where not even the template fits

    def _rendered(self, tokenizer: Any, turns: Sequence[Turn]) -> list[int]:
        told = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        options = {"chat_template": self.template} if self.template else {}
        try:
            text = tokenizer.apply_chat_template(
                [*told, *chat_messages(turns)],
                tokenize=False,
                add_generation_prompt=True,
                **options,
            )
        except Exception as error:  # a template may raise anything, by design
            raise BadInput(
                f"the chat template fails: {error}",
                hint="Try another one with --chat-template FILE, or none.",
            ) from None
        return tokenizer(text, add_special_tokens=False)["input_ids"] or _first(tokenizer)


def prompt_format(
    tokenizer: Any, template: str = "auto", system: str | None = None, **options: Any
) -> PromptFormat:
    """The format that suits a tokenizer.

    Args:
        template (`str`, *optional*, defaults to `"auto"`):
            `"auto"` uses the tokenizer's chat template where it has one and DialoGPT's way where
            not; `"none"` always the latter; otherwise a file with a template.
    """
    if template == "auto":
        has = bool(getattr(tokenizer, "chat_template", None))
        return PromptFormat("chat" if has else "turns", system_prompt=system, **options)
    if template == "none":
        return PromptFormat("turns", system_prompt=system, **options)
    path = Path(template)
    if not path.is_file():
        hint = "Give auto, none, or the name of a Jinja file."
        raise BadInput("there is no such chat template.", path, hint=hint)
    text = path.read_text(encoding="utf-8")
    if not text.strip():
        raise BadInput("this chat template is empty.", path, hint="Give another one, or none.")
    return PromptFormat("chat", text, system, **options)


def _token(tokenizer: Any, name: str) -> list[int]:
    found = getattr(tokenizer, f"{name}_token_id", None)
    if found is None:
        raise BadInput(
            f"prompts of this style need the tokenizer's {name} token, and it has none.",
            hint="Use a chat template, or give the tokenizer one.",
        )
    return [found]


def _first(tokenizer: Any) -> list[int]:
    """The token that a text without a context begins after."""
    return _token(tokenizer, "eos" if tokenizer.bos_token_id is None else "bos")
