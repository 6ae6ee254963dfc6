"""Supervised training of discriminators on pairs of a human and another response."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.dialogues.encoding import InputFormat
from dialeval.dialogues.matching import derangement
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import batches
from dialeval.metrics.training_results import StepProgress
from dialeval.models import pairwise_loss
from dialeval.models.batching import pad, training_batches
from dialeval.scorers.neural import NeuralScorer
from dialeval.settings.training import DiscriminatorConfig
from dialeval.training.checkpoints import CheckpointManager
from dialeval.training.prepared import PreparedModel
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


class DiscriminatorTrainer:
    """Trains a discriminator on pairs, and keeps the weights that validated best.

    Args:
        model (`PreTrainedModel`):
            Sequence classifier, trained in place.
        tokenizer (`PreTrainedTokenizerBase`):
            Its tokenizer.
        input_format (`InputFormat`):
            How it reads a passage.
        config (`DiscriminatorConfig`, *optional*):
            Settings.
        accelerator (`Accelerator`, *optional*):
            Where and how to run.
        checkpoint (`Path`, *optional*):
            Folder to write checkpoints to, and to resume from when there is one.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any,
        input_format: InputFormat,
        config: DiscriminatorConfig | None = None,
        accelerator: Accelerator | None = None,
        checkpoint: Path | None = None,
    ):
        self.config = config or DiscriminatorConfig()
        self.accelerator = accelerator or Accelerator()
        if self.config.gradient_checkpointing:
            enable_checkpointing(model)
        self.scorer = NeuralScorer(model, tokenizer, input_format, accelerator=self.accelerator)
        trainable = [value for value in model.parameters() if value.requires_grad]
        optimizer = optimizer_for(trainable, self.config)
        self.prepared = PreparedModel(self.accelerator, model, optimizer)
        self.optimizer = self.prepared.optimizer
        self.scorer.model = self.plain
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

    def train(self, pairs: Passages, validation: Passages) -> Iterator[StepProgress]:
        """Take one step per batch; yield its progress, and that of each epoch's validation.

        When the iterator ends, the model has the weights with
        the lowest validation loss.
        """
        table = _Pairs(pairs)
        check_shares(min(self.config.batch_size, len(table)), self.accelerator.num_processes)
        if self.config.fresh_negatives:
            table.check_random()
        per_epoch = max(1, len(table) // self.config.batch_size)
        total = per_epoch * self.config.epochs
        total = min(total, self.config.max_steps) if self.config.max_steps > 0 else total
        step, waited = self.checkpoints.resume()
        while step < total and waited <= self.config.patience:
            epoch, at = divmod(step, per_epoch)
            order = table.batches(self.config.batch_size, [self.config.seed, epoch])
            if self.config.fresh_negatives and epoch:
                table.redraw([self.config.seed, epoch, 1])  # the first epoch has those of the pairs
            end = min(total, (epoch + 1) * per_epoch)
            for rows in order[at : at + end - step]:
                numbers = self._step(table, rows, step, total, epoch)
                yield cast(StepProgress, {"step": step, "epoch": epoch, "total": total, **numbers})
                step += 1
                # The end of an epoch is saved with its validation.
                if step % self.config.checkpoint_every == 0 and step < end:
                    self.checkpoints.save(step, waited)
            numbers = self.validate(validation)
            better = self.checkpoints.keep_if_better(numbers["validation_loss"])
            waited = 0 if better else waited + 1
            progress = {"step": step, "epoch": epoch, "total": total, **numbers}
            self.checkpoints.history.append(progress)
            yield cast(StepProgress, progress)
            self.checkpoints.save(step, waited)  # with what the caller adds to the progress
        self.checkpoints.restore_best()
        self.prepared.finish()

    def validate(self, validation: Passages) -> dict[str, float]:
        """Loss, accuracy at one half, and share of pairs in which the human scores higher."""
        self.prepared.gather()
        self.plain.eval()
        margins = self.scorer.margins(validation)
        labels = np.asarray(validation["label"], dtype=float)
        table = _Pairs(validation)
        gap = margins[table.human] - margins[table.other]
        pointwise = np.logaddexp(0, np.where(labels == 1, -margins, margins)).mean()
        pairwise = np.logaddexp(0, -gap).mean()
        return {
            "validation_loss": finite_loss(
                float(pairwise if self.config.loss == "pairwise" else pointwise), "validation"
            ),
            "validation_accuracy": float(((margins >= 0) == labels).mean()),
            "validation_pairwise_accuracy": float(((gap > 0) + 0.5 * (gap == 0)).mean()),
        }

    def _step(
        self, table: "_Pairs", rows: np.ndarray, step: int, total: int, epoch: int
    ) -> dict[str, float]:
        rank = self.accelerator.process_index
        torch.manual_seed(
            self.config.seed * 1_000_003 + step * 101 + rank
        )  # resuming needs no state
        rate = learning_rate(self.config, step, total, epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.prepared.release()
        self.prepared.model.train()
        loss, correct = self._backward(*self._passages(table, rows, step))
        numbers = {"loss": finite_loss(loss, f"step {step}"), "accuracy": correct}
        clip(self.accelerator, self.prepared.trainable, self.config.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {**numbers, "learning_rate": rate}

    def _passages(
        self, table: "_Pairs", rows: np.ndarray, step: int
    ) -> tuple[list[Passage], list[Passage]]:
        """The human responses of the pairs and the others, or prefixes of both.

        Every process reads the whole batch, so that prefixes do not depend on their number.
        """
        passages = table.passages(rows)  # the human ones, then the others
        if self.config.prefixes and not self.config.all_prefixes:
            passages = random_prefixes(passages, [self.config.seed, step])
        return passages[: len(rows)], passages[len(rows) :]

    def _backward(self, human: list[Passage], other: list[Passage]) -> tuple[float, float]:
        """Add the gradient of the mean loss in parts; that loss, and the share of correct ones."""
        totals = torch.zeros(2, device=self.accelerator.device)
        examples = self._examples([*human, *other])
        steps = self.config.gradient_accumulation_steps
        parts = local_parts(self.accelerator, len(human), steps)
        model, ranks = self.prepared.model, self.accelerator.num_processes
        for number, part in enumerate(parts, 1):
            several = nullcontext() if number == len(parts) else self.accelerator.no_sync(model)
            with several:
                sides = [[passages[row] for row in part] for passages in (human, other)]
                loss, correct = self._loss(*sides)
                share = self._examples(sides[0] + sides[1]) / examples
                self.accelerator.backward(loss * share * ranks)  # processes average gradients
            totals += torch.stack([loss.detach(), correct]) * share
        loss_sum, correct_sum = self.accelerator.reduce(totals, "sum").tolist()
        return loss_sum, correct_sum

    def _examples(self, passages: list[Passage]) -> int:
        """Number of examples that passages give."""
        if not self.config.all_prefixes:
            return len(passages)
        return sum(len(passage.response.split(" ")) for passage in passages)

    def _loss(self, human: list[Passage], other: list[Passage]) -> tuple[Tensor, Tensor]:
        if self.config.all_prefixes:
            human, other = all_prefixes(human), all_prefixes(other)
        scorer = self.scorer
        encoded = scorer.input_format(scorer.tokenizer, [*human, *other])
        tensors = pad([passage.ids for passage in encoded], scorer.pad_id)
        batch = {name: tensor.to(scorer.device) for name, tensor in tensors.items()}
        with autocast(self.config.precision, scorer.device):
            logits = self.prepared.model(**batch).logits.float()  # (human + other, 2)
        if self.config.loss == "pairwise":
            margins = (logits[:, 1] - logits[:, 0]).view(2, -1)  # (2, pairs)
            correct = (margins[0] > margins[1]).float().mean().detach()
            return pairwise_loss(margins[0], margins[1]), correct
        labels = torch.zeros(len(logits), dtype=torch.long, device=logits.device)
        labels[: len(human)] = 1
        return F.cross_entropy(logits, labels), (logits.argmax(-1) == labels).float().mean()


class _Pairs:
    """Rows of the human and of the other response of each pair."""

    def __init__(self, pairs: Passages):
        labels, numbers = (np.asarray(pairs[name]) for name in ("label", "pair"))
        order = np.argsort(numbers, kind="stable")
        self.human, self.other = (order[labels[order] == label] for label in (1, 0))
        if len(self.human) != len(self.other) or not len(self.human):
            raise BadInput(
                f"training needs pairs, but got {len(self.human)} human responses and "
                f"{len(self.other)} others.",
                hint="Make them with dialeval.Pairing, or `dialeval data pair`.",
            )
        self.table = pairs
        self.replies: np.ndarray | None = None  # rows of other random responses
        sizes = np.concatenate([_sizes(batch) for batch in batches(pairs)])
        self.sizes = np.maximum(sizes[self.human], sizes[self.other])

    def __len__(self) -> int:
        return len(self.human)

    def batches(self, size: int, seed: list[int]) -> list[np.ndarray]:
        """Batches of pairs of similar length, in random order, all of one size."""
        return training_batches(self.sizes, size, seed)

    def passages(self, rows: np.ndarray) -> list[Passage]:
        """The human responses of the pairs, then the others."""
        chosen = np.concatenate([self.human[rows], self.other[rows]])
        passages = self._of(chosen)
        if self.replies is None:
            return passages
        replies = self._of(self.replies[rows])
        random = [
            passage.with_response(reply.response, passage.author)
            for passage, reply in zip(passages[len(rows) :], replies, strict=True)
        ]
        return passages[: len(rows)] + random

    def redraw(self, seed: list[int]) -> None:
        """Give every pair the human response of another dialogue as its random one."""
        dialogues = row_hashes(self.table, ["dialogue_id"])[self.human]
        order = derangement(dialogues, np.random.default_rng(seed))
        self.replies = self.human[order]

    def check_random(self) -> None:
        """Refuse pairs whose other responses are not random ones.

        Raises:
            BadInput: They are those of a system, or the next turns.
        """
        scenarios = set(self.table["scenario"]) if "scenario" in self.table.column_names else {""}
        if scenarios != {"human_random"}:
            raise BadInput(
                "fresh negatives are random responses, but these pairs have others.",
                hint="Leave out --fresh_negatives, or train on the scenario human_random.",
            )

    def _of(self, rows: np.ndarray) -> list[Passage]:
        return list(iterate(self.table.select(rows, keep_in_memory=True)))


def _sizes(batch: Any) -> np.ndarray:
    """Number of characters of each row, by which rows are sorted."""
    turns = [sum(len(turn["text"]) for turn in context) for context in batch["context"].to_pylist()]
    return np.array(turns) + np.array([len(text) for text in batch["response"].to_pylist()])


def random_prefixes(passages: list[Passage], seed: list[int]) -> list[Passage]:
    """Each response cut after a random word (Li et al., 2017, sec. 3.2)."""
    rng = np.random.default_rng(seed)
    prefixes = []
    for passage in passages:
        words = passage.response.split(" ")
        kept = " ".join(words[: rng.integers(1, len(words) + 1)])
        prefixes.append(passage.with_response(kept, passage.author))
    return prefixes


def all_prefixes(passages: list[Passage]) -> list[Passage]:
    """Each response cut after each of its words; the paper warns that this overfits."""
    return [
        passage.with_response(" ".join(words[:size]), passage.author)
        for passage in passages
        for words in [passage.response.split(" ")]
        for size in range(1, len(words) + 1)
    ]
