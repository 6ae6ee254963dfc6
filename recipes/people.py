"""Scores of a rated corpus, for `dialeval agreement` to correlate with the ratings.

python recipes/people.py --data FOLDER --output scores.csv
dialeval agreement JUDGEMENTS --scores scores.csv
"""

import csv
from dataclasses import dataclass, field
from functools import partial

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import iterate, read
from dialeval.files import atomic_write
from dialeval.protocols.people.systems import (
    Columns,
    RatedSystems,
    SystemScorer,
    simple_baselines,
)
from dialeval.responders.task import mean_likelihoods
from dialeval.scorers.registry import ALL_EVALUATORS
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores


@dataclass
class PeopleRun:
    """A corpus with rated systems."""

    data: str = field(metadata={"help": "File or folder with human and rated system responses."})
    output: str = field(default="scores.csv", metadata={"help": "Table to write."})
    evaluators: list[str] = field(
        default_factory=lambda: list(ALL_EVALUATORS),
        metadata={"help": "Evaluators by name; the table is written after each of them."},
    )
    similarity: bool = field(
        default=True, metadata={"help": "Also compare sentence vectors with the human reply's."}
    )
    likelihood: str | None = field(
        default=None, metadata={"help": "A local model for log p(reply | context)."}
    )
    folds: int = field(default=5, metadata={"help": "Number of cross-fitting folds, by dialogue."})
    limit: int = field(default=-1, metadata={"help": "Contexts at most; -1 for all."})
    seed: int = field(default=0, metadata={"help": "Seed of folds and random replies."})


def main(run: PeopleRun) -> None:
    """Write one row per reply."""
    console = SafeConsole(stderr=True)
    data = RatedSystems.of(list(iterate(read(run.data)[0])), run.folds, run.limit, run.seed)
    scorer = SystemScorer(data, run.seed)
    columns = simple_baselines(
        data,
        scorer.shared.embed if run.similarity else None,
        partial(mean_likelihoods, run.likelihood) if run.likelihood else None,
    )
    write(run.output, columns, data)
    for evaluator in run.evaluators:
        columns |= scorer.columns(
            evaluator,
            lambda system, value, name=evaluator: console.print(
                f"{name} on {system}: AdverSuc {value:.3f}"
            ),
        )
        write(run.output, columns, data)
    console.print(f"{len(data.human):,} contexts, {len(data.systems)} systems: {run.output}")


def write(path: str, columns: Columns, data: RatedSystems) -> None:
    """A table with item, system and a column per metric."""
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["item", "system", *columns])
        for system in data.systems:
            for row, passage in enumerate(data.human):
                values = [f"{columns[name][system][row]:.6g}" for name in columns]
                writer.writerow([passage.id, system, *values])


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(PeopleRun))
