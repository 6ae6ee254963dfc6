"""Several evaluators trained on the same pairs, with the held-out accuracy of each."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write
from dialeval.metrics.results import RESULTS
from dialeval.metrics.training_results import StepProgress, TrainingResults
from dialeval.scorers.registry import fit_function
from dialeval.training.discriminator import train_discriminator
from dialeval.training.discriminator_settings import DiscriminatorRun, evaluator_settings
from dialeval.training.supervised import DiscriminatorConfig

COMPARED = (
    "length", "svm-response", "svm-unigram", "hierarchical", "concat", "attention", "rnn", "minilm",
)  # fmt: skip
"""Evaluators that are compared by default."""


def compare_evaluators(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    names: Sequence[str] = COMPARED,
    on_progress: Callable[[StepProgress], Any] = lambda _: None,
) -> dict[str, TrainingResults]:
    """Held-out accuracy of evaluators with and without the context, trained on the same pairs.

    Args:
        run (`DiscriminatorRun`):
            Data, and the folder; every evaluator is saved in a folder inside it.
        config (`DiscriminatorConfig`):
            Settings of the trainer; those that the registry has for an evaluator replace them.
        names (`Sequence[str]`, *optional*):
            Evaluators by name, or `package.module:Class`.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step and each validation.

    Returns:
        `dict[str, TrainingResults]`: Results by name; one that was saved is not trained again.

    Raises:
        BadInput: A name is unknown.
    """
    for name in names:
        fit_function(name)  # refuses unknown names before anything is trained
    compared: dict[str, TrainingResults] = {}
    for name in names:
        settings, training = evaluator_settings(name, run, config)
        folder = Path(run.output_dir) / name.replace(":", ".")
        settings = replace(settings, output_dir=str(folder))
        compared[name] = train_once(settings, training, on_progress)
        with atomic_write(Path(run.output_dir) / "evaluators.json") as file:
            json.dump(_rows(compared), file, ensure_ascii=False, indent=2)
    return compared


def train_once(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    on_progress: Callable[[StepProgress], Any] = lambda _: None,
    pairs: dict[str, Any] | None = None,
) -> TrainingResults:
    """Results of a training, read from its folder where it is finished.

    Args:
        run (`DiscriminatorRun`):
            What is trained, on what, and the folder.
        config (`DiscriminatorConfig`):
            Settings of the trainer.
        on_progress (`Callable`, *optional*):
            Called with the numbers of each step and each validation.
        pairs (`dict[str, Passages]`, *optional*):
            Pairs for `train`, `validation` and `test`, in place of those of the run's data.

    Returns:
        `TrainingResults`: Held-out accuracies.
    """
    if (Path(run.output_dir) / RESULTS).is_file():
        return TrainingResults.load(run.output_dir)
    return train_discriminator(run, config, on_progress, pairs)


def _rows(compared: dict[str, TrainingResults]) -> list[dict[str, Any]]:
    return [
        {"trained": name, **result.to_dict()}
        for name, results in compared.items()
        for result in results.results
    ]
