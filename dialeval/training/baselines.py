"""Baselines that are subtracted from rewards: they reduce the variance of policy gradients."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from dialeval.models.batching import pad
from dialeval.models.configuration_recurrent import HierarchicalConfig
from dialeval.models.modeling_critic import HierarchicalCritic
from dialeval.responders.generators import Generator
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.training.policy import Drawn, leave_one_out
from dialeval.training.updates import reduced_step

Rewards = Sequence[np.ndarray]
"""One array per response, with the reward of each of its tokens."""
Sum = Callable[[np.ndarray], np.ndarray]
"""Adds an array over all processes."""
_DECAY = 0.9  # of the running mean, per update


class Baseline(Protocol):
    """What is subtracted from the reward of each token."""

    def values(self, drawn: Drawn, rewards: Rewards) -> list[np.ndarray]:
        """One number per token of each response."""
        ...

    def of_contexts(self, drawn: Drawn, rewards: Rewards) -> np.ndarray:
        """One number per context, for rewards of human responses to the same contexts."""
        ...

    def learn(self, drawn: Drawn, rewards: Rewards, valid: np.ndarray) -> dict[str, float]:
        """Update it with the rewards of valid responses.

        Args:
            drawn (`Drawn`):
                Sampled responses.
            rewards (`Sequence[np.ndarray]`):
                The reward of each token.
            valid (`np.ndarray`):
                Which responses have one.

        Returns:
            `dict[str, float]`: Numbers to log.
        """
        ...


class NoBaseline:
    """Zero."""

    def values(self, drawn: Drawn, rewards: Rewards) -> list[np.ndarray]:
        return [np.zeros(len(reward)) for reward in rewards]

    def of_contexts(self, drawn: Drawn, rewards: Rewards) -> np.ndarray:
        return np.zeros(len(drawn) // drawn.n)

    def learn(self, drawn: Drawn, rewards: Rewards, valid: np.ndarray) -> dict[str, float]:
        """Nothing to learn.

        Args:
            drawn (`Drawn`):
                Sampled responses.
            rewards (`Sequence[np.ndarray]`):
                The reward of each token.
            valid (`np.ndarray`):
                Which responses have one.

        Returns:
            `dict[str, float]`: Numbers to log.
        """
        return {}


class GroupBaseline(NoBaseline):
    """The mean over the responses to a context, or over the other ones.

    A response that has ended keeps its last reward, so that all count at every position.
    """

    def __init__(self, leave_out: bool = False):
        self.leave_out = leave_out

    def values(self, drawn: Drawn, rewards: Rewards) -> list[np.ndarray]:
        table = carried(rewards)  # (responses, time)
        if self.leave_out:
            means = leave_one_out(table, drawn.n)
        else:
            groups = table.reshape(-1, drawn.n, table.shape[1])
            means = np.repeat(groups.mean(1), drawn.n, 0)
        return [row[: len(reward)] for row, reward in zip(means, rewards, strict=True)]

    def of_contexts(self, drawn: Drawn, rewards: Rewards) -> np.ndarray:
        return last_rewards(rewards).reshape(-1, drawn.n).mean(1)


class MeanBaseline(NoBaseline):
    """A running mean of rewards over all processes, for REGS one at each position.

    Args:
        size (`int`):
            Positions at most; 0 for one mean of complete responses.
        add (`Callable`, *optional*):
            Adds an array over all processes.
    """

    def __init__(self, size: int, add: Sum = lambda values: values):
        self.add = add
        self.mean = np.full(size + 1, np.nan)  # by position, and of complete responses

    def values(self, drawn: Drawn, rewards: Rewards) -> list[np.ndarray]:
        positions, last = self.mean[:-1], np.nan_to_num(self.mean[-1])
        means = np.where(np.isnan(positions), last, positions)
        if not len(means):
            return [np.full(len(reward), last) for reward in rewards]
        return [means[: len(reward)] for reward in rewards]

    def of_contexts(self, drawn: Drawn, rewards: Rewards) -> np.ndarray:
        return np.full(len(drawn) // drawn.n, np.nan_to_num(self.mean[-1]))

    def learn(self, drawn: Drawn, rewards: Rewards, valid: np.ndarray) -> dict[str, float]:
        """Mix the batch's means into the running ones.

        Args:
            drawn (`Drawn`):
                Sampled responses.
            rewards (`Sequence[np.ndarray]`):
                The reward of each token.
            valid (`np.ndarray`):
                Which responses have one.

        Returns:
            `dict[str, float]`: Numbers to log.
        """
        sums = np.zeros((2, len(self.mean)))
        for reward, use in zip(rewards, valid, strict=True):
            if use and len(reward):
                size = min(len(reward), len(self.mean) - 1)
                sums[:, :size] += [reward[:size], np.ones(size)]
                sums[:, -1] += [reward[-1], 1]
        totals, counts = self.add(sums)
        batch = np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)
        mixed = _DECAY * self.mean + (1 - _DECAY) * batch
        self.mean = np.where(np.isnan(batch), self.mean, np.where(np.isnan(mixed), batch, mixed))
        return {"baseline": float(self.mean[-1])}


class CriticBaseline:
    """The critic of Li et al. (2017, footnote 3): a network trained to predict the reward.

    It has its own optimizer and reads tokens, so its gradients do not reach the generator.

    Args:
        generator (`Generator`):
            Whose tokens it reads.
        config (`AdversarialConfig`):
            Size, learning rate, and what it reads.
        accelerator (`Accelerator`):
            The processes.
        max_norm (`float`, *optional*, defaults to 5.0):
            Largest norm of its gradients.
    """

    def __init__(
        self,
        generator: Generator,
        config: AdversarialConfig,
        accelerator: Accelerator,
        max_norm: float = 5.0,
    ):
        self.accelerator, self.max_norm, self.pad_id = accelerator, max_norm, generator.pad_id
        # REINFORCE has one reward per response, so one value per history.
        whole = config.objective == "reinforce"
        self.reads = "history" if whole else config.critic_reads
        embedding = generator.model.get_input_embeddings()
        size = max(len(generator.tokenizer), getattr(embedding, "num_embeddings", 0))
        shape = HierarchicalConfig(
            vocab_size=size, hidden_size=config.critic_size, dropout=0.0,
            id2label={0: "value"}, label2id={"value": 0},
            pad_token_id=generator.pad_id, eos_token_id=generator.end_ids[-1],
        )  # fmt: skip
        self.model = HierarchicalCritic(shape).to(accelerator.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.critic_learning_rate)

    def values(self, drawn: Drawn, rewards: Rewards) -> list[np.ndarray]:
        with torch.no_grad():
            table = self._predict(drawn).double().cpu().numpy()
        return [row[: len(reward)] for row, reward in zip(table, rewards, strict=True)]

    def of_contexts(self, drawn: Drawn, rewards: Rewards) -> np.ndarray:
        with torch.no_grad():
            return self._all_values(drawn)[:: drawn.n, 0].double().cpu().numpy()

    def learn(self, drawn: Drawn, rewards: Rewards, valid: np.ndarray) -> dict[str, float]:
        """One step on the mean squared error to the rewards.

        Args:
            drawn (`Drawn`):
                Sampled responses.
            rewards (`Sequence[np.ndarray]`):
                The reward of each token.
            valid (`np.ndarray`):
                Which responses have one.

        Returns:
            `dict[str, float]`: Numbers to log.
        """
        predicted = self._predict(drawn)  # (responses, time)
        targets, counted = torch.zeros_like(predicted), torch.zeros_like(predicted)
        for row, reward in enumerate(rewards):
            size = min(1, len(reward)) if self.reads == "history" else len(reward)
            if valid[row] and size:
                value = reward if self.reads != "history" else reward[-1:]
                targets[row, :size] = torch.from_numpy(value[:size]).to(targets)
                counted[row, :size] = 1
        count = self.accelerator.reduce(counted.sum(), "sum").clamp(min=1)
        loss = (counted * (predicted - targets) ** 2).sum() / count
        loss.backward()
        reduced_step(self.accelerator, self.model.parameters(), self.optimizer, self.max_norm)
        return {"critic_loss": self.accelerator.reduce(loss.detach(), "sum").item()}

    def _predict(self, drawn: Drawn) -> Tensor:
        """The value that is subtracted from the reward of each token, `(responses, time)`."""
        values = self._all_values(drawn)  # b(x), b(x, Y_1), ...
        if self.reads == "prefix":  # eq. 3 as it is written
            return values[:, 1:]
        if self.reads == "state":  # what was known before the token was chosen
            return values[:, :-1]
        return values[:, :1].expand(-1, values.shape[1] - 1)

    def _all_values(self, drawn: Drawn) -> Tensor:
        device = self.accelerator.device
        sides = []
        for rows in (drawn.prompts, drawn.responses):
            batch = pad([ids or [self.pad_id] for ids in rows], self.pad_id)
            sides += [batch["input_ids"].to(device), batch["attention_mask"].sum(1).to(device)]
        return self.model.values(*sides)


def carried(rewards: Rewards) -> np.ndarray:
    """Rewards as one table; after a response's last token its last reward, `(responses, time)`.

    Examples:
        >>> carried([np.array([0.1, 0.2]), np.array([0.5])]).tolist()
        [[0.1, 0.2], [0.5, 0.5]]
    """
    longest = max(map(len, rewards), default=0)
    return np.array([_lengthened(reward, longest) for reward in rewards])


def last_rewards(rewards: Rewards) -> np.ndarray:
    """The reward of each complete response; 0 where it has no tokens."""
    return np.array([reward[-1] if len(reward) else 0.0 for reward in rewards])


def _lengthened(values: np.ndarray, size: int) -> np.ndarray:
    """Values of at least this size; the last one is repeated."""
    more = size - len(values)
    if more <= 0:
        return values.copy()
    return np.append(values, np.full(more, values[-1] if len(values) else 0.0))
