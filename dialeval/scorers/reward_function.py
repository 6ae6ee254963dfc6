"""A scorer as the reward function that TRL's online trainers take."""

import math
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from dialeval.dialogues import Passage, Turn, to_passages
from dialeval.dialogues.cutting import NOT_SPOKEN
from dialeval.dialogues.types import alternate, text_key
from dialeval.errors import BadInput

RewardFunction = Callable[..., list[float | None]]


def reward_function(
    scorer: Any, *, separator: str | None = None, name: str | None = None
) -> RewardFunction:
    """A callable for `reward_funcs` of TRL's `GRPOTrainer` and `RLOOTrainer`.

    It takes `prompts` and `completions`, texts or lists of chat messages, and returns one reward
    each: the score of the completion as a response to the prompt. Other columns are ignored. A
    score that is not a number becomes `None`, which TRL leaves out.

    Args:
        scorer (`Scorer`, `str` or `Callable`):
            A saved discriminator by its folder or name on the Hub, any scorer, or a function from
            passages to one number each. Where a lower score means human, the reward is its
            negative.
        separator (`str`, *optional*):
            Separates the turns of a prompt that is a text, such as `"<|endoftext|>"`; by default
            such a prompt is one turn.
        name (`str`, *optional*):
            Name in TRL's logs; that of the scorer by default.

    Returns:
        `Callable`: From prompts and completions to a list of rewards.

    Examples:
        >>> length = reward_function(lambda passages: [len(t) for t in passages["response"]])
        >>> length(prompts=["hi"], completions=["hello"])
        [5.0]
        >>> length(prompts=[[{"role": "user", "content": "hi"}]],
        ...        completions=[[{"role": "assistant", "content": "hey"}]])
        [3.0]
    """
    judge = _loaded(scorer)
    sign = 1.0 if getattr(judge, "higher_is_human", True) else -1.0

    def reward(prompts: Sequence[Any], completions: Sequence[Any], **_: Any) -> list[float | None]:
        if len(prompts) != len(completions):
            raise BadInput(
                f"there are {len(prompts)} prompts, but {len(completions)} completions.",
                hint="Give one completion for each prompt.",
            )
        pairs = enumerate(zip(prompts, completions, strict=True))
        passages = [_passage(row, *pair, separator) for row, pair in pairs]
        if not passages:
            return []
        scores = np.asarray(judge(to_passages(passages)), dtype=float)
        return [None if math.isnan(score) else sign * float(score) for score in scores]

    default = getattr(judge, "name", None) or getattr(judge, "__name__", "reward")
    reward.__name__ = reward.__qualname__ = name or str(default)
    return reward


def _loaded(scorer: Any) -> Any:
    if isinstance(scorer, str | PathLike):
        from dialeval.scorers.folders import load_scorer

        return load_scorer(str(scorer))
    if not callable(scorer):
        kind = type(scorer).__name__
        hint = "Give a scorer, its folder, or a function."
        raise BadInput(f"a reward cannot be computed by an object of type {kind}.", hint=hint)
    return scorer


def _passage(row: int, prompt: Any, completion: Any, separator: str | None) -> Passage:
    context = _turns(prompt, separator)
    turns = _turns(completion, None)
    text = " ".join(turn.text for turn in turns)
    dialogue = text_key(turn.text for turn in context)
    return Passage(context, text, "policy", id=str(row), dialogue_id=dialogue)


def _turns(content: Any, separator: str | None) -> tuple[Turn, ...]:
    """Turns of a text or of chat messages; a system prompt is no turn."""
    if isinstance(content, str):
        texts = content.split(separator) if separator else [content]
        return alternate([text.strip() for text in texts if text.strip()])
    if not isinstance(content, Sequence) or not all(isinstance(m, Mapping) for m in content):
        raise BadInput(
            f"expected a text or a list of chat messages, but got {content!r:.80}.",
            hint='Messages are {"role": ..., "content": ...}.',
        )
    return tuple(
        Turn(str(message.get("role", "")), _content(message))
        for message in content
        if message.get("role") not in NOT_SPOKEN
    )


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message; of several parts those that are text."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content.strip()
    return " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
