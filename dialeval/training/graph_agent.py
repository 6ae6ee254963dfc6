"""Training the neural agent on the actions of others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from dialeval.dialogues import BadInput
from dialeval.metrics.training_results import StepProgress
from dialeval.models.batching import training_batches
from dialeval.models.modeling_dynonet import DynoNet
from dialeval.training.graph_examples import collate
from dialeval.training.schedule import finite_loss

_HELD_OUT = 0.05


@dataclass
class GraphAgentTrainer:
    """Trains a [`DynoNet`] by maximum likelihood of the next action.

    Args:
        model (`DynoNet`):
            The model, trained in place.
        examples (`Sequence[Mapping[str, Tensor]]`):
            Inputs and labels of single turns; the last 5 % are validated on.
        epochs, batch_size (`int`, *optional*):
            Length of the training.
        learning_rate (`float`, *optional*, defaults to 0.005):
            Of Adam, falling to 0; the original takes Adagrad at 0.5.
        seed (`int`, *optional*, defaults to 0):
            Seed of the order.
        accelerator (`Accelerator`, *optional*):
            Where and how to run.
        completion_rate (`Callable`, *optional*):
            Share of validation games that the model completes as it is. The weights of the epoch
            that completed most are kept: the loss is nearly all about the words of questions,
            and hardly about when to select which item.
    """

    model: DynoNet
    examples: Sequence[Mapping[str, Tensor]]
    epochs: int = 4
    batch_size: int = 32
    learning_rate: float = 0.005
    seed: int = 0
    accelerator: Accelerator | None = None
    completion_rate: Callable[[], float] | None = None

    def train(self) -> Iterator[StepProgress]:
        """One update per batch; yields its loss, and the validation of each epoch."""
        accelerator = self.accelerator or Accelerator()
        held_out = max(1, int(_HELD_OUT * len(self.examples)))
        count = len(self.examples) - held_out
        if count < 1:
            raise BadInput("expected two or more turns to learn from.", hint="Raise --self_play.")
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.learning_rate)
        model, optimizer = accelerator.prepare(self.model, optimizer)
        sizes = np.array([len(example["input_ids"]) for example in self.examples[:count]])
        total, step = count // min(self.batch_size, count) * self.epochs, 0
        best: tuple[float, dict[str, Tensor]] = (-1.0, {})
        for epoch in range(self.epochs):
            for batch in training_batches(sizes, self.batch_size, [self.seed, epoch]):
                rows = batch[accelerator.process_index :: accelerator.num_processes]
                for group in optimizer.param_groups:
                    group["lr"] = self.learning_rate * (1 - step / total)
                loss = self._loss(model, rows, accelerator)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
                value = finite_loss(loss.item(), f"step {step}")
                yield {"step": step, "epoch": epoch, "total": total, "loss": value}
                step += 1
            loss_of_rest = self._validate(accelerator, range(count, count + held_out))
            progress: StepProgress = {"step": step, "epoch": epoch, "total": total,
                                      "validation_loss": loss_of_rest}  # fmt: skip
            if self.completion_rate is not None:
                rate = progress["completion_rate"] = self.completion_rate()
                if rate >= best[0]:  # of equal ones the one that was trained longest
                    best = rate, {k: v.clone() for k, v in self.model.state_dict().items()}
            yield progress
        if best[1]:
            self.model.load_state_dict(best[1])
        self.model.eval()

    def _loss(self, model: torch.nn.Module, rows: np.ndarray, accelerator: Accelerator) -> Tensor:
        model.train()
        batch = collate([self.examples[row] for row in rows])
        return model(**{name: value.to(accelerator.device) for name, value in batch.items()}).loss

    @torch.no_grad()
    def _validate(self, accelerator: Accelerator, rows: range) -> float:
        """Mean loss of the held-out turns."""
        self.model.eval()
        losses = []
        for start in range(rows.start, rows.stop, self.batch_size):
            part = range(start, min(start + self.batch_size, rows.stop))
            batch = collate([self.examples[row] for row in part])
            inputs = {name: value.to(accelerator.device) for name, value in batch.items()}
            losses.append((self.model(**inputs).loss.item(), len(part)))
        return sum(loss * size for loss, size in losses) / len(rows)
