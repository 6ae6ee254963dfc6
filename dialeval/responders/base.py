"""What a responder is: passages in, the same contexts answered by someone else out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dialeval.dialogues import BadInput, Passage

HYPOTHESIS = "hypothesis"
"""Key in `Passage.extra` that numbers the answers of a responder who gives several."""


class Responder(Protocol):
    """Answers contexts: a generator, an endpoint, a file, a draw of another human's reply.

    Attributes:
        name (`str`):
            What tables call it; the `author` of its answers.
    """

    name: str

    @property
    def signature(self) -> str:
        """How its answers are made, in one line."""
        ...

    def stream(self, passages: Sequence[Passage]) -> Iterator[tuple[int, Passage]]:
        """Answers as they are ready, each with the place of its passage.

        Passages may come in any order; the answers to one of them follow each other.
        """
        ...


def respond(responder: Responder, passages: Sequence[Passage]) -> list[Passage]:
    """The answers of a responder in the order of the passages, hypotheses side by side."""
    found = sorted(
        responder.stream(passages), key=lambda pair: (pair[0], pair[1].extra.get(HYPOTHESIS, 0))
    )
    missing = set(range(len(passages))) - {place for place, _ in found}
    if missing:
        raise BadInput(f"{responder.name} left {len(missing)} of {len(passages)} unanswered.")
    return [passage for _, passage in found]


def answer(passage: Passage, text: str, responder: Responder, **extra: Any) -> Passage:
    """A passage with a responder's text as its response, and what is known about that text."""
    kept = {**passage.extra, **extra}
    return replace(passage.with_response(text, responder.name), extra=kept)
