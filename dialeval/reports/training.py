"""A training run for people: a progress line, and the table at its end."""

import os
from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from dialeval.metrics.results import Result
from dialeval.metrics.training_results import Sample, StepProgress, TrainingResults, corpus_of
from dialeval.progress import MinuteLine
from dialeval.terminal import SafeConsole

WITHOUT_CONTEXT = ("response only", "shuffled context")
"""Rows of the same evaluator without the true context."""


class TrainingProgress:
    """A bar with loss and validation accuracy; call it with the numbers of each step."""

    def __init__(self, console: SafeConsole | None = None):
        quiet = bool(os.environ.get("DIALEVAL_QUIET")) or os.environ.get("LOCAL_RANK", "0") != "0"
        self.console = console or SafeConsole(stderr=True, quiet=quiet)
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=quiet or not self.console.is_terminal,
        )
        self.validation = ""
        self.line = None if quiet or self.console.is_terminal else MinuteLine("training")

    def __enter__(self) -> "TrainingProgress":
        self.progress.start()
        self.task = self.progress.add_task("training", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def __call__(self, numbers: StepProgress) -> None:
        """Move the bar after a step, or print a line after a validation."""
        if "perplexity" in numbers:
            self.validation = f"  perplexity {numbers['perplexity']:.1f}"
            self.console.print(
                f"epoch {numbers['epoch'] + 1}: validation loss {numbers['validation_loss']:.4f}, "
                f"perplexity {numbers['perplexity']:.1f}"
            )
            if numbers.get("samples"):
                self.console.print(samples_table(numbers["samples"]))
            return
        if "validation_accuracy" in numbers:
            self.validation = f"  validation {numbers['validation_accuracy']:.3f}"
            self.console.print(
                f"epoch {numbers['epoch'] + 1}: validation loss {numbers['validation_loss']:.4f}, "
                f"accuracy {numbers['validation_accuracy']:.3f}, "
                f"pairwise {numbers['validation_pairwise_accuracy']:.3f}"
            )
            return
        text = f"epoch {numbers['epoch'] + 1}  loss {numbers['loss']:.3f}{self.validation}"
        done, total = numbers["step"] + 1, numbers["total"]
        self.progress.update(self.task, completed=done, total=total, description=text)
        if self.line:
            self.line.at(done, total, text)


def results_table(results: TrainingResults) -> Table:
    """Held-out accuracy of a discriminator and of its baselines."""
    table = Table("evaluator", "corpus", title="Held-out accuracy", title_justify="left")
    for name in ("accuracy", "95 %", "n"):
        table.add_column(name, justify="right")
    for result in results.accuracies():
        table.add_row(escape(result.evaluator), *_cells(result))
    table.caption = escape(results.signature)
    table.caption_justify = "left"
    return table


def evaluators_table(compared: Mapping[str, TrainingResults]) -> Table:
    """Held-out accuracy of several evaluators, with and without the true context."""
    table = Table("evaluator", "corpus", title="Held-out accuracy", title_justify="left")
    for name in ("accuracy", "95 %", "n", *WITHOUT_CONTEXT):
        table.add_column(name, justify="right")
    for trained, results in compared.items():
        rows = {(row.evaluator, corpus_of(row)): row for row in results.accuracies()}
        for (name, corpus), row in rows.items():
            if name in (*WITHOUT_CONTEXT, "length only"):
                continue
            ablations = [rows[ablation, corpus] for ablation in WITHOUT_CONTEXT]
            shares = (f"{ablation.value:.3f}" for ablation in ablations)
            table.add_row(escape(trained), *_cells(row), *shares)
    return table


def _cells(result: Result) -> tuple[str, ...]:
    """Corpus, accuracy, interval and number of responses."""
    return (
        escape(corpus_of(result) or "all"),
        f"{result.value:.3f}",
        f"{result.low:.3f}-{result.high:.3f}",
        f"{result.n:,}",
    )


def samples_table(samples: Sequence[Sample]) -> Table:
    """Contexts with the human response and the generator's."""
    table = Table("context", "human", "generator")
    for sample in samples:
        cells = (sample["context"], sample["human"], sample["generator"])
        table.add_row(*(escape(cell) or "-" for cell in cells))
    return table


def generator_table(results: TrainingResults) -> Table:
    """Test perplexity of a generator, and its responses to contexts of the test data."""
    table = samples_table(results.samples)
    test = results.get("perplexity")
    size = f"{(results.parameters or 0) / 1e6:.1f} M parameters"
    if test is not None:
        # With a latent variable the likelihood is only known to be at least so large.
        bound = "at most " if results.get("kl") is not None else ""
        table.title = f"Perplexity {bound}{test.value:.1f} on {test.n:,} test responses, {size}"
    table.title_justify = table.caption_justify = "left"
    table.caption = escape(results.signature)
    return table
