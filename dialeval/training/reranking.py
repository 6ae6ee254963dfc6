"""Reranking-RL: responses that other contexts would not get (Niu and Bansal, 2018, sec. 2.1).

The reward of a response G is -log P(G | S_R) with a random other context S_R, which dull responses
make small. It is compared with the reward of the greedy response (self-critical), and mixed with
the likelihood (Paulus et al., 2018, eqs. 15 and 16):

    L = gamma * (r(greedy) - r(G)) * log P(G | S) + (1 - gamma) * L_ML
"""

from collections.abc import Sequence

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.responders.decoding import TemperatureMixture
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import response_log_probs
from dialeval.responders.task import mixed_seed
from dialeval.settings.against import AgainstConfig
from dialeval.training.greedy import greedy_responses
from dialeval.training.policy import draw_responses, policy_backward

_SAMPLING = TemperatureMixture((1.0,))  # the policy itself, so that its gradient is on-policy


class Reranking:
    """The reward's part of the mixed objective.

    Args:
        generator (`Generator`):
            The policy; its own likelihoods are the reward.
        passages (`Passages`):
            Training passages, of which random contexts are drawn.
        config (`AgainstConfig`):
            Weight, number of random contexts, and unit of the reward.
        max_new_tokens (`int`, *optional*, defaults to 30):
            Tokens of a sampled response at most.
        seed (`int`, *optional*, defaults to 0):
            Seed of the responses and of the random contexts.
    """

    def __init__(
        self,
        generator: Generator,
        passages: Passages,
        config: AgainstConfig,
        max_new_tokens: int = 30,
        seed: int = 0,
    ):
        if len(passages) < 2:
            hint = "Give more dialogues, or --rl_weight 0."
            raise BadInput("Reranking-RL needs other contexts, but there is one.", hint=hint)
        self.generator, self.passages, self.config = generator, passages, config
        self.max_new_tokens, self.seed = max_new_tokens, seed

    @property
    def weight(self) -> float:
        """gamma, the weight of the reward."""
        return self.config.rl_weight

    def backward(self, rows: np.ndarray, step: int, divisor: float) -> dict[str, float]:
        """Add the gradient of gamma * L_RL to the generator.

        Args:
            rows (`np.ndarray`):
                Training passages of this update.
            step (`int`):
                Number of the update.
            divisor (`float`):
                What the summed loss is divided by, as that of the likelihood is.

        Returns:
            `dict[str, float]`: Mean reward of the sampled and of the greedy responses.
        """
        passages = list(iterate(self.passages.select(rows)))
        # A number of the run, the step and the row: the same however processes share the batch.
        seeds = [mixed_seed(mixed_seed(self.seed, step), int(row)) for row in rows]
        drawn = draw_responses(
            self.generator, passages, seeds, _SAMPLING, max_new_tokens=self.max_new_tokens
        )
        others = self.other_contexts(rows, step)
        sampled = self.rewards(drawn.responses, others)
        greedy = self.rewards(
            greedy_responses(self.generator, drawn.prompts, self.max_new_tokens), others
        )
        advantages = (sampled - greedy) * self.weight
        policy_backward(self.generator, drawn, advantages, divisor)
        return {"reward": float(sampled.mean()), "greedy_reward": float(greedy.mean())}

    def rewards(
        self, responses: Sequence[list[int]], others: Sequence[Sequence[Passage]]
    ) -> np.ndarray:
        """-log P(G | S_R) of each response, a mean over its random contexts."""
        count = self.config.rl_contexts
        room = self.generator.prompts.limited(self.generator.max_prompt_length(self.max_new_tokens))
        contexts = [passage for group in others for passage in group]
        prompts = [prompt.ids for prompt in room(self.generator.tokenizer, contexts)]
        repeated = [response for response in responses for _ in range(count)]
        model, pad_id = self.generator.model, self.generator.pad_id
        sums, lengths = response_log_probs(model, pad_id, prompts, repeated)
        values = -sums / lengths if self.config.rl_over == "tokens" else -sums
        return values.reshape(-1, count).mean(1)

    def other_contexts(self, rows: np.ndarray, step: int) -> list[list[Passage]]:
        """For each row, the passages of some other rows."""
        count, size = self.config.rl_contexts, len(self.passages)
        drawn = np.stack(
            [np.random.default_rng([self.seed, step, row]).integers(1, size, count) for row in rows]
        )
        others = (rows[:, None] + drawn) % size  # (rows, count); never the row itself
        passages = list(iterate(self.passages.select(others.reshape(-1))))
        return [passages[at * count : (at + 1) * count] for at in range(len(rows))]
