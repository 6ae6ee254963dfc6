"""The responder interface: passages in, the same contexts with another author's response out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dialeval.dialogues import BadInput, Passage, Passages

HYPOTHESIS = "hypothesis"
"""Key in `Passage.extra` with the number of a response, where a context has several."""

CUT = "cut"
"""Key in `Passage.extra` of a response that was cut at the maximum length."""

Responses = Iterator[tuple[int, Passage]]
"""Passages with their new response, each with the index of the passage it answers."""


class Responder(Protocol):
    """Responds to contexts: a generator, an endpoint, a file, a draw of another human's reply.

    Attributes:
        name (`str`):
            Name in tables, and `author` of the responses.
        signature (`str`):
            One line that identifies how the responses are made; equal signatures mean equal
            responses. It contains no secrets.
    """

    @property
    def name(self) -> str:
        """Name in tables, and `author` of the responses."""
        ...

    @property
    def signature(self) -> str:
        """How the responses are made, in one line."""
        ...

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """Yield responses as they are ready, each with the index of its passage.

        Passages may be answered in any order; several responses to one passage are consecutive.
        """
        ...


def respond(responder: Responder, passages: Passages | Sequence[Passage]) -> list[Passage]:
    """The responses in the order of the passages, hypotheses of one passage next to each other."""
    responses = sorted(
        responder.stream(passages), key=lambda pair: (pair[0], pair[1].extra.get(HYPOTHESIS, 0))
    )
    missing = set(range(len(passages))) - {index for index, _ in responses}
    if missing:
        raise BadInput(f"{responder.name} left {len(missing)} of {len(passages)} unanswered.")
    return [passage for _, passage in responses]


def answer(passage: Passage, text: str, responder: Responder, **extra: Any) -> Passage:
    """The passage with a responder's text as its response.

    Args:
        passage (`Passage`):
            Whose context is answered.
        text (`str`):
            The response.
        responder (`Responder`):
            Its name becomes the author.
        extra:
            Facts about the response, added to `Passage.extra`.

    Returns:
        `Passage`: The same context with the new response.
    """
    return replace(passage.with_response(text, responder.name), extra={**passage.extra, **extra})


def cut_responses(passages: Passages) -> int:
    """How many responses were cut at the maximum length, where their source says so."""
    texts = (text for text in passages["extra"] if text and f'"{CUT}"' in text)
    return sum(bool(json.loads(text).get(CUT)) for text in texts)


def cut_warning(cut: int, count: int) -> str:
    """What to know about cut responses, without a full stop.

    Examples:
        >>> cut_warning(88, 120)
        '88 of 120 replies were cut at the maximum length: raise --max-new-tokens'
    """
    budget = "cut at the maximum length: raise --max-new-tokens"
    return f"{cut:,} of {count:,} replies were {budget}"
