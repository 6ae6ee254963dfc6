"""What a decoding strategy gets: a batch of contexts, the models, and the seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from dialeval.dialogues import BadInput, Passage
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import response_log_probs
from dialeval.responders.processors import RepeatedTypePenalty
from dialeval.settings.live import MAX_NEW_TOKENS


@dataclass
class Task:
    """One batch of contexts, and what a strategy may need to respond to them.

    Args:
        generator (`Generator`):
            The model that responds.
        rows (`Sequence[Sequence[int]]`):
            Prompts, as token ids.
        passages (`Sequence[Passage]`):
            The passages of the prompts.
        seeds (`Sequence[int]`):
            One seed per context; the same context has the same seed in every batch.
        n (`int`, *optional*, defaults to 1):
            Responses per context.
        max_new_tokens (`int`, *optional*, defaults to 128):
            Maximum length of a response.
        turn (`int`, *optional*, defaults to 0):
            Seed of what all contexts of a run share.
        backward, language_model (`Generator`, *optional*):
            Models of p(s|t) and p(t), for MMI.
    """

    generator: Generator
    rows: Sequence[Sequence[int]]
    passages: Sequence[Passage]
    seeds: Sequence[int]
    n: int = 1
    max_new_tokens: int = MAX_NEW_TOKENS
    turn: int = 0
    backward: Generator | None = None
    language_model: Generator | None = None

    @property
    def start(self) -> int:
        """Column of the first new token in the input of logits processors."""
        return self.generator.start_at(self.rows)

    @property
    def copy_seeds(self) -> list[int]:
        """One seed per response, shape `(rows * n,)`."""
        return [mixed_seed(seed, copy) for seed in self.seeds for copy in range(self.n)]

    def repeat_penalty(self, penalty: float) -> list[Any]:
        """The processor that penalises repeated word types, if there is a penalty."""
        tokenizer = self.generator.tokenizer
        return [RepeatedTypePenalty(tokenizer, penalty, self.start)] if penalty else []

    def run(self, processors: Sequence[Any] = (), **settings: Any) -> Tensor:
        """New tokens, shape `(rows * n, new)`."""
        return self.generator.generate(
            self.rows, self.max_new_tokens, processors=processors, **settings
        )


class Decoding(Protocol):
    """Returns the new tokens of each response, shape `(rows * n, new)`; `repr` is its signature."""

    def __call__(self, task: Task) -> Tensor: ...


def truncate_at_end(ids: Tensor, generator: Generator) -> list[tuple[list[int], bool]]:
    """Each row up to and including its end token, and whether it has one."""
    end_ids = torch.tensor(generator.end_ids or [-1], device=ids.device)
    is_end = torch.isin(ids, end_ids)  # (rows, new)
    finished = is_end.any(1).tolist()
    sizes = torch.where(is_end.any(1), is_end.int().argmax(1) + 1, ids.shape[1]).tolist()
    return [
        (row[:size], done) for row, size, done in zip(ids.tolist(), sizes, finished, strict=True)
    ]


def likelihoods(
    generator: Generator, passages: Sequence[Passage], batch_tokens: int = 2048
) -> tuple[np.ndarray, np.ndarray]:
    """log p(response | context) of passages, including the end token, and the lengths.

    Args:
        generator (`Generator`):
            The model.
        passages (`Sequence[Passage]`):
            Contexts and responses.
        batch_tokens (`int`, *optional*, defaults to 2048):
            Tokens of a batch, including padding.

    Returns:
        `tuple[np.ndarray, np.ndarray]`: Sums of log-probabilities, and numbers of tokens.
    """
    prompts = generator.prompts(generator.tokenizer, passages)
    texts = [passage.response.strip() for passage in passages]
    rows = generator.tokenizer(texts, add_special_tokens=False)["input_ids"] if texts else []
    responses = [[*row, *generator.end_ids[-1:]] for row in rows]
    limit = generator.max_length
    if limit is not None:
        responses = [row[: limit // 2] for row in responses]
    contexts = [
        prompt.ids if limit is None else prompt.ids[-(limit - len(row)) :]
        for prompt, row in zip(prompts, responses, strict=True)
    ]
    return response_log_probs(generator.model, generator.pad_id, contexts, responses, batch_tokens)


def mean_likelihoods(spec: str, passages: Sequence[Passage]) -> np.ndarray:
    """log p(response | context) per token, by a local model that is named or in a folder."""
    from dialeval.responders.registry import load_responder

    generator = getattr(load_responder(spec), "generator", None)
    if generator is None:
        raise BadInput(
            f"{spec!r} gives no likelihoods.", hint="Name a local language model, such as smollm2."
        )
    sums, lengths = likelihoods(generator, passages)
    return sums / np.maximum(lengths, 1)


def mixed_seed(seed: int, number: int) -> int:
    """A seed below 2**63 that depends on both numbers."""
    mixed = (seed + 0x9E3779B97F4A7C15 * (number + 3)) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = ((mixed ^ (mixed >> shift)) * factor) % 2**64
    return (mixed ^ (mixed >> 31)) >> 1
