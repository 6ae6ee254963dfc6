"""A strategy on passages: every context edited, no response touched, every edit on record."""

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
from dialeval.perturbations.registry import speaks

logger = logging.getLogger(__name__)

PERTURBATION = "perturbation"
"""Key in `Passage.extra` under which the strategy and its edits stand."""

_COUNT = "_edits"  # a column for the time of the work; -1 for another language
_numbers = count()

Turns = Literal["all", "last"] | Sequence[int]


@dataclass(frozen=True)
class Perturbed:
    """Passages after a strategy, and how many of them it could edit.

    Args:
        strategy (`str`):
            The strategy's signature.
        edited (`int`):
            Passages with at least one edit.
        untouched (`int`):
            Passages in which the strategy found nothing to edit.
        foreign (`int`):
            Passages that were passed through because they are in another language.
        edits (`int`):
            Edits in all.
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
    """Edit the contexts of passages; ids and responses stay as they are.

    What is drawn for a turn depends on the seed, the strategy's name, the passage's id and the
    turn's number alone: not on the order of passages, nor on batches or processes.

    Args:
        turns (`str` or `Sequence[int]`, *optional*, defaults to `"all"`):
            Which turns of a context are edited: `"all"`, `"last"`, or numbers from 0, negative
            ones from the end. A context without such a turn is left alone.
        unsupported (`str`, *optional*, defaults to `"refuse"`):
            `"pass"` lets passages in a language that the strategy does not know through unedited
            and counts them. A passage without a language counts as English.
    """
    _check(turns, unsupported)
    if unsupported == "refuse":
        _refuse_languages(passages, strategy)
    work = _Work(strategy, seed, turns if isinstance(turns, str) else tuple(turns))
    key = text_key([repr(strategy), str(seed), str(turns), passages._fingerprint])
    done = passages.map(
        work,
        batched=True,
        num_proc=num_proc if num_proc and num_proc > 1 else None,
        load_from_cache_file=False,
        new_fingerprint=f"{key}{next(_numbers):x}",  # hashing a strategy could mean a whole model
        desc=strategy.name,
    )
    counts = np.array(done[_COUNT] if len(done) else [], dtype=np.int64)
    found = Perturbed(
        done.remove_columns(_COUNT) if _COUNT in done.column_names else done,
        repr(strategy),
        edited=int((counts > 0).sum()),
        untouched=int((counts == 0).sum()),
        foreign=int((counts < 0).sum()),
        edits=int(counts.clip(min=0).sum()),
    )
    if not found.edited:
        logger.warning("%s had nothing to edit: its coverage is 0.", found.strategy)
    return found


def edit_log(passage: Passage) -> list[list[Edit]]:
    """The edits of a perturbed passage, a list for each turn of its context."""
    found = passage.extra.get(PERTURBATION, {})
    return [[Edit(*each) for each in turn] for turn in found.get("edits", ())]


def seeds_of(seed: int, name: str, turns: Iterable[tuple[str, int]]) -> list[int]:
    """A seed of 64 bits for each turn of a passage, the same on every machine.

    Args:
        turns (`Iterable[tuple[str, int]]`):
            The passage's id and the turn's number.
    """
    begin = f"{seed}\x1f{name}\x1f"
    keys = (f"{begin}{id}\x1f{turn}".encode("utf-8", "surrogatepass") for id, turn in turns)
    digests = b"".join([blake2b(key, digest_size=8).digest() for key in keys])
    return np.frombuffer(digests, ">u8").tolist()


@dataclass(frozen=True)
class _Work:
    """What is done to a batch of rows."""

    strategy: Perturbation
    seed: int
    turns: str | tuple[int, ...]

    def __call__(self, rows: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
        contexts = [[turn["text"] for turn in context] for context in rows["context"]]
        wanted = [
            self._wanted(len(texts)) if speaks(self.strategy, language) else None
            for texts, language in zip(contexts, rows["language"], strict=True)
        ]
        logs = self._edit(rows["id"], contexts, wanted)
        return {
            "context": [
                [{**turn, "text": text} for turn, text in zip(context, texts, strict=True)]
                for context, texts in zip(rows["context"], contexts, strict=True)
            ],
            "extra": [
                self._told(extra, log) for extra, log in zip(rows["extra"], logs, strict=True)
            ],
            _COUNT: [
                -1 if places is None else sum(map(len, log))
                for places, log in zip(wanted, logs, strict=True)
            ],
        }

    def _wanted(self, length: int) -> list[int]:
        """Turns to edit in a context of so many."""
        if self.turns == "all":
            return list(range(length))
        chosen = (-1,) if self.turns == "last" else self.turns
        places = {place + length if place < 0 else place for place in chosen}
        return sorted(place for place in places if 0 <= place < length)

    def _edit(
        self,
        ids: Sequence[str],
        contexts: Sequence[list[str]],
        wanted: Sequence[Sequence[int] | None],
    ) -> list[list[Sequence[Edit]]]:
        """Edit the contexts in place, in one call of the strategy; gives the edits of each turn."""
        asked = [(row, turn) for row, places in enumerate(wanted) for turn in places or ()]
        texts = [contexts[row][turn] for row, turn in asked]
        seeds = seeds_of(self.seed, self.strategy.name, ((ids[row], turn) for row, turn in asked))
        logs: list[list[Sequence[Edit]]] = [[() for _ in texts] for texts in contexts]
        made = self.strategy.edited(texts, seeds)
        for (row, turn), text, edits in zip(asked, made.texts, made.logs, strict=True):
            contexts[row][turn] = text
            logs[row][turn] = edits
        return logs

    def _told(self, extra: str | None, log: Sequence[Sequence[Edit]]) -> str:
        """The extra column with the strategy and its edits."""
        told = {"strategy": repr(self.strategy), "seed": self.seed, "edits": log}
        known = json.loads(extra) if extra else {}
        return json.dumps({**known, PERTURBATION: told}, ensure_ascii=False)


def _check(turns: Turns, unsupported: str) -> None:
    if isinstance(turns, str) and turns not in ("all", "last"):
        raise BadInput(f"Unknown turns {turns!r}.", remedy="Say all, last, or numbers from 0.")
    if unsupported not in ("refuse", "pass"):
        raise BadInput(f"Cannot {unsupported!r} other languages.", remedy="Say refuse or pass.")


def _refuse_languages(passages: Passages, strategy: Perturbation) -> None:
    found = passages.unique("language") if len(passages) else []
    strange = sorted(language for language in found if not speaks(strategy, language))
    if strange:
        raise BadInput(
            f"{strategy.name} knows {', '.join(strategy.languages)}, but some passages are in "
            f"{', '.join(strange)}.",
            remedy='Leave them out, or let them through unedited with unsupported="pass".',
        )
