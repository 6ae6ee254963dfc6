"""Reinforcement learning's ingredients: responses drawn from a generator, and their loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dialeval.dialogues import Passage
from dialeval.models.batching import token_batches
from dialeval.responders.decoding import Task, TemperatureMixture, ended
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import summed_log_probs


@dataclass(eq=False)
class Drawn:
    """Responses to contexts, `n` of each in a row.

    Args:
        passages (`list[Passage]`):
            The contexts with what was said to them, `contexts * n` of them.
        prompts, responses (`list[list[int]]`):
            Token ids, those of a response with its end where it has one.
        finished (`np.ndarray`):
            Which responses ended by themselves.
        temperatures (`np.ndarray`):
            At which each was drawn.
    """

    passages: list[Passage]
    prompts: list[list[int]]
    responses: list[list[int]]
    finished: np.ndarray
    temperatures: np.ndarray
    n: int

    def __len__(self) -> int:
        return len(self.passages)


def draw_responses(
    generator: Generator,
    passages: Sequence[Passage],
    seeds: Sequence[int],
    decoding: TemperatureMixture,
    n: int = 1,
    max_new_tokens: int = 30,
    turn: int = 0,
    author: str = "",
) -> Drawn:
    """Responses of a generator, dropout off; each context is read once for its `n` responses.

    Args:
        seeds (`Sequence[int]`):
            One a context: the same seed gives the same responses in any batch and process.
        turn (`int`, *optional*, defaults to 0):
            Seed of a temperature that all contexts share.
    """
    training = generator.model.training
    generator.model.eval()
    room = generator.prompts.limited(generator.room(max_new_tokens))
    prompts = [prompt.ids for prompt in room(generator.tokenizer, passages)]
    task = Task(generator, prompts, passages, seeds, n, max_new_tokens, turn)
    rows = ended(decoding(task), generator)
    generator.model.train(training)
    texts = generator.tokenizer.batch_decode([ids for ids, _ in rows], skip_special_tokens=True)
    asked = [passage for passage in passages for _ in range(n)]
    name = author or generator.name
    return Drawn(
        [p.with_response(text.strip(), name) for p, text in zip(asked, texts, strict=True)],
        [prompt for prompt in prompts for _ in range(n)],
        [ids for ids, _ in rows],
        np.array([done for _, done in rows]),
        np.repeat(decoding.drawn(task), n),
        n,
    )


def group_advantages(rewards: np.ndarray, n: int) -> np.ndarray:
    """Rewards minus the mean over the `n` responses to a context (Gao et al., 2021, eqs. 3-4).

    Example:
        >>> group_advantages(np.array([1.0, 0.0, 0.5, 0.5]), 2).tolist()
        [0.5, -0.5, 0.0, 0.0]
    """
    groups = np.asarray(rewards, dtype=float).reshape(-1, n)  # (contexts, n)
    return (groups - groups.mean(1, keepdims=True)).reshape(-1)


def policy_backward(
    generator: Generator,
    drawn: Drawn,
    advantages: np.ndarray,
    divisor: float,
    *,
    average_over: str = "responses",
    at_temperature: bool = False,
    batch_tokens: int = 4_096,
) -> float:
    """Add the gradient of the policy loss to the generator; gives the loss.

    The loss is -sum log P(y|x) R(y) (Gao et al., 2021, eq. 5), dropout off, divided by `divisor`.
    Responses whose advantage is 0 have no gradient and are left out.

    Args:
        average_over (`str`, *optional*, defaults to `"responses"`):
            `"tokens"` divides a response's log-probability by its length, as the released code of
            Gao et al. does.
        at_temperature (`bool`, *optional*, defaults to `False`):
            Take P at the temperature the response was drawn at, in place of 1.
    """
    model, total = generator.model, 0.0
    model.eval()  # the network that drew is the one whose probabilities count
    chosen = np.flatnonzero((advantages != 0) & [bool(ids) for ids in drawn.responses])
    sizes = [len(drawn.prompts[row]) + len(drawn.responses[row]) for row in chosen]
    for batch in token_batches(sizes, batch_tokens):
        rows = chosen[batch]
        responses = [drawn.responses[row] for row in rows]
        log_probs = summed_log_probs(
            model,
            generator.pad_id,
            [drawn.prompts[row] for row in rows],
            responses,
            drawn.temperatures[rows].tolist() if at_temperature else None,
        )
        weights = torch.from_numpy(advantages[rows]).to(log_probs)
        if average_over == "tokens":
            weights = weights / weights.new_tensor([len(each) for each in responses])
        loss = _policy_loss(log_probs, weights) / divisor
        loss.backward()
        total += loss.item()
    return total


def _policy_loss(log_probs: Tensor, advantages: Tensor) -> Tensor:
    return -(log_probs * advantages).sum()
