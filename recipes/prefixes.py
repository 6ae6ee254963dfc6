"""One random prefix of each response, or all of them: which discriminator overfits (Li, sec. 3.2)?

python recipes/prefixes.py --data FILE --system NAME --max_contexts 400
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from accelerate import Accelerator
from accelerate.utils import set_seed
from rich.table import Table

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import Passage, Passages, iterate, read, split
from dialeval.protocols.people.systems import RatedSystems, labelled
from dialeval.terminal import SafeConsole
from dialeval.training import DiscriminatorConfig
from dialeval.training.cores import use_cores
from dialeval.training.discriminator_settings import DiscriminatorRun
from dialeval.training.networks import build_network
from dialeval.training.supervised import DiscriminatorTrainer, all_prefixes

SHARES = {"train": 0.6, "test": 0.4}


@dataclass
class PrefixesRun:
    """Human and machine responses to the same contexts."""

    data: str = field(metadata={"help": "Corpus with responses of humans and of the system."})
    system: str = field(metadata={"help": "Author of the machine responses."})
    model: str = field(default="hierarchical", metadata={"help": "Network."})
    max_contexts: int = field(default=400, metadata={"help": "Contexts, of both parts together."})


@dataclass(frozen=True)
class Epoch:
    """Mean loss over all prefixes of seen and of unseen responses, and share of correct ones."""

    number: int
    train: float
    test: float
    accuracy: float


def main(run: PrefixesRun, config: DiscriminatorConfig) -> None:
    """Train both ways with the same number of updates, and print the losses by epoch."""
    rows = [row for row in iterate(read(run.data)[0]) if row.author in ("human", run.system)]
    data = RatedSystems.of(rows, 2, run.max_contexts, config.seed)
    parts = split(labelled(data.human, data.systems[run.system]), SHARES, config.seed)
    table = Table("prefixes", "epoch", "loss, seen", "loss, unseen", "gap", "accuracy, unseen")
    for name in ("one", "all"):
        settings = replace(
            config, prefixes=True, all_prefixes=name == "all", patience=config.epochs
        )
        for row in train(run.model, settings, parts["train"], parts["test"]):
            numbers = (row.train, row.test, row.test - row.train, row.accuracy)
            table.add_row(name, str(row.number), *(f"{value:.3f}" for value in numbers))
    SafeConsole().print(table)


def train(
    model: str, config: DiscriminatorConfig, seen: Passages, unseen: Passages
) -> Iterator[Epoch]:
    """Train a new discriminator; measures it after every epoch."""
    set_seed(config.seed)
    network, tokenizer, form = build_network(DiscriminatorRun(model=model), seen)
    trainer = DiscriminatorTrainer(network, tokenizer, form, config, Accelerator())
    sides = [list(iterate(part)) for part in (seen, unseen)]
    labels = [np.asarray(part["label"]) for part in (seen, unseen)]
    for progress in trainer.train(seen, unseen):
        if "validation_loss" in progress:
            (first, _), (second, accuracy) = (
                prefix_loss(trainer, *side) for side in zip(sides, labels, strict=True)
            )
            yield Epoch(progress["epoch"] + 1, first, second, accuracy)


def prefix_loss(
    trainer: DiscriminatorTrainer, passages: Sequence[Passage], labels: np.ndarray
) -> tuple[float, float]:
    """Cross-entropy over all prefixes, each response with the same weight, and accuracy."""
    trainer.plain.eval()
    counts = [len(all_prefixes([passage])) for passage in passages]
    margins = trainer.scorer.margins(all_prefixes(list(passages)))
    repeated = np.repeat(labels, counts)
    weights = np.repeat(1 / np.array(counts), counts) / len(counts)
    losses = np.logaddexp(0, np.where(repeated == 1, -margins, margins))
    return float(losses @ weights), float(((margins >= 0) == repeated) @ weights)


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(PrefixesRun, DiscriminatorConfig))
