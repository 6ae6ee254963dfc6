"""The interface of scorers: from passages to one score per passage, and the decision."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from dialeval.dialogues import Passages


class Scorer(Protocol):
    """Gives each passage a score, shape `(n,)`: P(human), a likelihood, any reward.

    Attributes:
        kind (`str`):
            Identifies the class in a saved folder; unique among installed evaluators.
        name (`str`):
            Name in tables.
        higher_is_human (`bool`):
            Whether a higher score means human.
        decision (`Decision`):
            From which score on a response is predicted human, and how that was chosen.

    A scorer whose scores depend on the other passages sets `takes_all_passages = True`; large files
    are given to others a part at a time.
    """

    kind: str
    name: str
    higher_is_human: bool
    decision: "Decision"

    def __call__(self, passages: Passages) -> np.ndarray:
        """The score of each passage, in their order."""
        ...

    @property
    def signature(self) -> str:
        """How the scores are computed, in one line."""
        ...

    def save(self, folder: Path) -> dict[str, Any]:
        """Write files into a folder; return the settings that `load` gets back."""
        ...

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **options: Any) -> "Scorer":
        """A scorer as `save` wrote it."""
        ...


@dataclass(frozen=True)
class Decision:
    """From which score on a response is predicted human.

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
        """The threshold, as part of a signature."""
        return f"thr:{self.threshold:.4g}" + ("" if self.chosen == "fixed" else f"({self.chosen})")


def is_human(scorer: Any, scores: np.ndarray) -> np.ndarray:
    """Which scores are predicted human."""
    if scorer.higher_is_human:
        return scores >= scorer.decision.threshold
    return scores <= scorer.decision.threshold
