"""Contexts under each strategy, and what was done to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dialeval.dialogues import (
    BadInput,
    Passage,
    Passages,
    ReadOptions,
    iterate,
    read,
    to_passages,
    write_passages,
)
from dialeval.perturbations import Edit, Kind, Perturbation, edit_log, perturb
from dialeval.perturbations.differences import differences
from dialeval.perturbations.registry import supports_language, strategies

NORMAL, AGAIN = "normal", "again"
AS_WRITTEN = ReadOptions(keep_duplicates=True, allow_empty=True)


@dataclass(frozen=True)
class Case:
    """The contexts after a strategy, in the order of the normal ones.

    Args:
        signature (`str`):
            The strategy with its settings.
        passages (`tuple[Passage, ...]`):
            Perturbed contexts with the same responses.
        edits (`tuple`):
            For each passage a list of edits for each turn, against the normal text.
        foreign (`int`, *optional*, defaults to 0):
            Passages in a language that the strategy does not know.
        strategy (`Perturbation`, *optional*):
            The strategy itself, where it was applied here.
    """

    name: str
    kind: Kind
    signature: str
    passages: tuple[Passage, ...]
    edits: tuple[tuple[tuple[Edit, ...], ...], ...]
    foreign: int = 0
    strategy: Perturbation | None = None

    @cached_property
    def edited(self) -> np.ndarray:
        """Which contexts were edited at all, shape `(n,)`."""
        return np.array([any(map(len, turns)) for turns in self.edits], dtype=bool)

    @property
    def coverage(self) -> float:
        """Share of contexts with at least one edit."""
        return float(self.edited.mean()) if len(self.edited) else 0.0


def make_cases(
    passages: Sequence[Passage],
    chosen: Sequence[Perturbation],
    folder: Path | None = None,
    seed: int = 0,
    turns: str | tuple[int, ...] = "all",
) -> list[Case]:
    """The contexts under every strategy; with a folder, those written before are read again."""
    names = [each.name for each in chosen]
    for name in names:
        if names.count(name) > 1 or name in (NORMAL, AGAIN):
            raise BadInput(f"two strategies are called {name!r}.", hint="Name each once.")
    table = to_passages(passages)
    return [_case(table, each, folder, seed, turns) for each in chosen]


def _case(
    table: Passages,
    strategy: Perturbation,
    folder: Path | None,
    seed: int,
    turns: str | tuple[int, ...],
) -> Case:
    path = folder / "perturbed" / f"{file_name(strategy.name)}.jsonl" if folder else None
    if path is not None and path.is_file():
        done = read(str(path), AS_WRITTEN)[0]
    else:
        done = perturb(table, strategy, seed=seed, turns=turns, unsupported="pass").passages
        if path is not None:
            write_passages(done, path)
    found = tuple(iterate(done))
    logs = tuple(tuple(map(tuple, edit_log(each))) for each in found)
    foreign = sum(not supports_language(strategy, each.language) for each in found)
    return Case(strategy.name, strategy.kind, repr(strategy), found, logs, foreign, strategy)


def stored_case(
    name: str, kind: str | None, before: Sequence[Passage], after: Sequence[Passage]
) -> Case:
    """A case from contexts that were perturbed elsewhere; the edits are what differs.

    Args:
        kind (`str`, *optional*):
            `should_change` or `should_not_change`, where no strategy of ours has this name.
    """
    known = strategies()
    if kind is None and name not in known:
        raise BadInput(
            f"nobody says whether {name!r} should change a reply.",
            hint=f"Say {name}:should-change=FILE or {name}:should-not-change=FILE, or choose a "
            f"known name: {', '.join(known)}.",
        )
    kind = (kind or known[name].kind).replace("-", "_")
    if kind not in ("should_change", "should_not_change"):
        hint = "Say should-change or should-not-change."
        raise BadInput(f"Unknown kind {kind!r}.", hint=hint)
    logs = [tuple(_edits(*pair)) for pair in zip(before, after, strict=True)]
    return Case(name, kind, f"stored({name})", tuple(after), tuple(logs))


def _edits(before: Passage, after: Passage) -> Iterator[tuple[Edit, ...]]:
    if len(before.context) != len(after.context):
        raise BadInput(
            f"the context {before.id!r} has {len(before.context)} turns, and {len(after.context)} "
            "after the perturbation.",
            hint="Give files that answer the same contexts.",
        )
    for old, new in zip(before.context, after.context, strict=True):
        yield tuple(differences(old.text, new.text)) if old.text != new.text else ()


def dialogues_of(passages: Sequence[Passage]) -> list[str]:
    """The dialogue of each passage; one that does not say stands for itself."""
    return [each.dialogue_id or each.id or f"#{row}" for row, each in enumerate(passages)]


def file_name(name: str) -> str:
    """A name without what file systems take for something else."""
    return "".join(sign if sign.isalnum() or sign in "-_.+" else "-" for sign in name) or "unnamed"
