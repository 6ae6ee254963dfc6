"""Evaluate every system of a rated corpus, and test whether evaluators rank them as people did.

python recipes/ratings.py --data FOLDER --without random Constant
"""

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as parquet
from rich.table import Table

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import authors, by_author, read
from dialeval.protocols.evaluation import EvaluationRun, align, evaluate
from dialeval.protocols.ratings import rank_agreement, ratings_of
from dialeval.reports.evaluation import print_evaluation, write_report
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores


@dataclass
class RatingsRun:
    """A corpus with rated systems."""

    data: str = field(metadata={"help": "File or folder with human and rated system responses."})
    without: list[str] = field(
        default_factory=list, metadata={"help": "Systems to leave out, one more at a time."}
    )
    evaluators: list[str] = field(
        default_factory=lambda: ["svm-unigram", "embedding"], metadata={"help": "Evaluators."}
    )
    seeds: int = field(default=3, metadata={"help": "Seeds whose spread is reported."})
    seed: int = field(default=0, metadata={"help": "Seed of all random draws."})
    output_dir: str = field(default="runs/ratings", metadata={"help": "Output folder."})


def main(run: RatingsRun) -> None:
    """Evaluate, report, and correlate."""
    passages, _ = read(run.data)
    systems = {name: by_author(passages, name) for name in authors(passages) if name != "human"}
    settings = EvaluationRun(
        run.evaluators, seeds=run.seeds, seed=run.seed, output_dir=run.output_dir
    )
    data = align(by_author(passages, "human"), systems)
    results = evaluate(data, settings)
    scores = parquet.read_table(Path(run.output_dir) / "scores.parquet")
    ratings = ratings_of(data.systems)
    console = SafeConsole()
    console.width = max(console.width, 110)
    print_evaluation(results, console)
    table = Table("evaluator", "systems", "without", "Spearman with ratings", "95 %")
    for evaluator in run.evaluators:
        for count in range(len(run.without) + 1):
            left_out = run.without[:count]
            agreement = rank_agreement(scores, ratings, evaluator, left_out, seed=run.seed)
            bounds = f"{agreement.low:.3f} to {agreement.high:.3f}"
            row = (evaluator, str(agreement.systems), ", ".join(left_out) or "-")
            table.add_row(*row, f"{agreement.spearman:.3f}", bounds)
    console.print(table)
    console.print(f"Report: {write_report(run.output_dir)}")


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(RatingsRun))
