"""Data of an evaluation: human passages, and responses of systems to the same contexts."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
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
from dialeval.dialogues.matching import partners
from dialeval.dialogues.normaliser import Normaliser
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import TRAINED_AGAINST, text_key
from dialeval.metrics.results import SECOND_HUMAN
from dialeval.protocols.evaluation.histories import MatchedRows, drop_shared_history
from dialeval.responders.base import cut_responses, cut_warning

MIN_CONTEXTS, FEW_CONTEXTS = 10, 100
"""Contexts and dialogues that are needed, and contexts below which there is a warning."""


@dataclass
class EvaluationData:
    """Human passages and systems' responses to them, row by row on the same contexts.

    Args:
        human (`Passages`):
            Human passages.
        systems (`dict[str, Passages]`):
            Responses of each system to the same contexts.
        warnings (`list[str]`):
            What a reader has to know about these data.
        training (`dict`, *optional*):
            How systems were trained, if it is recorded.
        second (`tuple[Passages, Passages]`, *optional*):
            Human passages that another human answers too, and those answers.
        normalisers (`dict[str, Normaliser]`, *optional*):
            By system, what removes the format leaks between it and the humans.
        command (`str`, *optional*):
            The command line that was given; the report derives the next one from it.
    """

    human: Passages
    systems: dict[str, Passages]
    warnings: list[str] = field(default_factory=list)
    training: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    second: tuple[Passages, Passages] | None = None
    normalisers: dict[str, Normaliser] = field(default_factory=dict)
    command: str = ""

    @property
    def names(self) -> list[str]:
        """Everything that is compared with the humans: the systems, and the second human."""
        return [*self.systems, *([SECOND_HUMAN] if self.second else [])]

    def sides(self, name: str, normalised: bool = False) -> tuple[Passages, Passages | None]:
        """The human passages, and the responses of a system to them, if it is one.

        Args:
            name (`str`):
                Name of the system; `""` for the human passages alone.
            normalised (`bool`, *optional*, defaults to `False`):
                Whether the format of both sides is normalised.

        Returns:
            `tuple[Passages, Passages | None]`: Row by row on the same contexts.
        """
        if name == SECOND_HUMAN and self.second:
            return self.second
        human, answers = self.human, self.systems.get(name)
        if not normalised or answers is None:
            return human, answers
        normaliser = self.normalisers[name]
        return _normalised(human, normaliser), _normalised(answers, normaliser)

    def answers(self, name: str) -> Passages:
        """The responses of a system, or of the second human."""
        if name == SECOND_HUMAN and self.second:
            return self.second[1]
        return self.systems[name]


def align(
    human: Passages,
    systems: Mapping[str, Passages],
    second: Passages | None = None,
    training: Mapping[str, Mapping[str, Any]] | None = None,
    allow_none: bool = False,
    max_identical: float = 1.0,
) -> EvaluationData:
    """The contexts that every system answers, in the order of the human file.

    Answers are matched by id, and the rest by the text of the context. They get the id and the
    dialogue of the human passage, so that both sides of a context fall into one fold.

    Args:
        human (`Passages`):
            Passages; only those with the author `human` are used.
        systems (`Mapping[str, Passages]`):
            Responses of each system.
        second (`Passages`, *optional*):
            Responses of a second human: see [`second_humans`]. No context is left out for them.
        training (`Mapping`, *optional*):
            How each system was trained, if it is recorded.
        allow_none (`bool`, *optional*, defaults to `False`):
            Whether there may be no system at all.
        max_identical (`float`, *optional*, defaults to 1.0):
            Share of a system's replies that may be identical to the human's.

    Returns:
        `EvaluationData`: With warnings about the data.

    Raises:
        BadInput: There are no systems, too few contexts or dialogues in common, or a system has
            the human's replies.
    """
    _check_names(systems, allow_none)
    human = _human_passages(human)
    matched, histories = {}, []
    for name, replies in systems.items():
        matched[name], warning = drop_shared_history(
            name, human, replies, partners(human, replies), max_identical
        )
        histories += [warning] if warning else []
    common = np.arange(len(human))
    for human_index, _ in matched.values():
        common = np.intersect1d(common, human_index)
    if len(common) < MIN_CONTEXTS:
        raise BadInput(_too_few(len(human), len(common), matched),
                       hint="Give passages with the same ids, or the same contexts, in every "
                       "file.")  # fmt: skip
    warnings = [*histories, *_coverage_warnings(human, common, matched)]
    selected = _with_unique_ids(human.select(common))
    _check_dialogues(selected)
    answers = {}
    for name, (human_index, system_index) in matched.items():  # `human_index` is sorted
        rows = systems[name].select(system_index[np.isin(human_index, common)])
        warnings += _response_warnings(name, selected, rows)
        answers[name] = _answer_passages(name, selected, rows)
    recorded: dict[str, Mapping[str, Any]] = {
        name: {**_recorded_training(passages), **(training or {}).get(name, {})}
        for name, passages in answers.items()
    }
    warnings += _repetition_warning(selected)
    second_side = _second_side(selected, second, warnings)
    return EvaluationData(selected, answers, warnings, recorded, second_side)


def _repetition_warning(human: Passages) -> Iterator[str]:
    """That human replies occur in several dialogues, so that a fold knows those of another."""
    dialogues: defaultdict[str, set[str]] = defaultdict(set)
    rows = [
        (text.strip(), dialogue)
        for text, dialogue in zip(human["response"], human["dialogue_id"], strict=True)
        if len(text.split()) >= LONG_REPLY
    ]
    for text, dialogue in rows:
        dialogues[text].add(dialogue)
    repeated = sum(len(dialogues[text]) > 1 for text, _ in rows)
    if repeated > MANY_REPEATED * len(human):
        yield (
            f"{repeated:,} of {len(human):,} human replies occur in several dialogues: evaluators "
            "can memorise them, and accuracies may be too high. Leave out repeated dialogues."
        )


def _normalised(passages: Passages, normaliser: Normaliser) -> Passages:
    """The passages with normalised responses; both sides have the same contexts as they are."""
    return to_passages(
        replace(passage, response=normaliser(passage.response)) for passage in iterate(passages)
    )


def second_humans(passages: Passages) -> Passages | None:
    """A further human's reply to each context that has one, if any does.

    Corpora with several references call their authors `human`, `human_2`, `human_3` and so on;
    the first one after `human` is used.
    """
    names = [name for name in authors(passages) if _FURTHER.fullmatch(name)]
    replies: dict[tuple[str, ...], Passage] = {}
    for name in sorted(names, key=lambda name: int(name.partition("_")[2])):
        for passage in iterate(by_author(passages, name)):
            key = (passage.id, *(turn.text for turn in passage.context))
            replies.setdefault(key, replace(passage, author=SECOND_HUMAN))
    return to_passages(replies.values()) if replies else None


LONG_REPLY, MANY_REPEATED = 5, 0.1
"""Words from which a human reply is hardly repeated by chance; share of replies that may be."""
_FURTHER = re.compile(r"human_\d+")


def _second_side(
    human: Passages, second: Passages | None, warnings: list[str]
) -> tuple[Passages, Passages] | None:
    """The contexts that a second human answers, and the answers; `None` where they are few."""
    if second is None:
        return None
    human_index, second_index = partners(human, second)
    if len(human_index) < len(human):
        few = len(human_index) < MIN_CONTEXTS
        consequence = "too few for a row" if few else "that row is based on them alone"
        warnings.append(
            f"A second human answers {len(human_index):,} of {len(human):,} contexts: "
            f"{consequence}."
        )
        human = human.select(human_index)
    if len(human_index) < MIN_CONTEXTS or _count_dialogues(human) < MIN_CONTEXTS:
        return None
    return human, _answer_passages(SECOND_HUMAN, human, second.select(second_index))


def _recorded_training(answers: Passages) -> dict[str, Any]:
    """The discriminators that a system was trained against, if its responses name them."""
    texts = {text for text in answers["extra"][:] if text and TRAINED_AGAINST in text}
    entries = [json.loads(text).get(TRAINED_AGAINST) or () for text in texts]
    names = {name for entry in entries for name in ([entry] if isinstance(entry, str) else entry)}
    return {TRAINED_AGAINST: sorted(names)} if names else {}


def _check_names(systems: Mapping[str, Passages], allow_none: bool) -> None:
    if not systems and not allow_none:
        raise BadInput("no system to evaluate.", hint="Name one: --system bot=bot.jsonl")
    for name in systems:
        if name.strip() in ("", "human", SECOND_HUMAN):
            raise BadInput(
                f"a system cannot be called {name!r}.",
                hint="Give it another name: --system bot=bot.jsonl",
            )


def _human_passages(passages: Passages) -> Passages:
    human = by_author(passages, "human")
    if not len(human):
        names = ", ".join(authors(passages)) or "nobody"
        raise BadInput(
            f"expected human responses, found those of {names}.",
            hint="Give the file of the human ones with --human.",
        )
    return human


def _check_dialogues(passages: Passages) -> None:
    dialogues = _count_dialogues(passages)
    if dialogues < MIN_CONTEXTS:
        raise BadInput(
            f"{len(passages)} contexts come from {dialogues} dialogue{'s' * (dialogues > 1)}, and "
            f"folds are made of dialogues: at least {MIN_CONTEXTS} are needed.",
            hint="Give each passage its dialogue_id, more dialogues, or a larger --limit.",
        )


def _count_dialogues(passages: Passages) -> int:
    return len(np.unique(row_hashes(passages, ["dialogue_id"])))


def _too_few(total: int, common: int, matched: Mapping[str, MatchedRows]) -> str:
    if not matched:
        return f"there are {total} human passages, and at least {MIN_CONTEXTS} are needed."
    counts = ", ".join(f"{name} {len(index):,}" for name, (index, _) in matched.items())
    return (
        f"humans and systems answer {common} contexts in common, and at least {MIN_CONTEXTS} are "
        f"needed. Of {total:,} human contexts, each system answers: {counts}."
    )


def _coverage_warnings(
    human: Passages, common: np.ndarray, matched: Mapping[str, MatchedRows]
) -> Iterable[str]:
    total = len(human)
    for name, (human_index, _) in matched.items():
        if len(human_index) < total:
            first = int(np.setdiff1d(np.arange(total), human_index)[0])
            yield (
                f"{name} answers {len(human_index):,} of {total:,} human contexts; the first "
                f"without an answer is {human['id'][first]!r}."
            )
    if len(common) < total and len(matched) > 1:
        yield f"{len(common):,} of {total:,} contexts are answered by all; the others are left out."
    if len(common) < FEW_CONTEXTS:
        yield f"{len(common)} contexts are few: look at the intervals, not at the values."


def _with_unique_ids(human: Passages) -> Passages:
    """The passages with unique ids: that of the file, or one made from its text."""
    times = Counter(human["id"][:])
    if "" not in times and max(times.values()) == 1:
        return human
    seen: Counter[str] = Counter()

    def with_id(passage: Passage) -> Passage:
        if passage.id and times[passage.id] == 1:
            return passage
        words = text_key([passage.dialogue_id, *(turn.text for turn in passage.context)])
        key = f"{passage.id}~{words}"
        seen[key] += 1
        return replace(passage, id=key if seen[key] == 1 else f"{key}~{seen[key]}")

    return to_passages(map(with_id, iterate(human)))


def _answer_passages(name: str, human: Passages, answers: Passages) -> Passages:
    """A system's responses, their `extra` and where they are from, in the humans' passages."""
    rows = zip(iterate(human), iterate(answers), strict=True)
    return to_passages(
        replace(
            passage.with_response(answer.response, name),
            extra=answer.extra,
            source_dialogue_id=answer.source_dialogue_id,
        )
        for passage, answer in rows
    )


def _response_warnings(name: str, human: Passages, answers: Passages) -> Iterable[str]:
    responses = [text.strip() for text in answers["response"]]
    total = len(responses)
    same = sum(a == b.strip() for a, b in zip(responses, human["response"], strict=True))
    if same == total:
        yield f"{name} has exactly the responses of the human file: there is nothing to detect."
    elif same > 0.05 * total:
        yield f"{same:,} of {name}'s {total:,} responses are identical to the human's."
    other = row_hashes(human, ["context"]) != row_hashes(answers, ["context"])
    if other.any():
        yield (
            f"{int(other.sum()):,} of {name}'s {total:,} contexts have the id of a human one but "
            "another text; the human ones are used."
        )
    text, times = Counter(responses).most_common(1)[0]
    if times == total:
        yield f"{name} gives the same response to every context: {text!r}."
    empty = sum(not text for text in responses)
    if empty:
        yield f"{empty:,} of {name}'s {total:,} responses are empty."
    cut = cut_responses(answers)
    if cut:
        yield f"{name}: {cut_warning(cut, total)}."
