"""A training run for people: a progress line, and the table at its end."""

import os
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table


class TrainingProgress:
    """A bar with loss and validation accuracy; call it with the numbers of each step."""

    def __init__(self, console: Console | None = None):
        quiet = bool(os.environ.get("DIALEVAL_QUIET")) or os.environ.get("LOCAL_RANK", "0") != "0"
        self.console = console or Console(stderr=True, quiet=quiet)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )
        self.said = ""

    def __enter__(self) -> "TrainingProgress":
        self.progress.start()
        self.task = self.progress.add_task("training", total=None)
        return self

    def __exit__(self, *_) -> None:
        self.progress.stop()

    def __call__(self, numbers: dict[str, Any]) -> None:
        if "perplexity" in numbers:
            self.said = f"  perplexity {numbers['perplexity']:.1f}"
            self.console.print(
                f"epoch {numbers['epoch'] + 1}: validation loss {numbers['validation_loss']:.4f}, "
                f"perplexity {numbers['perplexity']:.1f}"
            )
            self.console.print(dialogue_table(numbers.get("samples", [])))
            return
        if "validation_accuracy" in numbers:
            self.said = f"  validation {numbers['validation_accuracy']:.3f}"
            self.console.print(
                f"epoch {numbers['epoch'] + 1}: validation loss {numbers['validation_loss']:.4f}, "
                f"accuracy {numbers['validation_accuracy']:.3f}, "
                f"pairwise {numbers['validation_pairwise_accuracy']:.3f}"
            )
            return
        words = f"epoch {numbers['epoch'] + 1}  loss {numbers['loss']:.3f}{self.said}"
        done, total = numbers["step"] + 1, numbers["total"]
        self.progress.update(self.task, completed=done, total=total, description=words)


def results_table(results: dict[str, Any]) -> Table:
    """Held-out accuracy of the judge and of its baselines."""
    table = Table("evaluator", "corpus", title="Held-out accuracy", title_justify="left")
    for name in ("accuracy", "95 %", "n"):
        table.add_column(name, justify="right")
    for row in results["results"]:
        table.add_row(
            escape(row["evaluator"]),
            escape(row["corpus"] or "all"),
            f"{row['value']:.3f}",
            f"{row['low']:.3f}-{row['high']:.3f}",
            f"{row['n']:,}",
        )
    table.caption = escape(results["signature"])
    table.caption_justify = "left"
    return table


def evaluators_table(rows: list[dict[str, Any]]) -> Table:
    """Held-out accuracy of several evaluators, each with what it gets without the true context."""
    table = Table("evaluator", "corpus", title="Held-out accuracy", title_justify="left")
    for name in ("accuracy", "95 %", "n", "response only", "shuffled context"):
        table.add_column(name, justify="right")
    found = {(row["trained"], row["corpus"], row["evaluator"]): row for row in rows}
    for (trained, corpus, name), row in found.items():
        if name in ("response only", "shuffled context", "length only"):
            continue
        beside = [found[trained, corpus, each] for each in ("response only", "shuffled context")]
        table.add_row(
            escape(trained),
            escape(corpus or "all"),
            f"{row['value']:.3f}",
            f"{row['low']:.3f}-{row['high']:.3f}",
            f"{row['n']:,}",
            *(f"{each['value']:.3f}" for each in beside),
        )
    return table


def dialogue_table(samples: list[dict[str, str]]) -> Table:
    """Contexts, what a human said, and what the generator says."""
    table = Table("context", "human", "generator")
    for row in samples:
        table.add_row(*(escape(row[name]) or "-" for name in ("context", "human", "generator")))
    return table


def generator_table(results: dict[str, Any]) -> Table:
    """Test perplexity of a generator, and what it says to contexts it has not seen."""
    table = dialogue_table(results["samples"])
    test = results["test"]
    size = f"{results['parameters'] / 1e6:.1f} M parameters"
    table.title = f"Perplexity {test['perplexity']:.1f} on {test['n']:,} test responses, {size}"
    table.title_justify = table.caption_justify = "left"
    table.caption = escape(results["signature"])
    return table
