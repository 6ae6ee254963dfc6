"""Maximum-likelihood training of generators on human responses."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.dialogues.storage import BATCH, batches, chunks
from dialeval.metrics.training_results import StepProgress
from dialeval.models.batching import pad, token_batches, training_batches
from dialeval.responders.generators import Generator
from dialeval.settings.training import GeneratorConfig
from dialeval.training.checkpoints import CheckpointManager
from dialeval.training.latent import has_latent, kl_weight
from dialeval.training.prepared import PreparedModel
from dialeval.training.reranking import Reranking
from dialeval.training.schedule import (
    finite_loss,
    learning_rate,
    optimizer_for,
)
from dialeval.training.updates import (
    autocast,
    check_shares,
    clip,
    enable_checkpointing,
    local_parts,
)
from dialeval.training.weighting import TfIdfWeights

_EVALUATION_TOKENS = 2_048
IGNORED = -100


class GeneratorTrainer:
    """Trains a generator on human responses, and keeps the weights that validated best.

    Args:
        generator (`Generator`):
            Causal model or encoder-decoder, trained in place.
        passages (`Passages`):
            Training passages.
        config (`GeneratorConfig`, *optional*):
            Settings.
        accelerator (`Accelerator`, *optional*):
            Where and how to run.
        checkpoint (`Path`, *optional*):
            Folder to write checkpoints to, and to resume from when there is one.
    """

    def __init__(
        self,
        generator: Generator,
        passages: Passages,
        config: GeneratorConfig | None = None,
        accelerator: Accelerator | None = None,
        checkpoint: Path | None = None,
    ):
        self.generator = generator
        self.config = config or GeneratorConfig()
        self.accelerator = accelerator or Accelerator()
        self.examples = self._make_examples(passages)
        check_shares(
            min(self.config.batch_size, len(self.examples)), self.accelerator.num_processes
        )
        self.kl_weight = 1.0
        self.warnings: list[str] = []
        self.reranking: Reranking | None = None
        self.weights = None
        if self.config.weighting == "tf-idf":
            self.weights = TfIdfWeights(_responses(passages), self.config.weight_cap)
            scores = map(self.weights.score, _responses(passages))
            self.scores = np.fromiter(scores, float, len(passages))
        if self.config.gradient_checkpointing:
            enable_checkpointing(generator.model)
        parameters = generator.model.parameters()
        trainable = [value for value in parameters if value.requires_grad]
        optimizer = optimizer_for(trainable, self.config)
        self.prepared = PreparedModel(self.accelerator, generator.model, optimizer)
        self.optimizer = self.prepared.optimizer
        generator.model = self.plain
        self.checkpoints = CheckpointManager(
            checkpoint,
            self.prepared.unwrapped,
            self.optimizer.optimizer,
            self.accelerator.is_main_process,
        )

    @property
    def plain(self) -> PreTrainedModel:
        """The model in one piece, without the wrappers of Accelerate."""
        return self.prepared.whole

    def train(self, validation: Passages) -> Iterator[StepProgress]:
        """Take one step per batch; yield its progress, and that of each epoch's validation.

        When the iterator ends, the model has the weights with the lowest validation loss.
        """
        held_out = self._make_held_out(validation)
        per_epoch = max(1, len(self.examples) // self.config.batch_size)
        total = per_epoch * self.config.epochs
        total = min(total, self.config.max_steps) if self.config.max_steps > 0 else total
        step, waited = self.checkpoints.resume()
        while step < total and waited <= self.config.patience:
            epoch, at = divmod(step, per_epoch)
            end = min(total, (epoch + 1) * per_epoch)
            order = self.examples.batches(self.config.batch_size, [self.config.seed, epoch])
            for rows in order[at : at + end - step]:
                numbers = self._step(rows, step, total, epoch)
                yield cast(StepProgress, {"step": step, "epoch": epoch, "total": total, **numbers})
                step += 1
                # The end of an epoch is saved after its validation; a run interrupted between the
                # two would otherwise skip it.
                if step % self.config.checkpoint_every == 0 and step < end:
                    self.checkpoints.save(step, waited)
            numbers = self.validate(held_out)
            waited = (
                0 if self.checkpoints.keep_if_better(numbers["validation_loss"]) else waited + 1
            )
            progress = {"step": step, "epoch": epoch, "total": total, **numbers}
            self.checkpoints.history.append(progress)
            yield cast(StepProgress, progress)
            self.checkpoints.save(step, waited)  # with what the caller adds to the progress
        self.checkpoints.restore_best()
        self.prepared.finish()
        self.plain.eval()

    def _make_examples(self, passages: Passages) -> "Examples":
        """What is trained on."""
        return Examples(self.generator, passages, self.config.loss_on == "all")

    def _make_held_out(self, passages: Passages) -> "Examples":
        """What is validated on: responses alone."""
        return Examples(self.generator, passages)

    @torch.no_grad()
    def validate(self, examples: "Examples") -> dict[str, float]:
        """Mean loss per response token, including the end token, and the perplexity.

        With a latent variable the loss is the negative evidence lower bound for one value of it,
        and the perplexity at most what follows from it.
        """
        self.prepared.gather()
        self.plain.eval()
        shares = list(token_batches(examples.sizes, _EVALUATION_TOKENS))
        local = shares[self.accelerator.process_index :: self.accelerator.num_processes]
        sums = torch.zeros(2, dtype=torch.float64, device=self.accelerator.device)
        for rows in local:
            losses, counts = self._losses(self.plain, examples, rows)
            sums += torch.stack([losses.double().sum(), counts.double().sum()])
        loss, count = self.accelerator.reduce(sums, "sum").tolist()
        mean = finite_loss(loss / max(1, count), "validation")
        return {"validation_loss": mean, "perplexity": float(np.exp(min(mean, 80)))}

    def _step(self, rows: np.ndarray, step: int, total: int, epoch: int) -> dict[str, float]:
        rank, ranks = self.accelerator.process_index, self.accelerator.num_processes
        torch.manual_seed(self.config.seed * 1_000_003 + step * 101 + rank)
        rate = learning_rate(self.config, step, total, epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.prepared.release()
        model = self.prepared.model.train()
        self.kl_weight = kl_weight(step, total, self.config.kl_steps)
        rewards = self._reward_step(rows, step)
        weights = self._weights(rows)  # over the whole batch, before processes share it
        divisor = self._divisor(rows)
        loss = torch.zeros((), device=self.accelerator.device)
        parts = local_parts(self.accelerator, len(rows), self.config.gradient_accumulation_steps)
        for number, part in enumerate(parts, 1):
            with self._part_context(number == len(parts)):
                losses, _ = self._losses(model, self.examples, rows[part])
                part_loss = (losses * weights[part].to(losses)).sum() / divisor
                # Processes average their gradients.
                self.accelerator.backward(part_loss * ranks * self._likelihood_share)
            loss += part_loss.detach()
        batch_loss = self.accelerator.reduce(loss, "sum").item()
        finite_loss(batch_loss, f"step {step}")
        norm = clip(self.accelerator, self.prepared.trainable, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {
            "loss": batch_loss, "learning_rate": rate, "gradient_norm": float(norm), **rewards,
        }  # fmt: skip

    @property
    def _likelihood_share(self) -> float:
        """Weight of the likelihood where a reward is trained on as well."""
        return 1 - self.reranking.weight if self.reranking else 1.0

    def _reward_step(self, rows: np.ndarray, step: int) -> dict[str, float]:
        """Add the gradient of a reward, if there is one, before that of the likelihood.

        It is computed outside the wrapper of Accelerate, which averages it together with the
        gradient that follows, like one that was accumulated.
        """
        if self.reranking is None:
            return {}
        rank, ranks = self.accelerator.process_index, self.accelerator.num_processes
        sizes = self.examples.responses.sizes[rows]
        divisor = sizes.sum() if self.config.average_over == "tokens" else len(rows)
        numbers = self.reranking.backward(rows[rank::ranks], step, float(divisor) / ranks)
        self.prepared.model.train()
        values = torch.tensor(list(numbers.values()), device=self.accelerator.device)
        means = self.accelerator.reduce(values, "mean").tolist()
        return dict(zip(numbers, means, strict=True))

    def _part_context(self, is_last: bool) -> AbstractContextManager[Any]:
        """Processes exchange gradients with the last part of a batch."""
        return nullcontext() if is_last else self.accelerator.no_sync(self.prepared.model)

    def _divisor(self, rows: np.ndarray) -> int:
        """What the summed loss of a batch is divided by, over all processes."""
        if self.config.average_over == "responses":
            return len(rows)
        return max(1, int(self.examples.targets(rows).sum()))

    def _weights(self, rows: np.ndarray) -> Tensor:
        if self.weights is None:
            return torch.ones(len(rows))
        return torch.from_numpy(self.weights.weights(self.scores[rows]))

    def _losses(
        self, model: torch.nn.Module, examples: "Examples", rows: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Summed loss and number of the counted tokens of each example, shape `(rows,)`."""
        return self._tensor_losses(model, *examples.tensors(rows))

    def _tensor_losses(
        self, model: torch.nn.Module, inputs: dict[str, Tensor], labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The same from tensors; with a latent variable the negative evidence lower bound."""
        device = self.accelerator.device
        batch = {name: tensor.to(device) for name, tensor in inputs.items()}
        labels = labels.to(device)
        is_latent = has_latent(self.plain)
        with autocast(self.config.precision, device):
            output = model(**batch, **({"targets": labels} if is_latent else {}))
        sums, counts = summed_losses(output.logits, labels, self.generator.is_encoder_decoder)
        if is_latent:
            sums = sums + (self.kl_weight if model.training else 1.0) * output.kl.float()
        return sums, counts


def summed_losses(
    logits: Tensor, labels: Tensor, is_encoder_decoder: bool
) -> tuple[Tensor, Tensor]:
    """Negative log-likelihood of each row's counted tokens, and their number.

    Args:
        logits (`Tensor`):
            Shape `(rows, time, vocabulary)`.
        labels (`Tensor`):
            Tokens to predict, others -100, shape `(rows, time)`.
        is_encoder_decoder (`bool`):
            Whether a token is predicted in its column; a causal model predicts it one before.

    Returns:
        `tuple[Tensor, Tensor]`: Each of shape `(rows,)`.
    """
    if not is_encoder_decoder:
        logits, labels = logits[:, :-1], labels[:, 1:]
    counted = labels != IGNORED  # (rows, time)
    losses = F.cross_entropy(logits[counted].float(), labels[counted], reduction="none")
    row = counted.nonzero()[:, 0]
    return losses.new_zeros(len(labels)).index_add(0, row, losses), counted.sum(1)


class Ragged:
    """Rows of token ids of any length in one array, without one object per row."""

    def __init__(self):
        self._parts: list[np.ndarray] = []
        self._row_ends: np.ndarray | None = None
        self.sizes = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.sizes)

    def add(self, rows: Sequence[Sequence[int]]) -> None:
        """Append rows."""
        self._parts.append(np.fromiter(chain.from_iterable(rows), dtype=np.int32))
        sizes = np.fromiter(map(len, rows), dtype=np.int64)
        self.sizes = np.concatenate([self.sizes, sizes])
        self._row_ends = None

    def __getitem__(self, row: int) -> list[int]:
        if self._row_ends is None:
            self._parts = [np.concatenate(self._parts)]
            self._row_ends = self.sizes.cumsum()
        end = self._row_ends[row]
        return self._parts[0][end - self.sizes[row] : end].tolist()


class Examples:
    """Token ids of passages: a prompt, and the response with its end."""

    def __init__(self, generator: Generator, passages: Passages, whole: bool = False):
        self.is_encoder_decoder, self.pad_id = generator.is_encoder_decoder, generator.pad_id
        self.start_id = generator.model.generation_config.decoder_start_token_id
        self.whole = whole and not self.is_encoder_decoder
        self.prompts, self.responses = Ragged(), Ragged()
        for window in chunks(iterate(passages), BATCH):
            prompts, responses = encoded(generator, window)
            self.prompts.add(prompts)
            self.responses.add(responses)
        if not len(self):
            raise BadInput("there is no passage to learn from.", hint="Give more dialogues.")
        self.sizes = self.prompts.sizes + self.responses.sizes

    def __len__(self) -> int:
        return len(self.responses)

    def batches(self, size: int, seed: list[int]) -> list[np.ndarray]:
        """Batches of passages of similar length, in random order, all of one size."""
        return training_batches(self.sizes, size, seed)

    def targets(self, rows: np.ndarray) -> np.ndarray:
        """Number of tokens to predict in each row."""
        return self.sizes[rows] - 1 if self.whole else self.responses.sizes[rows]

    def tensors(self, rows: Sequence[int] | np.ndarray) -> tuple[dict[str, Tensor], Tensor]:
        """Inputs of the model, and the tokens to predict, with others marked as ignored."""
        prompts = [self.prompts[row] for row in rows]
        return self.tensors_of(prompts, [self.responses[row] for row in rows])

    def tensors_of(
        self, prompts: Sequence[list[int]], responses: Sequence[list[int]]
    ) -> tuple[dict[str, Tensor], Tensor]:
        """The same from token ids."""
        if self.is_encoder_decoder:
            targets = pad(responses, IGNORED)["input_ids"]
            inputs = [[self.start_id, *row[:-1]] for row in responses]
            decoder = pad(inputs, self.pad_id)["input_ids"]
            return {**pad(prompts, self.pad_id), "decoder_input_ids": decoder}, targets
        batch = pad([[*a, *b] for a, b in zip(prompts, responses, strict=True)], self.pad_id)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, IGNORED)
        if not self.whole:
            sizes = torch.tensor([len(prompt) for prompt in prompts])
            in_prompt = torch.arange(labels.shape[1]) < sizes[:, None]
            labels = labels.masked_fill(in_prompt, IGNORED)
        return batch, labels


def _responses(passages: Passages) -> Iterator[str]:
    for batch in batches(passages):
        yield from batch["response"].to_pylist()


def encoded(
    generator: Generator, passages: Sequence[Passage]
) -> tuple[list[list[int]], list[list[int]]]:
    """Prompts and responses with their end token, cut to what the model can read."""
    tokenizer, form, limit = generator.tokenizer, generator.prompts, generator.max_length
    texts = [passage.response.strip() for passage in passages]
    most = form.max_length if limit is None else limit // 2
    rows = tokenizer(texts, add_special_tokens=False)["input_ids"]
    responses = [[*row, *generator.end_ids[-1:]][:most] for row in rows]
    prompts = [prompt.ids for prompt in form.limited(limit)(tokenizer, passages)]
    for at, (prompt, response) in enumerate(zip(prompts, responses, strict=True)):
        if limit is not None and len(prompt) + len(response) > limit:
            cut = form.limited(limit - len(response))(tokenizer, passages[at : at + 1])
            prompts[at] = cut[0].ids
    return prompts, responses
