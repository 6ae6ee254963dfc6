"""Rewards of sampled responses and of their prefixes, from any scorer."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, to_passages
from dialeval.responders.generators import Generator
from dialeval.scorers.neural import NeuralScorer
from dialeval.scorers.ranking import prefix_scores_at, score_responses
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.training.policy import Drawn
from dialeval.training.rollouts import prefix_rewards, roll_out

logger = logging.getLogger(__name__)

Score = Callable[[Any], Any]
"""A `Scorer`, or a Python function, from passages to one number each."""


class RewardSource:
    """Rewards as an objective needs them: one per response, or one per prefix.

    Args:
        scorer (`Scorer` or `Callable`):
            From passages to scores; `None` for the controls that need none.
        control (`str`, *optional*):
            `"constant"`, `"shuffled"` or `"length"`: rewards that do not depend on what a response
            says.
    """

    def __init__(self, scorer: Score | None, control: str = ""):
        if scorer is None and control not in ("constant", "length"):
            raise BadInput("a reward needs a scorer.", hint="Give --reward a discriminator.")
        self.scorer, self.control = scorer, control
        # A lower score may mean human, as with perplexities.
        self.sign = 1.0 if getattr(scorer, "higher_is_human", True) else -1.0
        if isinstance(scorer, NeuralScorer):
            scorer.accelerator = scorer.cache = None  # a process scores its own; weights change

    @property
    def name(self) -> str:
        """Name in tables and messages."""
        default = getattr(self.scorer, "__name__", type(self.scorer).__name__)
        scorer = str(getattr(self.scorer, "name", "") or default)
        return self.control if self.scorer is None else f"{self.control} {scorer}".strip()

    @property
    def discriminator(self) -> NeuralScorer | None:
        """The discriminator, where it can be trained in turn with the generator."""
        return self.scorer if isinstance(self.scorer, NeuralScorer) else None

    def __call__(self, passages: Sequence[Passage]) -> np.ndarray:
        """The score of each complete response; NaN where it has none."""
        if self.control == "constant" or self.scorer is None:
            return np.ones(len(passages))
        if not passages:
            return np.zeros(0)
        if isinstance(self.scorer, NeuralScorer):
            return self.sign * score_responses(self.scorer, list(passages))
        values = np.asarray(self.scorer(to_passages(passages)), dtype=float)
        if values.shape != (len(passages),):
            raise BadInput(
                f"the reward {self.name!r} returned an array of shape {values.shape} for "
                f"{len(passages)} responses.",
                hint="Return one number per passage.",
            )
        return self.sign * values

    def of_complete(self, drawn: Drawn, config: AdversarialConfig) -> np.ndarray:
        """The reward of each complete response, drawn or human; NaN where it has none.

        Args:
            drawn (`Drawn`):
                The responses.
            config (`AdversarialConfig`):
                The longest possible response.

        Returns:
            `np.ndarray`: One number per response.
        """
        if self.control == "length":
            return np.array([len(ids) / config.response_tokens for ids in drawn.responses])
        return self(drawn.passages)

    def of_responses(
        self, generator: Generator, drawn: Drawn, seeds: Sequence[int], config: AdversarialConfig
    ) -> list[np.ndarray]:
        """The reward of each token of each response, as the objective defines it.

        Args:
            generator (`Generator`):
                Who drew the responses.
            drawn (`Drawn`):
                The responses.
            seeds (`Sequence[int]`):
                One per response, for roll-outs and shuffling.
            config (`AdversarialConfig`):
                The objective and its settings.

        Returns:
            `list[np.ndarray]`: With REINFORCE all tokens of a response have the same reward.
        """
        if self.control == "length":
            return _lengths(drawn, config)
        if self.control == "constant" or config.objective == "reinforce":
            scores = self(drawn.passages)
            rewards = [np.full(len(ids), s) for ids, s in zip(drawn.responses, scores, strict=True)]
        elif config.objective == "regs-mc":
            rollouts = roll_out(generator, drawn, seeds, config.rollouts, config.response_tokens)
            rewards = prefix_rewards(self, generator, drawn, rollouts)
            if config.last_reward == "previous":
                rewards = [_with_previous(reward) for reward in rewards]
        else:
            rewards = self.of_prefixes(generator, drawn)
        return _shuffled(rewards, seeds) if self.control == "shuffled" else rewards

    def of_prefixes(self, generator: Generator, drawn: Drawn) -> list[np.ndarray]:
        """Q+(x, Y_t) of every prefix by a discriminator for partial sequences (sec. 3.2).

        A causal discriminator reads each response once for all its prefixes. Text is the border:
        a prefix in the generator's tokens is scored as the words that are complete in it.
        """
        offsets = [_token_ends(generator, ids) for ids in drawn.responses]
        complete = self(drawn.passages)
        if isinstance(self.scorer, NeuralScorer):
            scores = prefix_scores_at(self.scorer, drawn.passages, offsets)
            partial = [self.sign * np.asarray(values, dtype=float) for values in scores]
        else:
            partial = self._scored_prefixes(drawn, offsets)
        rewards = []
        for row, ids in enumerate(drawn.responses):
            values = partial[row][: len(ids)].copy()
            if len(ids):
                values[-1] = complete[row]  # with its end, the response is complete
            rewards.append(values)
        return rewards

    def _scored_prefixes(self, drawn: Drawn, offsets: list[list[int]]) -> list[np.ndarray]:
        """Prefixes as complete responses, for scorers that know no other."""
        passages = [
            passage.with_response(passage.response[:end].strip(), passage.author)
            for passage, row in zip(drawn.passages, offsets, strict=True)
            for end in row
        ]
        bounds = np.cumsum([len(row) for row in offsets])[:-1]
        return np.split(self(passages), bounds)


def _token_ends(generator: Generator, ids: Sequence[int]) -> list[int]:
    """Offset in the text of a response at which each of its tokens ends."""
    decode = generator.tokenizer.batch_decode
    prefixes = [list(ids[: size + 1]) for size in range(len(ids))]
    texts = decode(prefixes, skip_special_tokens=True) if prefixes else []
    lead = len(texts[-1]) - len(texts[-1].lstrip()) if texts else 0
    return [max(0, len(text) - lead) for text in texts]


def _lengths(drawn: Drawn, config: AdversarialConfig) -> list[np.ndarray]:
    """Length over the longest possible one; a prefix is as long as it is."""
    most = config.response_tokens
    if config.objective == "reinforce":
        return [np.full(len(ids), len(ids) / most) for ids in drawn.responses]
    return [np.arange(1, len(ids) + 1) / most for ids in drawn.responses]


def _shuffled(rewards: list[np.ndarray], seeds: Sequence[int]) -> list[np.ndarray]:
    """Every response with the rewards of another one: the same values without their meaning."""
    order = np.random.default_rng([seed % 2**32 for seed in seeds]).permutation(len(rewards))
    shuffled = []
    for row, other in enumerate(order):
        source, size = rewards[other], len(rewards[row])
        at = np.minimum(np.arange(size), max(0, len(source) - 1))
        shuffled.append(source[at] if len(source) else np.zeros(size))
    return shuffled


def _with_previous(reward: np.ndarray) -> np.ndarray:
    """The last token with the reward of the prefix before it, as in the released code."""
    return np.append(reward[:-1], reward[-2]) if len(reward) > 1 else reward
