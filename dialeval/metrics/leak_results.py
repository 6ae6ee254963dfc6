"""Results of a leak check: format and style traits that distinguish a system from humans."""

from dataclasses import asdict, dataclass
from typing import Any

from dialeval._version import __version__


@dataclass(frozen=True)
class Leak:
    """How well one trait alone distinguishes a system from humans.

    Means, accuracy and interval are those of the held-out half.

    Args:
        name (`str`):
            Name of the trait.
        measures (`str`):
            What the numbers measure.
        human, system (`float`):
            Means of both sides.
        accuracy (`float`):
            Balanced accuracy of the rule; 0.5 is chance.
        low, high (`float`):
            95 % interval over dialogues.
        p_value, p_holm (`float`):
            One-sided, against chance; and adjusted for the number of traits.
        significant (`bool`):
            Whether `p_holm` is at most alpha.
        rule (`str`):
            The rule in words, learnt on the training half.
        human_example, system_example (`str`, *optional*):
            Held-out responses that the rule classifies correctly.
        hint (`str`):
            How to remove it; empty for content.
    """

    name: str
    measures: str
    human: float
    system: float
    accuracy: float
    low: float
    high: float
    p_value: float
    p_holm: float
    significant: bool
    rule: str
    human_example: str | None
    system_example: str | None
    hint: str


@dataclass(frozen=True)
class LeakReport:
    """All traits that were checked.

    Args:
        format (`tuple[Leak, ...]`):
            Traits that a `Normaliser` removes.
        content (`tuple[Leak, ...]`):
            Traits of the content, measured after the format has been normalised.
        paired (`bool`):
            Whether responses are compared in pairs.
        human, system (`int`):
            Responses that are compared.
        human_left_out, system_left_out (`int`):
            Responses that are not compared: those without a partner, and pairs with a reply that
            comes from a dialogue in the other half.
        train_dialogues, test_dialogues (`int`):
            Dialogues in both halves.
        seed (`int`):
            Seed of halves and resampling.
        alpha (`float`):
            Chance of any false alarm among all traits.
        markers (`tuple[str, ...]`):
            Tokens that are markers in these data but do not look like ones.
        max_tokens (`int`, *optional*):
            Length to cut both sides to, if one of them was cut off.
    """

    format: tuple[Leak, ...]
    content: tuple[Leak, ...]
    paired: bool
    human: int
    system: int
    human_left_out: int
    system_left_out: int
    train_dialogues: int
    test_dialogues: int
    seed: int
    alpha: float
    markers: tuple[str, ...]
    max_tokens: int | None

    @property
    def signature(self) -> str:
        """How the report was computed."""
        compared = f"pairs:{self.human}" if self.paired else f"unpaired:{self.human}+{self.system}"
        tests = len(self.format) + len(self.content)
        return (
            f"leaks|{compared}|test:{self.test_dialogues}|seed:{self.seed}|holm:{tests}"
            f"|v:{__version__}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        return {"signature": self.signature, **asdict(self)}
