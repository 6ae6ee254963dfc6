"""Who is evaluated on what: human passages, and systems that answer the same contexts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.pairing import partners
from dialeval.dialogues.splits import row_hashes

FEWEST = 10
"""Contexts below which folds would be empty."""


@dataclass
class Material:
    """Human passages and systems' answers to them, row by row on the same contexts.

    Args:
        remarks (`list[str]`):
            What a reader has to know about these data.
    """

    human: Passages
    systems: dict[str, Passages]
    remarks: list[str] = field(default_factory=list)


def align(human: Passages, systems: Mapping[str, Passages]) -> Material:
    """The contexts that everybody answers, in the order of the human file.

    Raises:
        BadInput: Where there are no systems, or too few contexts in common.
    """
    if not systems:
        raise BadInput("no system to evaluate.", remedy="Name one: --system bot=bot.jsonl")
    matched = {name: partners(human, answers) for name, answers in systems.items()}
    common = np.arange(len(human))
    for ours, _ in matched.values():
        common = np.intersect1d(common, ours)
    remarks = list(_coverage(len(human), len(common), matched))
    if len(common) < FEWEST:
        raise BadInput(
            f"humans and systems answer {len(common)} contexts in common, and at least {FEWEST} "
            "are needed.",
            remedy="Give passages with the same ids, or the same contexts, in every file.",
        )
    chosen = human.select(common)
    answers = {
        name: systems[name].select(theirs[np.isin(ours, common)][_order(ours, common)])
        for name, (ours, theirs) in matched.items()
    }
    remarks += [
        remark for name, each in answers.items() for remark in _oddities(name, chosen, each)
    ]
    dialogues = len(np.unique(row_hashes(chosen, ["dialogue_id"])))
    if dialogues < FEWEST:
        raise BadInput(
            f"{len(common)} contexts come from {dialogues} dialogues, and folds go by dialogue.",
            remedy="Give each passage its dialogue_id, or more dialogues.",
        )
    return Material(chosen, answers, remarks)


def _order(ours: np.ndarray, common: np.ndarray) -> np.ndarray:
    """Places of the common rows, in the order of the human file."""
    kept = ours[np.isin(ours, common)]
    return np.argsort(kept, kind="stable")


def _coverage(
    total: int, common: int, matched: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> Iterable[str]:
    for name, (ours, _) in matched.items():
        if len(ours) < total:
            yield f"{name} answers {len(ours):,} of {total:,} human contexts."
    if common < total:
        yield f"{common:,} of {total:,} contexts are answered by all; the others are left out."
    if common < 100:
        yield f"{common} contexts are few: look at the intervals, not at the numbers."


def _oddities(name: str, human: Passages, answers: Passages) -> Iterable[str]:
    said = [text.strip() for text in answers["response"]]
    same = sum(a == b.strip() for a, b in zip(said, human["response"], strict=True))
    if same == len(said):
        yield f"{name} gives the very responses of the human file: nothing can tell them apart."
    elif same > 0.05 * len(said):
        yield f"{same:,} of {name}'s {len(said):,} responses are those of the human, word by word."
    text, times = Counter(said).most_common(1)[0]
    if times == len(said):
        yield f"{name} gives one response to everything: {text!r}."
    empty = sum(not text for text in said)
    if empty:
        yield f"{empty:,} of {name}'s {len(said):,} responses are empty."
