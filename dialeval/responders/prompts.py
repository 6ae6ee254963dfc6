"""Prompts: contexts as token ids that a language model continues."""

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
    """Token ids of a context, and how many of its turns and tokens were cut."""

    ids: list[int]
    turns_cut: int = 0
    tokens_cut: int = 0


@dataclass(frozen=True)
class PromptFormat:
    """How a context becomes a prompt.

    Args:
        style (`str`, *optional*, defaults to `"turns"`):
            `"turns"` ends each turn with the end token, as DialoGPT does; `"chat"` uses a chat
            template; `"none"` omits the context, for a model of p(t).
        template (`str`, *optional*):
            Chat template to use instead of the tokenizer's.
        system_prompt (`str`, *optional*):
            First message of the chat template; other styles have none.
        start (`bool`, *optional*, defaults to `False`):
            Begin with the tokenizer's start token. A prompt that would be empty always does.
        max_length (`int`, *optional*):
            Maximum number of tokens; the oldest turns are removed, and the last one is cut from
            the left.
    """

    style: str = "turns"
    template: str | None = None
    system_prompt: str | None = None
    start: bool = False
    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.style not in STYLES:
            raise BadInput(
                f"Unknown style of prompts {self.style!r}.", hint=f"Choose {', '.join(STYLES)}."
            )
        if self.system_prompt and self.style != "chat":
            raise BadInput(
                "a system prompt needs a chat template, but this model has none.",
                hint="Leave out --system-prompt, or pass --chat-template FILE.",
            )
        if self.max_length is not None and self.max_length < 1:
            raise BadInput(f"`max_length` is at least 1, but got {self.max_length}.")

    @property
    def signature(self) -> str:
        """The format in signatures; long texts are hashed."""
        parts = [f"prompt:{self.style}"]
        parts += [f"template:{text_key([self.template])[:8]}"] if self.template else []
        parts += [f"system:{text_key([self.system_prompt])[:8]}"] if self.system_prompt else []
        parts += ["start"] if self.start else []
        parts += [f"max:{self.max_length}"] if self.max_length else []
        return "|".join(parts)

    def limited(self, longest: int | None) -> "PromptFormat":
        """The same format with at most so many tokens."""
        if longest is None or (self.max_length or longest + 1) <= longest:
            return self
        return replace(self, max_length=longest)

    def __call__(self, tokenizer: Any, passages: Sequence[Passage]) -> list[Prompt]:
        """Prompts of the passages' contexts."""
        if self.style == "chat":
            return [self._chat(tokenizer, passage) for passage in passages]
        start = _token(tokenizer, "bos") if self.start else []
        if self.style == "none":
            return [Prompt(start or _first(tokenizer)) for _ in passages]
        end = _token(tokenizer, "eos")
        texts = dict.fromkeys(turn.text.strip() for p in passages for turn in p.context)
        rows = tokenizer(list(texts), add_special_tokens=False)["input_ids"] if texts else []
        ids_of = dict(zip(texts, rows, strict=True))
        limit = None if self.max_length is None else self.max_length - len(start)
        return [
            self._join([[*ids_of[t.text.strip()], *end] for t in p.context], start, limit)
            if p.context
            else Prompt(start or end)
            for p in passages
        ]

    def _join(self, turns: list[list[int]], start: list[int], limit: int | None) -> Prompt:
        kept = list(turns)
        while limit is not None and len(kept) > 1 and sum(map(len, kept)) > limit:
            kept.pop(0)
        row = [token for turn in kept for token in turn]
        row = row if limit is None else row[max(0, len(row) - limit) :]
        lost = sum(map(len, turns)) - len(row)
        return Prompt([*start, *row], len(turns) - len(kept), lost)

    def _chat(self, tokenizer: Any, passage: Passage) -> Prompt:
        # A template needs a message; an empty context has an empty one.
        turns = list(passage.context) or [Turn("user", "")]
        full = ids = self._render(tokenizer, turns)
        if self.max_length is None:
            return Prompt(ids)
        dropped = 0
        while len(ids) > self.max_length and len(turns) > 1:
            turns.pop(0)
            dropped += 1
            ids = self._render(tokenizer, turns)
        if len(ids) > self.max_length:
            ids = self._cut_turn(tokenizer, turns[0], ids, self.max_length)
        return Prompt(ids, dropped, max(0, len(full) - len(ids)))

    def _cut_turn(self, tokenizer: Any, turn: Turn, ids: list[int], limit: int) -> list[int]:
        """The prompt of a turn that is cut from the left, inside a complete template."""
        words = tokenizer(turn.text, add_special_tokens=False)["input_ids"]
        while words and len(ids) > limit:
            words = words[len(ids) - limit :]
            text = tokenizer.decode(words, skip_special_tokens=False)
            ids = self._render(tokenizer, [replace(turn, text=text)])
        return ids[-limit:]  # if not even the template fits

    def _render(self, tokenizer: Any, turns: Sequence[Turn]) -> list[int]:
        system = [{"role": "system", "content": self.system_prompt}] if self.system_prompt else []
        options = {"chat_template": self.template} if self.template else {}
        try:
            text = tokenizer.apply_chat_template(
                [*system, *chat_messages(turns)],
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
    """The format for a tokenizer.

    Args:
        tokenizer (`Any`):
            Tokenizer of transformers.
        template (`str`, *optional*, defaults to `"auto"`):
            `"auto"` uses the tokenizer's chat template if it has one and the style `"turns"`
            otherwise; `"none"` always uses `"turns"`; anything else is a file with a template.
        system (`str`, *optional*):
            System prompt.
        options:
            More fields of [`PromptFormat`].

    Returns:
        `PromptFormat`: Of style `"chat"` or `"turns"`.
    """
    if template == "auto":
        has = bool(getattr(tokenizer, "chat_template", None))
        return PromptFormat("chat" if has else "turns", system_prompt=system, **options)
    if template == "none":
        return PromptFormat("turns", system_prompt=system, **options)
    path = Path(template)
    if not path.is_file():
        hint = "Give auto, none, or a Jinja file."
        raise BadInput("no such chat template.", path, hint=hint)
    text = path.read_text(encoding="utf-8")
    if not text.strip():
        raise BadInput("this chat template is empty.", path, hint="Give another one, or none.")
    return PromptFormat("chat", text, system, **options)


def _token(tokenizer: Any, name: str) -> list[int]:
    token = getattr(tokenizer, f"{name}_token_id", None)
    if token is None:
        article = "an" if name == "eos" else "a"
        raise BadInput(
            f"prompts of this style need {article} {name} token, but the tokenizer has none.",
            hint="Use a chat template, or give the tokenizer one.",
        )
    return [token]


def _first(tokenizer: Any) -> list[int]:
    """The prompt of an empty context."""
    return _token(tokenizer, "eos" if tokenizer.bos_token_id is None else "bos")
