"""One score from two discriminators: human-vs-machine and human-vs-random."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.scorers.base import Decision
from dialeval.scorers.folders import decision_of, load_scorer, save_scorer

COMBINE = ("geometric", "softmin")
_FIRST, _SECOND = "first", "second"


class JointScorer:
    """One score from two, high only where both are.

    Args:
        first (`Scorer`):
            P(human) against machines (HvM).
        second (`Scorer`):
            P(human) against random human replies (HvR).
        combine (`str`, *optional*, defaults to `"geometric"`):
            `"geometric"` is the square root of their product (Gao et al., 2021, eq. 6).
            `"softmin"` is what their released code does instead: see [`soft_minimum`].
        decision (`Decision`, *optional*):
            0.5 by default, though a joint score has no natural threshold: choose one on
            validation data.
    """

    kind = "joint"
    higher_is_human = True

    def __init__(
        self,
        first: Any,
        second: Any,
        combine: str = "geometric",
        name: str = "",
        decision: Decision | None = None,
    ):
        _check(first, second, combine)
        self.first, self.second, self.combine = first, second, combine
        self.name = name or f"{first.name} × {second.name}"
        self.decision = decision or Decision()

    @classmethod
    def released(cls, first: Any, second: Any, **options: Any) -> "JointScorer":
        """The joint scorer of Gao et al.'s released code, which is not the one of their paper."""
        return cls(first, second, "softmin", **options)

    @property
    def inner(self) -> list[Any]:
        """Both scorers."""
        return [self.first, self.second]

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        members = f"{self.first.signature};{self.second.signature}"
        return f"joint:{self.combine}({members})|{self.decision.signature}"

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """The joint score of each passage, in [0, 1]."""
        if self.combine == "softmin":
            return soft_minimum(self.first.margins(passages), self.second(passages))
        return geometric_mean(self.first(passages), self.second(passages))

    def save(self, folder: Path) -> dict[str, Any]:
        """Write both scorers to subfolders; return the settings for `load`."""
        save_scorer(self.first, folder / _FIRST)
        save_scorer(self.second, folder / _SECOND)
        return {"combine": self.combine}

    @classmethod
    def load(cls, folder: Path, settings: dict[str, Any], **options: Any) -> "JointScorer":
        """A scorer as `save` wrote it; `options` go to both inner ones."""
        first, second = (load_scorer(folder / name, **options) for name in (_FIRST, _SECOND))
        return cls(first, second, settings["combine"], settings["name"], decision_of(settings))


def geometric_mean(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The square root of the product of two probabilities (Gao et al., 2021, eq. 6).

    Examples:
        >>> geometric_mean(np.array([0.9, 0.0]), np.array([0.4, 1.0])).round(3).tolist()
        [0.6, 0.0]
    """
    for scores in (first, second):
        if not ((scores >= 0) & (scores <= 1)).all():
            raise BadInput(
                "a geometric mean is taken of probabilities, but some scores are not in [0, 1].",
                hint="Join scorers that give P(human).",
            )
    with np.errstate(divide="ignore"):  # log 0, whose mean with anything gives 0
        return np.exp((np.log(first) + np.log(second)) / 2)


def soft_minimum(margins: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """What AdversarialTuringTest computes: its first part is a logit, its second a probability.

    Their mean weighted by `softmax(-values)`, near the lesser of the two, through a sigmoid. The
    units are mixed as in the released code, so the probability moves the result little.

    Examples:
        >>> soft_minimum(np.array([4.0, -4.0]), np.array([0.8808, 0.8808])).round(3).tolist()
        [0.734, 0.019]
    """
    values = np.stack([margins, probabilities])  # (2, n)
    weights = np.exp(values.min(0) - values)
    logits = (weights * values).sum(0) / weights.sum(0)
    return np.exp(-np.logaddexp(0, -logits))


def _check(first: Any, second: Any, combine: str) -> None:
    if combine not in COMBINE:
        hint = f"Choose one of {', '.join(COMBINE)}."
        raise BadInput(f"unknown way to join two scorers {combine!r}.", hint=hint)
    for scorer in (first, second):
        if not scorer.higher_is_human:
            raise BadInput(
                f"a joint score is high where both are, but {scorer.name!r} is low for humans.",
                hint="Join scorers that give P(human).",
            )
    if combine == "softmin" and not hasattr(first, "margins"):
        raise BadInput(
            f"the soft minimum takes the first scorer's logits, but {first.name!r} has none.",
            hint="Put a neural scorer first, or choose combine='geometric'.",
        )
