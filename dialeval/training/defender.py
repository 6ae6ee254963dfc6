"""The defender of the game: human-vs-machine, which is trained, and human-vs-random, frozen."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit

from dialeval.dialogues import BadInput, Passage
from dialeval.scorers.joint import COMBINE, JointScorer, geometric_mean, soft_minimum
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.ranking import response_margins, score_responses

_EDGE = 1e-12  # keeps logits of saturated scores finite


class Defender:
    """One score from two: HvM against machines, HvR against random human replies.

    The paper does not say which score thresholds and tables use. Here reward, thresholds and tables
    use the joint one, and HvM alone is reported as well; the loss is on HvM's output h (eq. 1).

    Args:
        hvm (`NeuralScorer`):
            The discriminator that is trained.
        hvr (`Scorer`, *optional*):
            P(human) against random replies; without one, the score is that of HvM alone.
        combine (`str`, *optional*, defaults to `"geometric"`):
            Eq. 6, or `"softmin"` as in the released code.
    """

    def __init__(self, hvm: NeuralScorer, hvr: Any = None, combine: str = "geometric"):
        if combine not in COMBINE:
            raise BadInput(f"`combine` is {' or '.join(COMBINE)}, but got {combine!r}.")
        self.hvm, self.hvr, self.combine = hvm, hvr, combine
        hvm.cache = None  # its scores would be of old weights

    def margins(self, passages: Sequence[Passage]) -> np.ndarray:
        """HvM's output h of each passage."""
        return response_margins(self.hvm, passages)

    def relevance(self, passages: Sequence[Passage]) -> np.ndarray:
        """HvR's P(human) of each passage; 1 where there is no HvR."""
        if self.hvr is None:
            return np.ones(len(passages))
        is_neural = isinstance(self.hvr, NeuralScorer)
        score = partial(score_responses, self.hvr) if is_neural else self.hvr
        return np.asarray(score(passages), dtype=float)

    def scores(self, margins: np.ndarray, relevance: np.ndarray) -> np.ndarray:
        """The score s(y|x) from both outputs (Gao et al., 2021, eqs. 2 and 6)."""
        if self.hvr is None:
            return expit(margins)
        if self.combine == "softmin":
            return soft_minimum(margins, relevance)
        return geometric_mean(expit(margins), relevance)

    def logits(self, margins: np.ndarray, relevance: np.ndarray) -> np.ndarray:
        """The score before its sigmoid."""
        if self.hvr is None:
            return margins
        return logit(np.clip(self.scores(margins, relevance), _EDGE, 1 - _EDGE))

    def scorer(self, name: str) -> Any:
        """The defender as a scorer that can be saved and loaded."""
        self.hvm.name = name
        self.hvm.temperature, self.hvm.curve = 1.0, None  # eq. 2, as in `scores`
        vars(self.hvm).pop("_fingerprint", None)  # of the weights before the game
        if self.hvr is None:
            return self.hvm
        return JointScorer(self.hvm, self.hvr, self.combine, name)


def pairwise(human: np.ndarray, machine: np.ndarray) -> np.ndarray:
    """Whether the human response scores higher; a tie counts half."""
    return (human > machine) + 0.5 * (human == machine)


def pairwise_probability(human: np.ndarray, machine: np.ndarray) -> np.ndarray:
    """The probability of eq. 1 from logits, which the released code calls accuracy."""
    return expit(human - machine)
