"""Training a generator against perturbed contexts (Niu and Bansal, 2018, sec. 4).

An edit that should not change the response is a new context for the true response T:

    L = -log P(T | S')

One that should change it makes (S', T) a negative example, kept apart by a margin (the paper's
formula of L_ML lacks the minus):

    L = L_ML + alpha * L_MM,  L_ML = -log P(T | S),  L_MM = max(0, M + log P(T | S') - log P(T | S))
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from dialeval.dialogues import Passages
from dialeval.metrics.training_results import StepProgress
from dialeval.perturbations import Perturbation
from dialeval.responders.generators import Generator
from dialeval.settings.against import AgainstConfig
from dialeval.settings.training import GeneratorConfig
from dialeval.training.greedy import greedy_responses
from dialeval.training.latent import has_latent
from dialeval.training.likelihood import Examples, GeneratorTrainer, summed_losses
from dialeval.training.perturbed import PerturbedBatch, PerturbedExamples, check_coverage
from dialeval.training.updates import autocast

_VALIDATION_EPOCH = -1  # validation contexts are edited in the same way after every epoch


def margin_loss(normal: Tensor, perturbed: Tensor, margin: float = 0.1) -> Tensor:
    """max(0, M + log P(T | S') - log P(T | S)) of each response.

    Args:
        normal, perturbed (`Tensor`):
            log P(T | S) and log P(T | S'), shape `(rows,)`.
        margin (`float`, *optional*, defaults to 0.1):
            M, by how much a changed context should lower the log-probability.

    Returns:
        `Tensor`: Shape `(rows,)`.

    Examples:
        >>> normal, perturbed = torch.tensor([-2.0, -2.0]), torch.tensor([-2.5, -1.5])
        >>> [round(loss, 4) for loss in margin_loss(normal, perturbed).tolist()]
        [0.0, 0.6]
    """
    return (margin + perturbed - normal).clamp(min=0)


class RobustTrainer(GeneratorTrainer):
    """Continues training a generator with contexts that strategies edit on the fly.

    Args:
        generator (`Generator`):
            A trained generator, trained further in place.
        passages (`Passages`):
            Training passages.
        strategies (`Sequence[Perturbation]`):
            What it is trained against: one, or several of which each epoch draws one per context.
        against (`AgainstConfig`, *optional*):
            Settings of the two losses.
        config (`GeneratorConfig`, *optional*):
            Settings of the trainer. The loss is on responses alone: an edited context is no text
            to learn to write.
        accelerator (`Accelerator`, *optional*):
            Where and how to run.
        checkpoint (`Path`, *optional*):
            Folder to write checkpoints to, and to resume from when there is one.
    """

    def __init__(
        self,
        generator: Generator,
        passages: Passages,
        strategies: Sequence[Perturbation],
        against: AgainstConfig | None = None,
        config: GeneratorConfig | None = None,
        accelerator: Accelerator | None = None,
        checkpoint: Path | None = None,
    ):
        self.strategies, self.against = list(strategies), against or AgainstConfig()
        self.epoch, self.margins = 0, {"edited": 0.0, "active": 0.0, "loss": 0.0}
        super().__init__(generator, passages, config, accelerator, checkpoint)
        self.warnings += check_coverage(passages, self.strategies, self.config.seed)
        self.has_margin = any(item.kind == "should_change" for item in self.strategies)

    def _make_examples(self, passages: Passages) -> Examples:
        return PerturbedExamples(self.generator, passages, self.strategies, self.config.seed)

    def _make_held_out(self, passages: Passages) -> Examples:
        return self._make_examples(passages)

    def train(self, validation: Passages) -> Iterator[StepProgress]:
        """Like [`GeneratorTrainer.train`]; warns at the end if no margin was ever missed."""
        totals = {"edited": 0.0, "active": 0.0}
        for progress in super().train(validation):
            totals["edited"] += progress.get("margin_edited", 0.0)
            totals["active"] += progress.get("margin_active", 0.0)
            yield progress
        if totals["edited"] and not totals["active"]:
            self.warnings.append(
                f"The max-margin loss was 0 in all of {totals['edited']:,.0f} edited contexts: "
                "every one already lowers log P(T|S) by the margin, so only the likelihood was "
                "trained. Raise --margin."
            )

    def validate(self, examples: Examples) -> dict[str, float]:
        """Loss on edited contexts, as in training, and the perplexity on normal ones."""
        if not isinstance(examples, PerturbedExamples):
            return super().validate(examples)
        self.epoch = _VALIDATION_EPOCH
        perturbed = super().validate(examples)
        normal = super().validate(Examples(self.generator, examples.passages))
        return {**perturbed, "perplexity": normal["perplexity"]}

    def _step(self, rows: np.ndarray, step: int, total: int, epoch: int) -> dict[str, float]:
        self.epoch, self.margins = epoch, {"edited": 0.0, "active": 0.0, "loss": 0.0}
        numbers = super()._step(rows, step, total, epoch)
        if not self.has_margin:
            return numbers
        values = torch.tensor(list(self.margins.values()), device=self.accelerator.device)
        edited, active, loss = self.accelerator.reduce(values, "sum").tolist()
        margins = {"margin_edited": edited, "margin_active": active}
        return {**numbers, **margins, "margin_loss": loss / max(1.0, edited)}

    def _losses(
        self, model: torch.nn.Module, examples: Examples, rows: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Loss of each example, summed over its response, and its number of tokens."""
        if not isinstance(examples, PerturbedExamples):
            return super()._losses(model, examples, rows)
        batch = examples.perturb(rows, self.epoch)
        sources = [
            passage if should_change else perturbed
            for passage, perturbed, should_change in zip(
                batch.passages, batch.perturbed, batch.should_change, strict=True
            )
        ]
        responses = [examples.responses[row] for row in rows]
        inputs = examples.tensors_of(examples.prompts_of(sources), responses)
        sums, counts = self._tensor_losses(model, *inputs)
        if self.has_margin:
            sums = sums + self._margin_losses(model, examples, batch, responses, counts)
        return sums, counts

    def _margin_losses(
        self,
        model: torch.nn.Module,
        examples: PerturbedExamples,
        batch: PerturbedBatch,
        responses: Sequence[list[int]],
        counts: Tensor,
    ) -> Tensor:
        """alpha * L_MM of each row, 0 where no context was edited that should change T."""
        # Without such a row one is still read: processes that differ in the number of their
        # forward passes would wait for each other.
        rows = np.flatnonzero(batch.should_change) if batch.should_change.any() else np.array([0])
        normal, perturbed, targets = self._triples(examples, batch, rows, responses)
        log_probs = self._log_probs(model, examples, [*normal, *perturbed], [*targets, *targets])
        if self.against.margin_over == "tokens":
            sizes = [len(target) for target in targets]
            log_probs = log_probs / log_probs.new_tensor(sizes).repeat(2)
        before, after = log_probs.chunk(2)
        losses = margin_loss(before, after, self.against.margin)
        edited = torch.from_numpy(batch.should_change[rows]).to(losses)
        self._count(losses.detach() * edited, edited)
        # Beside a mean over tokens, margins per token are a mean over responses, as released.
        unit = counts.float().mean() if self.against.margin_over == "tokens" else 1.0
        at = torch.from_numpy(rows).to(losses.device)
        weighted = losses * edited * self.against.margin_weight * unit
        return losses.new_zeros(len(responses)).index_add(0, at, weighted)

    def _count(self, losses: Tensor, edited: Tensor) -> None:
        """Add to the numbers of a step."""
        self.margins["edited"] += edited.sum().item()
        self.margins["active"] += (losses > 0).sum().item()
        self.margins["loss"] += losses.sum().item()

    def _log_probs(
        self,
        model: torch.nn.Module,
        examples: Examples,
        prompts: Sequence[list[int]],
        responses: Sequence[list[int]],
    ) -> Tensor:
        """log P(response | context), with a latent value of the prior if there is one.

        A normal context and its perturbed one then share the noise. At test time the latent value
        comes from the prior too; the posterior would read the response itself.
        """
        inputs, labels = examples.tensors_of(prompts, responses)
        device = self.accelerator.device
        batch: dict[str, Any] = {name: tensor.to(device) for name, tensor in inputs.items()}
        if has_latent(self.plain):
            shape = len(prompts) // 2, self.plain.config.latent_size
            noise = torch.randn(shape) if model.training else torch.zeros(shape)
            batch["noise"] = noise.repeat(2, 1).to(device)
        with autocast(self.config.precision, device):
            output = model(**batch)
        return -summed_losses(output.logits, labels.to(device), examples.is_encoder_decoder)[0]

    def _triples(
        self,
        examples: PerturbedExamples,
        batch: PerturbedBatch,
        rows: np.ndarray,
        responses: Sequence[list[int]],
    ) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
        """Token ids of S, S' and T: the true response, or the generator's own."""
        pair = [batch.passages[row] for row in rows], [batch.perturbed[row] for row in rows]
        if self.against.margin_target == "gold":
            normal, perturbed = map(examples.prompts_of, pair)
            return normal, perturbed, [responses[row] for row in rows]
        longest = int(examples.responses.sizes.max())
        normal, perturbed = (examples.prompts_before(side, longest) for side in pair)
        return normal, perturbed, greedy_responses(self.generator, normal, longest)
