"""Who is evaluated on what: human passages, and systems that answer the same contexts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dialeval.dialogues import (
    BadInput,
    Passage,
    Passages,
    authors,
    by_author,
    iterate,
    to_passages,
)
from dialeval.dialogues.pairing import partners
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import text_key

FEWEST, FEW = 10, 100
"""Contexts and dialogues below which folds would be empty, and contexts that are few."""

Matched = tuple[np.ndarray, np.ndarray]
"""Rows of the human file that a system answers, and its rows that do."""


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

    Answers are matched by id, and those left by the words of the context. They take over the id
    and the dialogue of the human passage, so that both sides of a context fall into one fold.

    Raises:
        BadInput: Where there are no systems, or too few contexts or dialogues in common.
    """
    _check_names(systems)
    human = _people(human)
    matched = {name: partners(human, answers) for name, answers in systems.items()}
    common = np.arange(len(human))
    for ours, _ in matched.values():
        common = np.intersect1d(common, ours)
    if len(common) < FEWEST:
        raise BadInput(_too_few(len(human), len(common), matched),
                       remedy="Give passages with the same ids, or the same contexts, in every "
                       "file.")  # fmt: skip
    remarks = list(_coverage(human, common, matched))
    chosen = _with_ids(human.select(common))
    _check_dialogues(chosen)
    answers = {}
    for name, (ours, theirs) in matched.items():  # `ours` rises, and holds all of `common`
        found = systems[name].select(theirs[np.isin(ours, common)])
        remarks += _oddities(name, chosen, found)
        answers[name] = _answers(name, chosen, found)
    return Material(chosen, answers, remarks)


def _check_names(systems: Mapping[str, Passages]) -> None:
    if not systems:
        raise BadInput("no system to evaluate.", remedy="Name one: --system bot=bot.jsonl")
    for name in systems:
        if name.strip() in ("", "human"):
            raise BadInput(
                f"a system cannot be called {name!r}.",
                remedy="Give it another name: --system bot=bot.jsonl",
            )


def _people(human: Passages) -> Passages:
    found = by_author(human, "human")
    if not len(found):
        names = ", ".join(authors(human)) or "nobody"
        raise BadInput(
            f"expected human responses, found those of {names}.",
            remedy="Give the file of the human ones with --human.",
        )
    return found


def _check_dialogues(chosen: Passages) -> None:
    dialogues = len(np.unique(row_hashes(chosen, ["dialogue_id"])))
    if dialogues < FEWEST:
        raise BadInput(
            f"{len(chosen)} contexts come from {dialogues} dialogue{'s' * (dialogues > 1)}, and "
            f"folds go by dialogue: at least {FEWEST} are needed.",
            remedy="Give each passage its dialogue_id, or more dialogues.",
        )


def _too_few(total: int, common: int, matched: Mapping[str, Matched]) -> str:
    each = ", ".join(f"{name} {len(ours):,}" for name, (ours, _) in matched.items())
    return (
        f"humans and systems answer {common} contexts in common, and at least {FEWEST} are needed. "
        f"Of {total:,} human contexts are answered: by {each}."
    )


def _coverage(human: Passages, common: np.ndarray, matched: Mapping[str, Matched]) -> Iterable[str]:
    total = len(human)
    for name, (ours, _) in matched.items():
        if len(ours) < total:
            first = int(np.setdiff1d(np.arange(total), ours)[0])
            yield (
                f"{name} answers {len(ours):,} of {total:,} human contexts; the first without an "
                f"answer is {human['id'][first]!r}."
            )
    if len(common) < total:
        yield f"{len(common):,} of {total:,} contexts are answered by all; the others are left out."
    if len(common) < FEW:
        yield f"{len(common)} contexts are few: look at the intervals, not at the numbers."


def _with_ids(human: Passages) -> Passages:
    """The passages, each with an id of its own: that of the file, or one from its words."""
    times = Counter(human["id"][:])
    if "" not in times and max(times.values()) == 1:
        return human
    seen: Counter[str] = Counter()

    def named(passage: Passage) -> Passage:
        if passage.id and times[passage.id] == 1:
            return passage
        words = text_key([passage.dialogue_id, *(turn.text for turn in passage.context)])
        key = f"{passage.id}~{words}"
        seen[key] += 1
        return replace(passage, id=key if seen[key] == 1 else f"{key}~{seen[key]}")

    return to_passages(map(named, iterate(human)))


def _answers(name: str, human: Passages, found: Passages) -> Passages:
    """A system's responses in the passages of the humans."""
    rows = zip(iterate(human), found["response"][:], strict=True)
    return to_passages(passage.with_response(text, name) for passage, text in rows)


def _oddities(name: str, human: Passages, answers: Passages) -> Iterable[str]:
    said = [text.strip() for text in answers["response"]]
    same = sum(a == b.strip() for a, b in zip(said, human["response"], strict=True))
    if same == len(said):
        yield f"{name} gives the very responses of the human file: nothing can tell them apart."
    elif same > 0.05 * len(said):
        yield f"{same:,} of {name}'s {len(said):,} responses are those of the human, word by word."
    other = row_hashes(human, ["context"]) != row_hashes(answers, ["context"])
    if other.any():
        yield (
            f"{int(other.sum()):,} of {name}'s {len(said):,} contexts have the id of a human one "
            "but other words; the human ones are used."
        )
    text, times = Counter(said).most_common(1)[0]
    if times == len(said):
        yield f"{name} gives one response to everything: {text!r}."
    empty = sum(not text for text in said)
    if empty:
        yield f"{empty:,} of {name}'s {len(said):,} responses are empty."
