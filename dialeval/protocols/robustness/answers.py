"""What a system says to normal and to perturbed contexts: asked now, or stored before."""

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage
from dialeval.dialogues.types import text_key
from dialeval.protocols.robustness.cases import AGAIN, NORMAL, Case, file_name, stored_case
from dialeval.responders import Responder, respond
from dialeval.responders.decoding import Sampling, TemperatureMixture
from dialeval.responders.journal import generate
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.simple import RandomResponder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answers:
    """The replies of one system, in the order of the contexts.

    Args:
        again (`list[str]`, *optional*):
            A second draw for the normal contexts, where the system samples.
        perturbed (`Mapping[str, list[str]]`):
            Replies by strategy; where a context was not edited, the normal one.
        generator (`Generator`, *optional*):
            The model, where it is at hand: for its embeddings and its likelihoods.
    """

    name: str
    signature: str
    normal: list[str]
    perturbed: Mapping[str, list[str]]
    again: list[str] | None = None
    generator: Any = field(default=None, repr=False)


def second_draw(responder: Responder) -> Responder | None:
    """The same system with another seed, if it samples; nobody, if it answers the same twice."""
    if isinstance(responder, GeneratorResponder):
        if not isinstance(responder.decoding, Sampling | TemperatureMixture):
            return None
        other = copy.copy(responder)
        other.seed = responder.seed + 1
        return other
    drawn = getattr(responder, "turn", None) == "random" or isinstance(responder, RandomResponder)
    if not drawn and getattr(responder, "temperature", 0) <= 0:  # which an endpoint has
        return None
    other = copy.copy(responder)
    object.__setattr__(other, "seed", responder.seed + 1)
    return other


def answered(
    responder: Responder,
    passages: Sequence[Passage],
    cases: Sequence[Case],
    folder: Path | None = None,
) -> Answers:
    """A system's replies; only edited contexts are asked again, since the others are the same.

    With a folder each set of replies has its journal, so that a stopped run goes on.
    """
    if getattr(responder, "n", 1) != 1:
        raise BadInput(f"{responder.name} gives several answers; robustness compares single ones.")
    place = folder / "systems" / file_name(responder.name) if folder else None
    normal = _replies(responder, passages, place, NORMAL)
    perturbed = {}
    for case in cases:
        rows = np.flatnonzero(case.edited)
        asked = [case.passages[row] for row in rows]
        said = list(normal)
        for row, text in zip(rows, _replies(responder, asked, place, case.name), strict=True):
            said[row] = text
        perturbed[case.name] = said
    other = second_draw(responder)
    return Answers(
        responder.name,
        responder.signature,
        normal,
        perturbed,
        _replies(other, passages, place, AGAIN) if other else None,
        getattr(responder, "generator", None),
    )


def _replies(
    responder: Responder, asked: Sequence[Passage], place: Path | None, name: str
) -> list[str]:
    if not asked:
        return []
    if place is None:
        return [each.response for each in respond(responder, asked)]
    done = generate(responder, asked, place / f"{file_name(name)}.jsonl")
    lines = done.path.read_text("utf-8").splitlines()
    return [json.loads(line)["response"] for line in lines if line.strip()]


def stored_answers(
    name: str,
    stored: Mapping[str, Sequence[Passage]],
    passages: Sequence[Passage] | None = None,
) -> tuple[list[Passage], list[Case], Answers]:
    """Contexts, strategies and replies from files of replies to normal and perturbed contexts.

    Args:
        stored (`Mapping`):
            Passages that a system answered: `normal`, if it samples `again`, and others by the
            name of a strategy, or by `NAME:should-change` and `NAME:should-not-change`.
        passages (`Sequence[Passage]`, *optional*):
            The same contexts with the human responses, by id; without them nothing is measured
            against a reference.
    """
    if NORMAL not in stored or len({*stored} - {AGAIN}) < 2:
        found = ", ".join(stored) or "nothing"
        raise BadInput(
            f"expected replies to normal and to perturbed contexts, found {found}.",
            hint="Say --stored normal=FILE --stored add-negation=FILE",
        )
    normal = list(stored[NORMAL])
    asked = [replace(each, response="") for each in normal]
    if passages is not None:
        human = {each.id: each.response for each in passages}
        asked = [replace(each, response=human.get(each.id, "")) for each in asked]
    others = {key: _matched(normal, each, key) for key, each in stored.items() if key != NORMAL}
    cases, said = [], {}
    for key, found in others.items():
        if key != AGAIN:
            strategy, _, kind = key.partition(":")
            cases.append(stored_case(strategy, kind or None, asked, found))
            said[strategy] = [each.response for each in found]
    again = [each.response for each in others[AGAIN]] if AGAIN in others else None
    texts = [each.response for each in normal]
    key = text_key([*texts, *(text for each in said.values() for text in each)])
    return asked, cases, Answers(name, f"stored:{key}", texts, said, again)


def _matched(normal: Sequence[Passage], found: Sequence[Passage], name: str) -> list[Passage]:
    """Passages in the order of the normal ones: by id, or by place where ids say nothing."""
    by_id = {each.id: each for each in found}
    if all(each.id in by_id for each in normal) and len(by_id) == len(found):
        return [by_id[each.id] for each in normal]
    if len(found) != len(normal):
        raise BadInput(
            f"{name} has {len(found)} replies, normal {len(normal)}, and their ids differ.",
            hint="Give files that answer the same contexts, with the same ids.",
        )
    logger.warning("The ids of %s are not those of the normal contexts: matched by line.", name)
    return list(found)
