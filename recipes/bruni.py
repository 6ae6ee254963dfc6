"""Discriminators against the truth, in the layout of the tables of Bruni and Fernández (2017).

python recipes/bruni.py --data FILE --discriminators runs/a runs/b --negatives random adversarial
"""

import random
from dataclasses import dataclass, field

from rich.table import Table

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import Passage, iterate, read, to_passages
from dialeval.judgements import Detection, detection
from dialeval.scorers import load_scorer
from dialeval.scorers.base import is_human
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores


@dataclass
class BruniRun:
    """Passages of several authors, of which `human` wrote the real ones."""

    data: str = field(metadata={"help": "Corpus with human responses and negatives."})
    discriminators: list[str] = field(metadata={"help": "Folders of saved discriminators."})
    negatives: list[str] = field(
        default_factory=lambda: ["random", "adversarial"],
        metadata={"help": "Authors of negatives, a table each."},
    )
    items: int = field(default=300, metadata={"help": "Items of a table, half of them real."})
    seed: int = field(default=0, metadata={"help": "Seed of the sample."})


def main(run: BruniRun) -> None:
    """Print a table per kind of negative."""
    by_author: dict[str, list[Passage]] = {}
    for passage in iterate(read(run.data)[0]):
        by_author.setdefault(passage.author, []).append(passage)
    scorers = [load_scorer(name) for name in run.discriminators]
    for negative in run.negatives:
        rows = sample(by_author, negative, run.items // 2, run.seed)
        table = Table("discriminator", "Acc", "95 %", *columns(negative), title=f"real, {negative}")
        truth = ["real" if row.author == "human" else negative for row in rows]
        for scorer in scorers:
            decided = is_human(scorer, scorer(to_passages(rows)))
            predicted = ["real" if human else negative for human in decided]
            items = [row.id for row in rows]
            table.add_row(scorer.name, *cells(detection(truth, predicted, items), negative))
        SafeConsole().print(table)


def sample(
    by_author: dict[str, list[Passage]], negative: str, half: int, seed: int
) -> list[Passage]:
    """Real passages and negatives of other contexts, equally many."""
    rng = random.Random(seed)
    real, fake = by_author["human"], {row.id: row for row in by_author[negative]}
    order = [row for row in rng.sample(real, len(real)) if row.id in fake]
    return [*order[:half], *(fake[row.id] for row in order[half : 2 * half])]


def columns(negative: str) -> list[str]:
    """Precision, recall and F1 of both classes."""
    return [f"{score} {name}" for name in ("real", negative) for score in ("P", "R", "F1")]


def cells(scores: Detection, negative: str) -> list[str]:
    """The numbers of a row."""
    numbers = [
        value
        for name in ("real", negative)
        for value in (
            scores.classes[name].precision, scores.classes[name].recall, scores.classes[name].f1,
        )
    ]  # fmt: skip
    bounds = f"{scores.low:.3f}-{scores.high:.3f}"
    return [f"{scores.accuracy:.3f}", bounds, *(f"{value:.3f}" for value in numbers)]


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(BruniRun))
