"""Who is evaluated on what: human passages, and systems that answer the same contexts."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

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
from dialeval.metrics.results import SECOND_HUMAN

FEWEST, FEW = 10, 100
"""Contexts and dialogues below which folds would be empty, and contexts that are few."""

TRAINED_AGAINST = "discriminator_fingerprint"
"""Where a system's training, or what is known beside a response, names the judge it is from."""

Matched = tuple[np.ndarray, np.ndarray]
"""Rows of the human file that a system answers, and its rows that do."""


@dataclass
class EvaluationData:
    """Human passages and systems' answers to them, row by row on the same contexts.

    Args:
        warnings (`list[str]`):
            What a reader has to know about these data.
        training (`dict`, *optional*):
            What is known about how systems were trained.
        second (`tuple[Passages, Passages]`, *optional*):
            Human passages that another human answers too, and what that one says.
    """

    human: Passages
    systems: dict[str, Passages]
    warnings: list[str] = field(default_factory=list)
    training: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    second: tuple[Passages, Passages] | None = None

    @property
    def names(self) -> list[str]:
        """Everybody who is set against the human: the systems, and the second human."""
        return [*self.systems, *([SECOND_HUMAN] if self.second else [])]

    def sides(self, name: str) -> tuple[Passages, Passages | None]:
        """The human passages, and the answers of a system to them, if it is one."""
        if name == SECOND_HUMAN and self.second:
            return self.second
        return self.human, self.systems.get(name)


def align(
    human: Passages,
    systems: Mapping[str, Passages],
    second: Passages | None = None,
    training: Mapping[str, Mapping[str, Any]] | None = None,
    alone: bool = False,
) -> EvaluationData:
    """The contexts that every system answers, in the order of the human file.

    Answers are matched by id, and those left by the words of the context. They take over the id
    and the dialogue of the human passage, so that both sides of a context fall into one fold.

    Args:
        second (`Passages`, *optional*):
            What a second human answers: see [`second_humans`]. No context is left out for it.
        training (`Mapping`, *optional*):
            What is known about how each system was trained.
        alone (`bool`, *optional*, defaults to `False`):
            Whether there may be no system at all.

    Raises:
        BadInput: Where there are no systems, or too few contexts or dialogues in common.
    """
    _check_names(systems, alone)
    human = _people(human)
    matched = {name: partners(human, answers) for name, answers in systems.items()}
    common = np.arange(len(human))
    for ours, _ in matched.values():
        common = np.intersect1d(common, ours)
    if len(common) < FEWEST:
        raise BadInput(_too_few(len(human), len(common), matched),
                       hint="Give passages with the same ids, or the same contexts, in every "
                       "file.")  # fmt: skip
    warnings = list(_coverage(human, common, matched))
    chosen = _with_ids(human.select(common))
    _check_dialogues(chosen)
    answers = {}
    for name, (ours, theirs) in matched.items():  # `ours` rises, and holds all of `common`
        found = systems[name].select(theirs[np.isin(ours, common)])
        warnings += _oddities(name, chosen, found)
        answers[name] = _answers(name, chosen, found)
    known = {name: {**_told_beside(each), **(training or {}).get(name, {})}
             for name, each in answers.items()}  # fmt: skip
    return EvaluationData(chosen, answers, warnings, known, _second(chosen, second, warnings))


def second_humans(passages: Passages) -> Passages | None:
    """A further human's reply to each context that has one, if any does.

    Corpora with several references call their authors `human`, `human_2`, `human_3` and so on;
    the first that there is beside `human` speaks.
    """
    names = [name for name in authors(passages) if _FURTHER.fullmatch(name)]
    found: dict[tuple[str, ...], Passage] = {}
    for name in sorted(names, key=lambda name: int(name.partition("_")[2])):
        for passage in iterate(by_author(passages, name)):
            key = (passage.id, *(turn.text for turn in passage.context))
            found.setdefault(key, replace(passage, author=SECOND_HUMAN))
    return to_passages(found.values()) if found else None


_FURTHER = re.compile(r"human_\d+")


def _second(
    human: Passages, second: Passages | None, warnings: list[str]
) -> tuple[Passages, Passages] | None:
    """The contexts that a second human answers, and the answers; nothing where they are few."""
    if second is None:
        return None
    ours, theirs = partners(human, second)
    if len(ours) < len(human):
        few = "too few for a row" if len(ours) < FEWEST else "that row rests on them alone"
        warnings.append(f"A second human answers {len(ours):,} of {len(human):,} contexts: {few}.")
        human = human.select(ours)
    if len(ours) < FEWEST or _dialogues(human) < FEWEST:
        return None
    return human, _answers(SECOND_HUMAN, human, second.select(theirs))


def _told_beside(answers: Passages) -> dict[str, Any]:
    """The judges that a system was trained against, where its responses name them."""
    told = {text for text in answers["extra"][:] if text and TRAINED_AGAINST in text}
    found = [json.loads(text).get(TRAINED_AGAINST) or () for text in told]
    names = {name for each in found for name in ([each] if isinstance(each, str) else each)}
    return {TRAINED_AGAINST: sorted(names)} if names else {}


def _check_names(systems: Mapping[str, Passages], alone: bool) -> None:
    if not systems and not alone:
        raise BadInput("no system to evaluate.", hint="Name one: --system bot=bot.jsonl")
    for name in systems:
        if name.strip() in ("", "human", SECOND_HUMAN):
            raise BadInput(
                f"a system cannot be called {name!r}.",
                hint="Give it another name: --system bot=bot.jsonl",
            )


def _people(human: Passages) -> Passages:
    found = by_author(human, "human")
    if not len(found):
        names = ", ".join(authors(human)) or "nobody"
        raise BadInput(
            f"expected human responses, found those of {names}.",
            hint="Give the file of the human ones with --human.",
        )
    return found


def _check_dialogues(chosen: Passages) -> None:
    dialogues = _dialogues(chosen)
    if dialogues < FEWEST:
        raise BadInput(
            f"{len(chosen)} contexts come from {dialogues} dialogue{'s' * (dialogues > 1)}, and "
            f"folds go by dialogue: at least {FEWEST} are needed.",
            hint="Give each passage its dialogue_id, or more dialogues.",
        )


def _dialogues(passages: Passages) -> int:
    return len(np.unique(row_hashes(passages, ["dialogue_id"])))


def _too_few(total: int, common: int, matched: Mapping[str, Matched]) -> str:
    if not matched:
        return f"there are {total} human passages, and at least {FEWEST} are needed."
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
    """A system's responses in the passages of the humans, with what is known beside them."""
    rows = zip(iterate(human), iterate(found), strict=True)
    return to_passages(
        replace(passage.with_response(said.response, name), extra=said.extra)
        for passage, said in rows
    )


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
