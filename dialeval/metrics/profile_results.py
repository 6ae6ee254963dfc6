"""Results of a behaviour profile: how two piles of conversations differ, trait by trait."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.results import RunResults
from dialeval.registry import import_object


@dataclass(frozen=True)
class Trait:
    """How much of a behaviour there is in the human pile and in a system's.

    Args:
        system (`str`):
            Name of the system.
        name (`str`):
            Name of the trait.
        group (`str`):
            What kind of behaviour it is, such as `"politeness"`.
        unit (`str`):
            What the means count, such as `"per turn"`.
        human, other (`float`):
            Means over dialogues of the human pile, and of the system's.
        effect, low, high (`float`):
            Cliff's delta with its interval: P(system's dialogue has more) minus P(it has less).
        p_value, p_holm (`float`):
            Of the test that neither pile tends to have more; adjusted for the number of traits.
        human_example, other_example (`str`, *optional*):
            A turn with the trait from each pile; empty where there is none.
    """

    system: str
    name: str
    group: str
    unit: str
    human: float
    other: float
    effect: float
    low: float
    high: float
    p_value: float
    p_holm: float
    human_example: str = ""
    other_example: str = ""


@dataclass(frozen=True, kw_only=True)
class ProfileResults(RunResults):
    """Everything `dialeval profile` computed; what its `results.json` holds.

    Args:
        traits (`tuple[Trait, ...]`, *optional*):
            All traits of all systems.
        dialogues (`Mapping[str, int]`, *optional*):
            Size of every pile.

    The other fields are those of [`RunResults`].
    """

    protocol: ClassVar[str] = "profile"

    traits: tuple[Trait, ...] = ()
    dialogues: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(import_object("dialeval.reports.profile:to_text", "dialeval")(self))
