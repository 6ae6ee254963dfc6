"""The behaviour profile of piles of conversations: every trait, compared with the humans'."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dialeval.dialogues import BadInput, Passages, iterate
from dialeval.metrics.profile_results import ProfileResults, Trait
from dialeval.metrics.rank_effects import cliffs_delta
from dialeval.metrics.results import Result, signature
from dialeval.metrics.significance import holm
from dialeval.protocols.profile.traits import TRAITS, BehaviourTrait

HUMAN = "human"
MIN_DIALOGUES = 3
"""Dialogues that a pile needs for an interval."""


@dataclass
class Participant:
    """What one speaker of the evaluated role says in one dialogue.

    Args:
        dialogue (`str`):
            Id of the dialogue.
        turns (`list[str]`):
            The turns, in order.
    """

    dialogue: str
    turns: list[str] = field(default_factory=list)


def participants(passages: Passages) -> list[Participant]:
    """The turns of every participant of a pile.

    A turn that opens a dialogue is no response to anything; it is taken from the context of the
    participant's first response, if it is by the same speaker.
    """
    sides: dict[tuple[str, str], Participant] = {}
    for passage in iterate(passages):
        key = (passage.dialogue_id or passage.id, passage.speaker)
        if key not in sides:
            earlier = [turn.text for turn in passage.context if turn.speaker == passage.speaker]
            sides[key] = Participant(key[0], [text for text in earlier if passage.speaker])
        sides[key].turns.append(passage.response)
    return [side for side in sides.values() if any(text.strip() for text in side.turns)]


def behaviour(side: list[Participant], trait: BehaviourTrait) -> np.ndarray:
    """The mean of a trait in each dialogue of a pile, over its participants."""
    values: dict[str, list[float]] = {}
    for participant in side:
        values.setdefault(participant.dialogue, []).append(trait.measure(participant.turns))
    return np.array([np.mean(numbers) for numbers in values.values()])


def compare_behaviour(
    human: Passages, systems: Mapping[str, Passages], seed: int = 0
) -> list[Trait]:
    """Every trait of every system against the humans, the largest effects first.

    Args:
        human (`Passages`):
            The human pile.
        systems (`Mapping[str, Passages]`):
            The systems' piles.
        seed (`int`, *optional*, defaults to 0):
            Seed of the examples.

    Returns:
        `list[Trait]`: Traits that are in neither pile are left out.
    """
    people = participants(human)
    traits = []
    for name, passages in systems.items():
        traits += _compare(people, participants(passages), name, seed)
    return traits


def _compare(
    people: list[Participant], others: list[Participant], system: str, seed: int
) -> list[Trait]:
    rows = []
    for trait in TRAITS:
        values = behaviour(people, trait), behaviour(others, trait)
        if not any(part.any() for part in values):
            continue
        effect = cliffs_delta(*values)
        rows.append((trait, values, effect))
    adjusted = holm([effect["p_value"] for _, _, effect in rows])
    traits = [
        Trait(
            system, trait.name, trait.group, trait.unit, float(values[0].mean()),
            float(values[1].mean()), effect["delta"], effect["low"], effect["high"],
            effect["p_value"], float(p_holm), _example(people, trait, seed),
            _example(others, trait, seed),
        )
        for (trait, values, effect), p_holm in zip(rows, adjusted, strict=True)
    ]  # fmt: skip
    return sorted(traits, key=lambda item: -abs(item.effect))


def _example(side: list[Participant], trait: BehaviourTrait, seed: int) -> str:
    """A turn with the trait, drawn at random."""
    if trait.in_turn is None:
        return ""
    turns = [text for item in side for text in item.turns if trait.in_turn(text)]
    return str(np.random.default_rng(seed).choice(turns))[:300] if turns else ""


def profile(
    human: Passages,
    systems: Mapping[str, Passages],
    output_dir: Path | str | None = None,
    seed: int = 0,
) -> ProfileResults:
    """The behaviour profile of systems' piles.

    Args:
        human (`Passages`):
            The human pile.
        systems (`Mapping[str, Passages]`):
            The systems' piles.
        output_dir (`Path` or `str`, *optional*):
            Folder for `results.json`; nothing is written by default.
        seed (`int`, *optional*, defaults to 0):
            Seed of the examples.

    Returns:
        `ProfileResults`: Effects with intervals and adjusted p-values.

    Raises:
        BadInput: A pile has too few dialogues.
    """
    piles = {HUMAN: human, **systems}
    sizes = {name: len(set(pile["dialogue_id"][:])) for name, pile in piles.items()}
    small = [name for name, size in sizes.items() if size < MIN_DIALOGUES]
    if small:
        raise BadInput(
            f"the pile of {small[0]} has {sizes[small[0]]} dialogue"
            f"{'s' * (sizes[small[0]] != 1)}, and at least {MIN_DIALOGUES} are needed.",
            hint="Give more dialogues, each with its own id.",
        )
    traits = compare_behaviour(human, systems, seed)
    line = signature(protocol="profile", unit="dialogue", effect="cliff", seed=seed)
    results = ProfileResults(
        results=tuple(
            Result("effect", item.system, item.name, item.effect, item.low, item.high,
                   sizes[HUMAN] + sizes[item.system], line,
                   {"human": item.human, "system": item.other, "p_holm": item.p_holm})
            for item in traits
        ),
        settings={"seed": seed},
        signature=line,
        traits=tuple(traits),
        dialogues=sizes,
    )  # fmt: skip
    if output_dir is not None:
        results.save(output_dir)
    return results
