"""What a judge is: passages in, one number a passage out, and how to read that number."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dialeval.dialogues import Passages


class Scorer(Protocol):
    """Gives each passage a number, shape `(n,)`: P(human), a likelihood, any reward.

    Attributes:
        name (`str`):
            What tables call it.
        higher_is_human (`bool`):
            Whether a greater number speaks for a human.
        decision (`Decision`):
            From which number on a response is taken for human, and how that was chosen.
    """

    name: str
    higher_is_human: bool
    decision: "Decision"

    def __call__(self, passages: Passages) -> np.ndarray: ...

    @property
    def signature(self) -> str: ...


@dataclass(frozen=True)
class Decision:
    """From which score on a response is taken for human.

    Args:
        threshold (`float`, *optional*, defaults to 0.5):
            The score itself counts as human.
        chosen (`str`, *optional*, defaults to `"fixed"`):
            `"fixed"` as in the papers' pointwise models, or `"validation"`.
        false_positive_rate (`float`, *optional*):
            Share of human responses below the threshold, on the validation part.
        n (`int`, *optional*):
            Responses that it was chosen or measured on.
    """

    threshold: float = 0.5
    chosen: str = "fixed"
    false_positive_rate: float | None = None
    n: int | None = None

    @property
    def signature(self) -> str:
        """The threshold as it stands in signatures."""
        return f"thr:{self.threshold:.4g}" + ("" if self.chosen == "fixed" else f"({self.chosen})")


def is_human(scorer: Any, scores: np.ndarray) -> np.ndarray:
    """Which scores are taken for human."""
    if scorer.higher_is_human:
        return scores >= scorer.decision.threshold
    return scores <= scorer.decision.threshold
