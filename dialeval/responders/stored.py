"""Responses that are already in a file."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dialeval.dialogues import BadInput, Passage, Passages, authors, by_author, iterate, read
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import BATCH, as_table, chunks, iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.responders.base import HYPOTHESIS, Responses, answer
from dialeval.responders.simple import pool_name

logger = logging.getLogger(__name__)


class StoredResponder:
    """Stored responses, looked up by the passage's id, else by the words of its context.

    Several responses to one context are numbered as hypotheses, in the order of their numbers,
    then of the file. If several contexts share an id, the one with the same words is used.

    Args:
        answers (`Passages` or sequence of `Passage`):
            Passages with responses, as `read` returns them. Human responses are ignored if there
            are others.
        name (`str`, *optional*):
            Which system's responses to use if there are several, otherwise the name in tables; by
            default the author, or `"stored"` for a file without authors.
    """

    def __init__(self, answers: Passages | Sequence[Passage], name: str | None = None) -> None:
        self._answers, self.name = _one_system(as_table(answers), name)
        self._contexts: list[str] = []
        self._by_id: dict[str, list[int]] = {}
        self._by_context: dict[str, list[int]] = {}
        numbers = []
        for row, passage in enumerate(iterate(self._answers)):
            numbers.append(_number(passage.extra.get(HYPOTHESIS)))
            self._contexts.append(_words(passage))
            self._by_context.setdefault(self._contexts[-1], []).append(row)
            if passage.id:
                self._by_id.setdefault(passage.id, []).append(row)
        for rows in (*self._by_id.values(), *self._by_context.values()):
            rows.sort(key=numbers.__getitem__)
        self._pool = pool_name(row_hashes(self._answers, ["id", "context", "response"]))

    @property
    def signature(self) -> str:
        """A hash of the responses."""
        return f"responder:{self.name}|stored:{self._pool}"

    def __repr__(self) -> str:
        return self.signature

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """The stored responses to each passage.

        Raises:
            BadInput: Before the first response, if a passage has none.
        """
        rows_of = [self._rows(passage) for passage in iterate_passages(passages)]
        self._check(passages, rows_of)
        pairs = zip(enumerate(iterate_passages(passages)), rows_of, strict=True)
        for group in chunks(pairs, BATCH):
            rows = [row for _, chosen in group for row in chosen]
            stored = iterate(self._answers.select(rows, keep_in_memory=True))
            for (index, passage), chosen in group:
                for number in range(len(chosen)):
                    numbered = {HYPOTHESIS: number} if len(chosen) > 1 else {}
                    yield index, self._response(passage, next(stored), numbered)

    def _response(self, passage: Passage, stored: Passage, numbered: dict[str, int]) -> Passage:
        facts = {key: value for key, value in stored.extra.items() if key != HYPOTHESIS}
        response = answer(passage, stored.response, self, **{**facts, **numbered})
        return replace(response, source_dialogue_id=stored.source_dialogue_id)

    def _rows(self, passage: Passage) -> list[int]:
        """Rows with the responses to a passage."""
        words = _words(passage)
        same_id = self._by_id.get(passage.id, [])
        both = [row for row in same_id if self._contexts[row] == words]
        return both or same_id or self._by_context.get(words, [])

    def _check(self, passages: Passages | Sequence[Passage], rows_of: list[list[int]]) -> None:
        """Refuse passages without a response; warn about contexts with other words."""
        missing, changed = [], 0
        for passage, rows in zip(iterate_passages(passages), rows_of, strict=True):
            if not rows:
                missing.append(passage.id or passage.context[-1].text)
            else:
                changed += self._contexts[rows[0]] != _words(passage)
        if missing:
            raise BadInput(
                f"{self.name} has no stored answer to {len(missing)} of {len(rows_of)} passages; "
                f"the first is {missing[0]!r}.",
                hint="Give a file with responses to them: the same ids, or the same contexts.",
            )
        if changed:
            logger.warning(
                "%d of %d answers of %s have the right id but a context with other words.",
                changed,
                len(rows_of),
                self.name,
            )


def load_stored(
    path: str | Sequence[str] = "",
    *,
    answers: Passages | Sequence[Passage] | None = None,
    name: str | None = None,
) -> StoredResponder:
    """Stored responses from files.

    Args:
        path (`str` or sequence of `str`, *optional*):
            Files of responses.
        answers (`Passages` or sequence of `Passage`, *optional*):
            The responses, if they are already read.
        name (`str`, *optional*):
            As in [`StoredResponder`].

    Returns:
        `StoredResponder`: With these responses.
    """
    if answers is None:
        if not path:
            hint = "Give stored:FILE; `dialeval generate --responder stored` takes --answers FILE."
            raise BadInput("no file of stored responses.", hint=hint)
        answers = read(path)[0]
    return StoredResponder(answers, name)


def _one_system(answers: Passages, name: str | None) -> tuple[Passages, str]:
    """The passages of one author, and the name for that author."""
    if not len(answers):
        raise BadInput("expected stored responses, but the file is empty.")
    names = list(authors(answers))
    if name is not None and name in names:
        return by_author(answers, name), name
    systems = [author for author in names if author != "human"]
    if len(systems) > 1:
        given = "no name was" if name is None else f"the name {name!r} was"
        raise BadInput(
            f"expected the answers of one system, got {len(systems)}, and {given} given.",
            hint=f"Choose one of {', '.join(systems)}.",
        )
    if systems:
        return by_author(answers, systems[0]), name or systems[0]
    return answers, name or "stored"


def _number(value: Any) -> int:
    """The number of a hypothesis, which a table has as a text; 0 where there is none."""
    return int(value) if str(value).isdecimal() else 0


def _words(passage: Passage) -> str:
    """A hash of the words of a context."""
    return text_key(turn.text for turn in passage.context)
