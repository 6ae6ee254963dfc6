"""Contexts under each strategy, and the edits that were made."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

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
from dialeval.metrics.robustness_results import NORMAL, StrategyCoverage
from dialeval.perturbations import Edit, Kind, Perturbation, edit_log, perturb
from dialeval.perturbations.apply import Turns
from dialeval.perturbations.differences import differences
from dialeval.perturbations.registry import strategies, supports_language

AGAIN = "again"
"""Name of a second draw for the normal contexts, beside `NORMAL` and the strategies."""
AS_WRITTEN = ReadOptions(keep_duplicates=True, allow_empty=True)


@dataclass(frozen=True)
class Case:
    """The contexts after a strategy, in the order of the normal ones.

    Args:
        name (`str`):
            Name of the strategy.
        kind (`str`):
            `"should_change"` or `"should_not_change"`.
        signature (`str`):
            The strategy with its settings.
        passages (`tuple[Passage, ...]`):
            Perturbed contexts with the same responses.
        edits (`tuple`):
            For each passage and each turn, its edits of the normal text.
        foreign (`int`, *optional*, defaults to 0):
            Number of passages in a language that the strategy does not support.
        strategy (`Perturbation`, *optional*):
            The strategy itself, if it was applied in this run.
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
        """Which contexts have an edit, shape `(n,)`."""
        return np.array([any(map(len, turns)) for turns in self.edits], dtype=bool)

    @property
    def edited_rows(self) -> list[int]:
        """Indices of the contexts that have an edit."""
        return np.flatnonzero(self.edited).tolist()

    @property
    def coverage(self) -> float:
        """Share of contexts with at least one edit."""
        return float(self.edited.mean()) if len(self.edited) else 0.0

    def coverage_row(self) -> StrategyCoverage:
        """The row of the coverage table."""
        return StrategyCoverage(
            self.name, self.kind, self.signature, self.coverage, int(self.edited.sum()),
            len(self.edited), self.foreign,
        )  # fmt: skip


def make_cases(
    passages: Sequence[Passage],
    perturbations: Sequence[Perturbation],
    folder: Path | None = None,
    seed: int = 0,
    turns: str | tuple[int, ...] = "all",
) -> list[Case]:
    """The contexts under every strategy.

    Args:
        passages (`Sequence[Passage]`):
            The normal contexts.
        perturbations (`Sequence[Perturbation]`):
            The strategies.
        folder (`Path`, *optional*):
            Folder of the run; perturbed contexts are read from there if an earlier run wrote them.
        seed (`int`, *optional*, defaults to 0):
            Seed of the edits.
        turns (`str` or `tuple[int, ...]`, *optional*, defaults to `"all"`):
            Which turns of a context are edited.

    Returns:
        `list[Case]`: One per strategy, in order.
    """
    names = [strategy.name for strategy in perturbations]
    for name in names:
        if names.count(name) > 1 or name in (NORMAL, AGAIN):
            raise BadInput(f"two strategies are called {name!r}.", hint="Use each name once.")
    table = to_passages(passages)
    return [_make_case(table, strategy, folder, seed, turns) for strategy in perturbations]


def _make_case(
    table: Passages,
    strategy: Perturbation,
    folder: Path | None,
    seed: int,
    turns: str | tuple[int, ...],
) -> Case:
    path = folder / "perturbed" / f"{file_name(strategy.name)}.jsonl" if folder else None
    if path is not None and path.is_file():
        perturbed = read(str(path), AS_WRITTEN)[0]
    else:
        perturbed = perturb(
            table, strategy, seed=seed, turns=cast(Turns, turns), unsupported="pass"
        ).passages
        if path is not None:
            write_passages(perturbed, path)
    passages = tuple(iterate(perturbed))
    logs = tuple(tuple(map(tuple, edit_log(passage))) for passage in passages)
    foreign = sum(not supports_language(strategy, passage.language) for passage in passages)
    return Case(strategy.name, strategy.kind, repr(strategy), passages, logs, foreign, strategy)


def stored_case(
    name: str, kind: str | None, before: Sequence[Passage], after: Sequence[Passage]
) -> Case:
    """A case from contexts that were perturbed elsewhere; the edits are the differences.

    Args:
        name (`str`):
            Name of the strategy.
        kind (`str`, *optional*):
            `should_change` or `should_not_change`; needed if no strategy of dialeval has this name.
        before, after (`Sequence[Passage]`):
            Normal and perturbed contexts, aligned.

    Returns:
        `Case`: The perturbed contexts with their edits.
    """
    registered = strategies()
    if kind is None and name not in registered:
        raise BadInput(
            f"it is not known whether {name!r} should change a reply.",
            hint=f"Use {name}:should-change=FILE or {name}:should-not-change=FILE, or choose a "
            f"known name: {', '.join(registered)}.",
        )
    kind = (kind or registered[name].kind).replace("-", "_")
    if kind not in ("should_change", "should_not_change"):
        hint = "Use should-change or should-not-change."
        raise BadInput(f"Unknown kind {kind!r}.", hint=hint)
    logs = [tuple(_edits(*pair)) for pair in zip(before, after, strict=True)]
    return Case(name, cast(Kind, kind), f"stored({name})", tuple(after), tuple(logs))


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
    """The dialogue of each passage; a passage without one counts as a dialogue."""
    return [
        passage.dialogue_id or passage.id or f"#{index}" for index, passage in enumerate(passages)
    ]


def file_name(name: str) -> str:
    """A name in which only characters that are safe in file names are left."""
    safe = (char if char.isalnum() or char in "-_.+" else "-" for char in name)
    return "".join(safe) or "unnamed"
