"""A system's replies to normal and to perturbed contexts: generated now, or stored before."""

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage
from dialeval.dialogues.types import text_key
from dialeval.metrics.robustness_results import NORMAL
from dialeval.protocols.robustness.cases import AGAIN, Case, file_name, stored_case
from dialeval.responders import Responder, respond
from dialeval.responders.base import CUT
from dialeval.responders.decoding import Sampling, TemperatureMixture
from dialeval.responders.endpoint import EndpointResponder
from dialeval.responders.journal import generate
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.simple import RandomResponder
from dialeval.saved import expecting

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answers:
    """The replies of one system, in the order of the contexts.

    Args:
        name, signature (`str`):
            The system, and how its replies were made.
        normal (`list[str]`):
            Replies to the normal contexts.
        perturbed (`Mapping[str, list[str]]`):
            Replies by strategy; if a context was not edited, the normal reply.
        again (`list[str]`, *optional*):
            A second draw for the normal contexts, if the system samples.
        generator (`Generator`, *optional*):
            The model, if it runs in this process: for its embeddings and its likelihoods.
        cut, count (`int`, *optional*):
            How many of how many replies were cut at the maximum length.
    """

    name: str
    signature: str
    normal: list[str]
    perturbed: Mapping[str, list[str]]
    again: list[str] | None = None
    generator: Any = field(default=None, repr=False)
    cut: int = 0
    count: int = 0


def second_draw(responder: Responder) -> Responder | None:
    """The same system with another seed if it samples, else `None`."""
    if not _samples(responder):
        return None
    other = copy.copy(responder)
    object.__setattr__(other, "seed", getattr(responder, "seed", 0) + 1)  # also if it is frozen
    return other


def _samples(responder: Responder) -> bool:
    if isinstance(responder, GeneratorResponder):
        return isinstance(responder.decoding, Sampling | TemperatureMixture)
    if getattr(responder, "turn", None) == "random" or isinstance(responder, RandomResponder):
        return True
    if isinstance(responder, EndpointResponder):
        return responder.samples
    return getattr(responder, "temperature", 0) > 0


def collect_answers(
    responder: Responder,
    passages: Sequence[Passage],
    cases: Sequence[Case],
    folder: Path | None = None,
) -> Answers:
    """A system's replies; of the perturbed contexts only the edited ones are answered again.

    Args:
        responder (`Responder`):
            The system.
        passages (`Sequence[Passage]`):
            The normal contexts.
        cases (`Sequence[Case]`):
            The perturbed contexts.
        folder (`Path`, *optional*):
            Folder of the run; each set of replies then has a journal, so that a run can resume.

    Returns:
        `Answers`: All replies.
    """
    if getattr(responder, "n", 1) != 1:
        raise BadInput(f"{responder.name} gives several answers; robustness compares single ones.")
    journals = folder / "systems" / file_name(responder.name) if folder else None
    cut: list[bool] = []
    normal = _replies(responder, passages, journals, NORMAL, cut)
    perturbed = {}
    for case in cases:
        rows = case.edited_rows
        contexts = [case.passages[row] for row in rows]
        replies = list(normal)
        answered = _replies(responder, contexts, journals, case.name, cut)
        for row, text in zip(rows, answered, strict=True):
            replies[row] = text
        perturbed[case.name] = replies
    other = second_draw(responder)
    return Answers(
        responder.name,
        responder.signature,
        normal,
        perturbed,
        _replies(other, passages, journals, AGAIN, cut) if other else None,
        getattr(responder, "generator", None),
        sum(cut),
        len(cut),
    )


def _replies(
    responder: Responder,
    contexts: Sequence[Passage],
    journals: Path | None,
    name: str,
    cut: list[bool],
) -> list[str]:
    """The replies to contexts; whether each was cut at the maximum length is added to `cut`."""
    if not contexts:
        return []
    if journals is None:
        replies = respond(responder, contexts)
        cut += [bool(passage.extra.get(CUT)) for passage in replies]
        return [passage.response for passage in replies]
    generated = generate(responder, contexts, journals / f"{file_name(name)}.jsonl")
    with expecting("responses of this run", generated.path, "Delete it, and run again."):
        lines = generated.path.read_text("utf-8").split("\n")  # responses have other line ends
        records = [json.loads(line) for line in lines if line.strip()]
        if len(records) != len(contexts):
            raise ValueError(f"{len(records)} responses to {len(contexts)} contexts")
        cut += [bool(record.get(CUT)) for record in records]
        return [record["response"] for record in records]


def stored_answers(
    name: str,
    stored: Mapping[str, Sequence[Passage]],
    passages: Sequence[Passage] | None = None,
) -> tuple[list[Passage], list[Case], Answers]:
    """Contexts, strategies and replies from files of replies to normal and perturbed contexts.

    Args:
        name (`str`):
            Name of the system.
        stored (`Mapping`):
            Passages that a system answered: `normal`, if it samples `again`, and others by the
            name of a strategy, or by `NAME:should-change` and `NAME:should-not-change`.
        passages (`Sequence[Passage]`, *optional*):
            The same contexts with the human responses, by id; without them nothing is measured
            against a reference.

    Returns:
        `tuple[list[Passage], list[Case], Answers]`: Arguments for `robustness`.
    """
    if NORMAL not in stored or len({*stored} - {AGAIN}) < 2:
        raise BadInput(
            f"expected replies to normal and to perturbed contexts, but got "
            f"{', '.join(stored) or 'nothing'}.",
            hint="Use --stored normal=FILE --stored add-negation=FILE",
        )
    normal = list(stored[NORMAL])
    human = {passage.id: passage.response for passage in passages or ()}
    contexts = [replace(passage, response=human.get(passage.id, "")) for passage in normal]
    aligned = {key: _align(normal, rows, key) for key, rows in stored.items() if key != NORMAL}
    again = aligned.pop(AGAIN, None)
    cases, replies = [], {}
    for key, rows in aligned.items():
        strategy, _, kind = key.partition(":")
        cases.append(stored_case(strategy, kind or None, contexts, rows))
        replies[strategy] = _responses(rows)
    texts = _responses(normal)
    digest = text_key([*texts, *(text for rows in replies.values() for text in rows)])
    answers = Answers(
        name, f"stored:{digest}", texts, replies, _responses(again) if again is not None else None
    )
    return contexts, cases, answers


def _responses(passages: Sequence[Passage]) -> list[str]:
    return [passage.response for passage in passages]


def _align(normal: Sequence[Passage], others: Sequence[Passage], name: str) -> list[Passage]:
    """Passages in the order of the normal ones: by id, or by line if the ids differ."""
    by_id = {passage.id: passage for passage in others}
    if all(passage.id in by_id for passage in normal) and len(by_id) == len(others):
        return [by_id[passage.id] for passage in normal]
    if len(others) != len(normal):
        raise BadInput(
            f"{name} has {len(others)} replies, normal {len(normal)}, and their ids differ.",
            hint="Give files that answer the same contexts, with the same ids.",
        )
    logger.warning("The ids of %s are not those of the normal contexts: matched by line.", name)
    return list(others)
