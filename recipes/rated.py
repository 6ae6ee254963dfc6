"""Correlation of discriminators and simple baselines with the ratings of replies.

python recipes/rated.py --data FILE --discriminators runs/a --likelihood smollm2
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.table import Table

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import Passage, Turn, count_tokens, to_passages
from dialeval.judgements import correlate
from dialeval.scorers import load_scorer
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores


@dataclass
class RatedRun:
    """Replies with a mean rating each: JSON lines with context, response and ratings."""

    data: list[str] = field(metadata={"help": "Files of JSON lines."})
    discriminators: list[str] = field(
        default_factory=list, metadata={"help": "Folders of saved discriminators."}
    )
    likelihood: str | None = field(
        default=None, metadata={"help": "A local model for log p(reply | context)."}
    )
    seed: int = field(default=0, metadata={"help": "Seed of the bootstrap over contexts."})


def main(run: RatedRun) -> None:
    """Print a table per file."""
    scorers = [load_scorer(name) for name in run.discriminators]
    for path in run.data:
        passages, ratings = read_rated(Path(path))
        scores = {scorer.name: np.asarray(scorer(to_passages(passages))) for scorer in scorers}
        scores["length"] = np.array([count_tokens(row.response) for row in passages], float)
        if run.likelihood:
            scores["log p per token"] = mean_likelihoods(run.likelihood, passages)
        table = Table("metric", "Pearson", "Spearman", "95 %", "replies", title=Path(path).stem)
        for name, values in scores.items():
            first = correlate(*by_context(passages, values, ratings), "pearson", "item",
                              resampled="items", resamples=1)  # fmt: skip
            second = correlate(*by_context(passages, values, ratings), "spearman", "item",
                               resampled="items", seed=run.seed)  # fmt: skip
            bounds = f"{second.low:+.3f} to {second.high:+.3f}"
            table.add_row(name, f"{first.value:+.3f}", f"{second.value:+.3f}", bounds, str(first.n))
        SafeConsole().print(table)


def read_rated(path: Path) -> tuple[list[Passage], np.ndarray]:
    """Passages and their ratings."""
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
    passages = [
        Passage(
            tuple(Turn("AB"[number % 2], text) for number, text in enumerate(row["context"])),
            row["response"],
            "system",
            id=str(index),
        )
        for index, row in enumerate(rows)
    ]
    return passages, np.array([float(row["ratings"]) for row in rows])


def by_context(
    passages: list[Passage], values: np.ndarray, ratings: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays with a column per context, so that the interval draws contexts."""
    columns: dict[tuple[Turn, ...], list[int]] = {}
    for index, passage in enumerate(passages):
        columns.setdefault(passage.context, []).append(index)
    shape = (max(map(len, columns.values())), len(columns))
    first, second = np.full(shape, np.nan), np.full(shape, np.nan)
    for column, rows in enumerate(columns.values()):
        first[: len(rows), column], second[: len(rows), column] = values[rows], ratings[rows]
    return first, second


def mean_likelihoods(spec: str, passages: list[Passage]) -> np.ndarray:
    """log p(reply | context) per token."""
    from dialeval.responders.registry import load_responder
    from dialeval.responders.task import likelihoods

    sums, lengths = likelihoods(load_responder(spec).generator, passages)
    return sums / np.maximum(lengths, 1)


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(RatedRun))
