"""Applies a strategy to passages: edits the contexts, keeps the responses, logs every edit."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count
from typing import Any, Literal

import numpy as np

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.storage import Passages
from dialeval.dialogues.types import Passage, text_key
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.registry import supports_language

logger = logging.getLogger(__name__)

PERTURBATION = "perturbation"
"""Key of the strategy and its edits in `Passage.extra`."""

_COUNT = "_edits"  # a temporary column; -1 for an unsupported language
_numbers = count()

Turns = Literal["all", "last"] | Sequence[int]


@dataclass(frozen=True)
class Perturbed:
    """Perturbed passages, and how many of them the strategy edited.

    Args:
        passages (`Passages`):
            The perturbed passages.
        strategy (`str`):
            The strategy's signature.
        edited (`int`):
            Passages with at least one edit.
        untouched (`int`):
            Passages in which there was nothing to edit.
        foreign (`int`):
            Passages in an unsupported language, passed through unedited.
        edits (`int`):
            Total number of edits.
    """

    passages: Passages
    strategy: str
    edited: int
    untouched: int
    foreign: int
    edits: int

    @property
    def coverage(self) -> float:
        """Share of passages with at least one edit."""
        return self.edited / len(self.passages) if len(self.passages) else 0.0


def perturb(
    passages: Passages,
    strategy: Perturbation,
    *,
    seed: int = 0,
    turns: Turns = "all",
    num_proc: int | None = None,
    unsupported: Literal["refuse", "pass"] = "refuse",
) -> Perturbed:
    """Edit the contexts of passages; ids and responses do not change.

    The random numbers of a turn depend only on the seed, the strategy's name, the passage's id and
    the turn's number: not on the order of passages, nor on batches or processes.

    Args:
        passages (`Passages`):
            Passages whose contexts are edited.
        strategy (`Perturbation`):
            The strategy, as [`perturbation`] gives it.
        seed (`int`, *optional*, defaults to 0):
            Seed of the random numbers.
        turns (`str` or `Sequence[int]`, *optional*, defaults to `"all"`):
            Which turns of a context are edited: `"all"`, `"last"`, or numbers from 0, negative
            ones from the end. A context without such a turn is not edited.
        num_proc (`int`, *optional*):
            Number of processes; one by default.
        unsupported (`str`, *optional*, defaults to `"refuse"`):
            What to do with passages in a language that the strategy does not support: `"refuse"`
            raises an error, `"pass"` leaves them unedited and counts them. A passage without a
            language counts as English.

    Returns:
        [`Perturbed`]: The perturbed passages with counts of what was edited.
    """
    _check(turns, unsupported)
    if unsupported == "refuse":
        _refuse_languages(passages, strategy)
    editor = _BatchEditor(strategy, seed, turns if isinstance(turns, str) else tuple(turns))
    key = text_key([repr(strategy), str(seed), str(turns), passages._fingerprint])
    done = passages.map(
        editor,
        batched=True,
        num_proc=num_proc if num_proc and num_proc > 1 else None,
        load_from_cache_file=False,
        new_fingerprint=f"{key}{next(_numbers):x}",  # hashing a strategy could hash a whole model
        desc=strategy.name,
    )
    counts = np.array(done[_COUNT] if len(done) else [], dtype=np.int64)
    result = Perturbed(
        done.remove_columns(_COUNT) if _COUNT in done.column_names else done,
        repr(strategy),
        edited=int((counts > 0).sum()),
        untouched=int((counts == 0).sum()),
        foreign=int((counts < 0).sum()),
        edits=int(counts.clip(min=0).sum()),
    )
    if not result.edited:
        logger.warning("%s edited nothing: its coverage is 0.", result.strategy)
    return result


def edit_contexts(
    passages: Sequence[Passage], strategy: Perturbation, seed: int = 0
) -> tuple[list[Passage], np.ndarray]:
    """Passages as [`perturb`] edits them, and the number of edits of each; nothing is logged.

    It is for contexts that are edited again and again, such as those of a training.

    Args:
        passages (`Sequence[Passage]`):
            Passages whose contexts are edited.
        strategy (`Perturbation`):
            The strategy; passages in a language that it does not support are not edited.
        seed (`int`, *optional*, defaults to 0):
            Seed of the random numbers.

    Returns:
        `tuple[list[Passage], ndarray]`: The passages, and counts of shape `(passages,)`.
    """
    texts, turns = [], []
    for row, passage in enumerate(passages):
        if supports_language(strategy, passage.language):
            texts += [turn.text for turn in passage.context]
            turns += [(row, number) for number in range(len(passage.context))]
    seeds = seeds_of(seed, strategy.name, ((passages[row].id, number) for row, number in turns))
    new_texts, logs = strategy.apply(texts, seeds)
    contexts = [[turn.text for turn in passage.context] for passage in passages]
    counts = np.zeros(len(passages), dtype=np.int64)
    for (row, number), text, log in zip(turns, new_texts, logs, strict=True):
        contexts[row][number] = text
        counts[row] += len(log)
    edited = [
        passage.with_context(context) if count else passage
        for passage, context, count in zip(passages, contexts, counts, strict=True)
    ]
    return edited, counts


def edit_log(passage: Passage) -> list[list[Edit]]:
    """The edits of a perturbed passage, one list per turn of its context."""
    record = passage.extra.get(PERTURBATION, {})
    return [[Edit(*edit) for edit in turn] for turn in record.get("edits", ())]


def seeds_of(seed: int, name: str, turns: Iterable[tuple[str, int]]) -> list[int]:
    """A 64-bit seed for each turn, the same on every machine.

    Args:
        seed (`int`):
            Seed of the run.
        name (`str`):
            Name of the strategy.
        turns (`Iterable[tuple[str, int]]`):
            Passage id and turn number of each turn.

    Returns:
        `list[int]`: One seed per turn.
    """
    begin = f"{seed}\x1f{name}\x1f"
    keys = (f"{begin}{id}\x1f{turn}".encode("utf-8", "surrogatepass") for id, turn in turns)
    digests = b"".join([blake2b(key, digest_size=8).digest() for key in keys])
    return np.frombuffer(digests, ">u8").tolist()


@dataclass(frozen=True)
class _BatchEditor:
    """Edits a batch of rows."""

    strategy: Perturbation
    seed: int
    turns: str | tuple[int, ...]

    def __call__(self, rows: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        contexts = [[turn["text"] for turn in context] for context in rows["context"]]
        selected = [
            self._selected_turns(len(texts)) if supports_language(self.strategy, language) else None
            for texts, language in zip(contexts, rows["language"], strict=True)
        ]
        logs = self._edit(rows["id"], contexts, selected)
        return {
            "context": [
                [{**turn, "text": text} for turn, text in zip(context, texts, strict=True)]
                for context, texts in zip(rows["context"], contexts, strict=True)
            ],
            "extra": [
                self._add_record(extra, log) for extra, log in zip(rows["extra"], logs, strict=True)
            ],
            _COUNT: [
                -1 if indices is None else sum(map(len, log))
                for indices, log in zip(selected, logs, strict=True)
            ],
        }

    def _selected_turns(self, length: int) -> list[int]:
        """Indices of the turns to edit in a context with `length` turns."""
        if isinstance(self.turns, str) and self.turns == "all":
            return list(range(length))
        turns = (-1,) if isinstance(self.turns, str) else self.turns
        indices = {index + length if index < 0 else index for index in turns}
        return sorted(index for index in indices if 0 <= index < length)

    def _edit(
        self,
        ids: Sequence[str],
        contexts: Sequence[list[str]],
        selected: Sequence[Sequence[int] | None],
    ) -> list[list[Sequence[Edit]]]:
        """Edit the contexts in place in one call of the strategy; returns the edits by turn."""
        positions = [(row, turn) for row, indices in enumerate(selected) for turn in indices or ()]
        texts = [contexts[row][turn] for row, turn in positions]
        turns = ((ids[row], turn) for row, turn in positions)
        seeds = seeds_of(self.seed, self.strategy.name, turns)
        logs: list[list[Sequence[Edit]]] = [[() for _ in texts] for texts in contexts]
        new_texts, new_logs = self.strategy.apply(texts, seeds)
        for (row, turn), text, edits in zip(positions, new_texts, new_logs, strict=True):
            contexts[row][turn] = text
            logs[row][turn] = edits
        return logs

    def _add_record(self, extra: str | None, log: Sequence[Sequence[Edit]]) -> str:
        """The extra column with the strategy and its edits."""
        record = {"strategy": repr(self.strategy), "seed": self.seed, "edits": log}
        fields = json.loads(extra) if extra else {}
        return json.dumps({**fields, PERTURBATION: record}, ensure_ascii=False)


def _check(turns: Turns, unsupported: str) -> None:
    if isinstance(turns, str) and turns not in ("all", "last"):
        raise BadInput(f"unknown turns {turns!r}.", hint="Use all, last, or numbers from 0.")
    if unsupported not in ("refuse", "pass"):
        message = f"`unsupported` must be refuse or pass, but got {unsupported!r}."
        raise BadInput(message)


def _refuse_languages(passages: Passages, strategy: Perturbation) -> None:
    languages = passages.unique("language") if len(passages) else []
    unsupported = sorted(code for code in languages if not supports_language(strategy, code))
    if unsupported:
        supported = ", ".join(strategy.languages or ())
        raise BadInput(
            f"{strategy.name} supports {supported}, but some passages are in "
            f"{', '.join(unsupported)}.",
            hint='Remove them, or pass them through unedited with unsupported="pass".',
        )
