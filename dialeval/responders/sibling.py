"""Beam search that ranks a beam's continuations against their siblings (Li et al., 2016c)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, PreTrainedModel
from transformers.generation import GenerationMixin, StoppingCriteriaList

from dialeval.dialogues import BadInput

OVERRIDDEN = (
    "_get_top_k_continuations",
    "_get_running_beams_for_next_iteration",
    "_update_finished_beams",
)
"""Private methods of `GenerationMixin` that [`sibling_beam`] replaces during a call."""


@dataclass(frozen=True)
class SiblingPenalty(LogitsProcessor):
    """Subtracts `gamma` times the rank among its siblings from each continuation, permanently.

    An alternative interpretation of the paper: as a processor, the penalty stays in the score of
    the beam and accumulates. With [`sibling_beam`], S in the paper's S(Y, y) - gamma k' remains a
    log-probability.

    Args:
        gamma (`float`):
            Penalty per rank, in nats; the best continuation of a beam has rank 1.
    """

    gamma: float

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        return scores - self.gamma * (ranks(scores) + 1)


def ranks(scores: Tensor) -> Tensor:
    """The rank of each score in its row, best first, from 0; the shape of `scores`."""
    order = scores.argsort(dim=-1, descending=True, stable=True)
    indices = torch.arange(scores.shape[-1], device=scores.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, indices)


def sibling_beam(
    model: PreTrainedModel,
    input_ids: Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    gamma: float = 1.0,
    **model_kwargs: Any,
) -> Any:
    """Beam search in which continuations compete by log-probability minus `gamma` * rank.

    The rank is that of a continuation among those of the same beam, from 1 (Li et al., 2016c). It
    decides which continuations survive; their scores remain log-probabilities, and finished
    responses are compared by these, with the length penalty of the configuration.

    Args:
        model (`PreTrainedModel`):
            The generator.
        input_ids (`Tensor`):
            Prompts.
        logits_processor, stopping_criteria, generation_config:
            As transformers passes them to `custom_generate`.
        gamma (`float`, *optional*, defaults to 1.0):
            Penalty per rank.
        model_kwargs:
            Of the model.

    Returns:
        `Any`: What transformers' beam search returns.

    Examples:
        model.generate(ids, custom_generate=sibling_beam, gamma=0.5, num_beams=7)
    """
    if generation_config.do_sample:
        hint = "Pass `do_sample=False`."
        raise BadInput("sibling-penalised beam search ranks, it does not sample.", hint=hint)
    with _competing(model, _Competition(model, gamma)):
        searching: Any = model  # a private method of a mixin
        return searching._beam_search(
            input_ids,
            logits_processor=logits_processor,
            stopping_criteria=stopping_criteria,
            generation_config=generation_config,
            **model_kwargs,
        )


@contextmanager
def _competing(model: PreTrainedModel, competition: "_Competition") -> Iterator[None]:
    """Inside the block, the model's beam search ranks by a competition."""
    missing = [name for name in OVERRIDDEN if not hasattr(GenerationMixin, name)]
    if missing:
        raise BadInput(
            f"transformers {transformers.__version__} has no {', '.join(missing)}.",
            hint="Use `SiblingPenalty`, or a version with which the tests of this file pass.",
        )
    before = {name: vars(model)[name] for name in OVERRIDDEN if name in vars(model)}
    try:
        for name in OVERRIDDEN:
            setattr(model, name, getattr(competition, name))
        yield
    finally:
        for name in OVERRIDDEN:
            vars(model).pop(name, None)
        vars(model).update(before)


class _Competition:
    """The steps of beam search that use scores: ranked scores select, plain scores are kept.

    Both are `(batch, kept)`, in the order of the ranked ones.
    """

    def __init__(self, model: Any, gamma: float):
        self.model, self.gamma = model, gamma
        self.plain = torch.empty(0)

    def _get_top_k_continuations(
        self, accumulated_log_probs: Tensor, beams_to_keep: int, num_beams: int, **kwargs: Any
    ) -> tuple[Tensor, Tensor, Tensor]:
        ranked = self._ranked(accumulated_log_probs, beams_to_keep, num_beams)
        # The same call on the same tensor as in the original method, so the order is the same.
        chosen = ranked.topk(beams_to_keep)[1]
        self.plain = accumulated_log_probs.gather(1, chosen)
        return type(self.model)._get_top_k_continuations(
            self.model,
            accumulated_log_probs=ranked,
            beams_to_keep=beams_to_keep,
            num_beams=num_beams,
            **kwargs,
        )

    def _ranked(self, log_probs: Tensor, kept: int, num_beams: int) -> Tensor:
        """Scores minus penalties; a beam's best `kept` are enough, the others cannot be chosen."""
        of_beam = log_probs.unflatten(1, (num_beams, -1))  # (batch, beams, vocabulary)
        best, token = of_beam.topk(min(kept, of_beam.shape[-1]), dim=-1)
        rank = torch.arange(1, best.shape[-1] + 1, device=best.device)
        ranked = torch.full_like(of_beam, float("-inf"))
        return ranked.scatter_(-1, token, best - self.gamma * rank).flatten(1)

    def _get_running_beams_for_next_iteration(
        self,
        topk_log_probs: Tensor,
        topk_running_sequences: Tensor,
        topk_running_beam_indices: Tensor,
        next_token_hits_stopping_criteria: Tensor,
        num_beams: int,
    ) -> tuple[Tensor, Tensor, Tensor]:
        ended = next_token_hits_stopping_criteria * -1e9
        chosen = (topk_log_probs + ended).topk(num_beams)[1]  # (batch, beams)
        # Best first, because the search checks the first beam to decide whether to stop.
        scores, order = (self.plain + ended).gather(1, chosen).sort(-1, descending=True)
        chosen = chosen.gather(1, order)
        gather = self.model._gather_beams
        sequences = gather(topk_running_sequences, chosen)
        return sequences, scores, gather(topk_running_beam_indices, chosen)

    def _update_finished_beams(self, topk_log_probs: Tensor, **kwargs: Any) -> tuple[Tensor, ...]:
        return type(self.model)._update_finished_beams(
            self.model, topk_log_probs=self.plain, **kwargs
        )
