"""Answers that someone gave before: responses from a file that is already read."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from dialeval.dialogues import BadInput, Passage, Passages, authors, by_author, iterate
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import BATCH, as_table, chunks, iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.responders.base import HYPOTHESIS, answer
from dialeval.responders.simple import Answers, pool_name

logger = logging.getLogger(__name__)


class StoredResponder:
    """The stored answers to each passage, found by its id, else by the words of its context.

    Several answers to one context are numbered as hypotheses, in the order of their own numbers,
    then of the file. Where an id stands at several contexts, the passage's own one counts.

    Args:
        answers (`Passages` or sequence of `Passage`):
            What `read` gives. Human responses beside those of a system are left aside.
        name (`str`, *optional*):
            Whose answers to take where there are several systems, else what to call the one; by
            default its own name, or `"stored"` for a file that does not say who wrote it.
    """

    def __init__(self, answers: Passages | Sequence[Passage], name: str | None = None) -> None:
        self._answers, self.name = _one_system(as_table(answers), name)
        self._contexts: list[str] = []
        self._by_id: dict[str, list[int]] = {}
        self._by_context: dict[str, list[int]] = {}
        numbers = []
        for row, passage in enumerate(iterate(self._answers)):
            numbers.append(passage.extra.get(HYPOTHESIS, 0))
            self._contexts.append(_words(passage))
            self._by_context.setdefault(self._contexts[-1], []).append(row)
            if passage.id:
                self._by_id.setdefault(passage.id, []).append(row)
        for rows in (*self._by_id.values(), *self._by_context.values()):
            rows.sort(key=numbers.__getitem__)
        self._pool = pool_name(row_hashes(self._answers, ["id", "context", "response"]))

    @property
    def signature(self) -> str:
        """Which answers these are."""
        return f"responder:{self.name}|stored:{self._pool}"

    def __repr__(self) -> str:
        return self.signature

    def stream(self, passages: Passages | Sequence[Passage]) -> Answers:
        """The stored answers to each passage.

        Raises:
            BadInput: Before the first answer, where a passage has none.
        """
        found = [self._rows(passage) for passage in iterate_passages(passages)]
        self._check(passages, found)
        for group in chunks(zip(enumerate(iterate_passages(passages)), found, strict=True), BATCH):
            rows = [row for _, chosen in group for row in chosen]
            stored = iterate(self._answers.select(rows, keep_in_memory=True))
            for (place, passage), chosen in group:
                for number in range(len(chosen)):
                    numbered = {HYPOTHESIS: number} if len(chosen) > 1 else {}
                    yield place, self._answer(passage, next(stored), numbered)

    def _answer(self, passage: Passage, stored: Passage, numbered: dict[str, int]) -> Passage:
        known = {key: value for key, value in stored.extra.items() if key != HYPOTHESIS}
        said = answer(passage, stored.response, self, **{**known, **numbered})
        return replace(said, source_dialogue_id=stored.source_dialogue_id)

    def _rows(self, passage: Passage) -> list[int]:
        words = _words(passage)
        same_id = self._by_id.get(passage.id, [])
        both = [row for row in same_id if self._contexts[row] == words]
        return both or same_id or self._by_context.get(words, [])

    def _check(self, passages: Passages | Sequence[Passage], found: list[list[int]]) -> None:
        pairs = zip(iterate_passages(passages), found, strict=True)
        missing, moved = [], 0
        for passage, rows in pairs:
            if not rows:
                missing.append(passage.id or passage.context[-1].text)
            else:
                moved += self._contexts[rows[0]] != _words(passage)
        if missing:
            raise BadInput(
                f"{self.name} has no stored answer to {len(missing)} of {len(found)} passages; "
                f"the first is {missing[0]!r}.",
                hint="Give the file that answers them: the same ids, or the same contexts.",
            )
        if moved:
            logger.warning(
                "%d of %d answers of %s have the right id but answer a context of other words.",
                moved,
                len(found),
                self.name,
            )


def _one_system(answers: Passages, name: str | None) -> tuple[Passages, str]:
    """The passages of one author, and what to call that author."""
    if not len(answers):
        raise BadInput("expected stored answers, found an empty file.")
    names = list(authors(answers))
    if name in names:
        return by_author(answers, name), name
    systems = [each for each in names if each != "human"]
    if len(systems) > 1:
        asked = "no name" if name is None else repr(name)
        raise BadInput(
            f"expected the answers of one system, found {len(systems)}, and {asked} to choose by.",
            hint=f"Choose one of {', '.join(systems)}.",
        )
    if systems:
        return by_author(answers, systems[0]), name or systems[0]
    return answers, name or "stored"


def _words(passage: Passage) -> str:
    return text_key(turn.text for turn in passage.context)
