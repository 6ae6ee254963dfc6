"""Every evaluator on the same pairs: which judge is worth its cost on this corpus?"""

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, atomic_write
from dialeval.training import DiscriminatorConfig
from dialeval.training.discriminator import DiscriminatorRun, train_discriminator

_RECURRENT = {"optimizer": "adam", "learning_rate": 1e-3, "batch_size": 32, "epochs": 6}
_PRETRAINED = {
    "optimizer": "adamw", "learning_rate": 1e-4, "batch_size": 16, "epochs": 3,
    "schedule": "linear", "warmup_steps": 20, "max_grad_norm": 1.0,
}  # fmt: skip
NETWORK_SETTINGS: dict[str, dict[str, Any]] = {
    "length": {},
    "svm-response": {},
    "svm-unigram": {},
    "hierarchical": _RECURRENT,
    "concat": _RECURRENT,
    "attention": _RECURRENT,
    "rnn": _RECURRENT,
    "minilm": {"model": "transformer", "backbone": "minilm", **_PRETRAINED},
}
"""Evaluators by name, with the settings that two cores can bear."""


def compare_evaluators(
    run: DiscriminatorRun,
    config: DiscriminatorConfig,
    names: Sequence[str] = tuple(NETWORK_SETTINGS),
    on_progress: Callable[[dict[str, Any]], Any] = lambda _: None,
) -> list[dict[str, Any]]:
    """Held-out accuracy of each evaluator and of its blindfolded selves, trained on the same pairs.

    Each is saved in a folder of its own; one that is there already is not trained again.
    """
    unknown = [name for name in names if name not in NETWORK_SETTINGS]
    if unknown:
        choices = ", ".join(NETWORK_SETTINGS)
        raise BadInput(f"Unknown evaluator {unknown[0]!r}.", hint=f"Choose from {choices}.")
    rows = []
    for name in names:
        ours = with_settings({"model": name, **NETWORK_SETTINGS[name]}, run)
        ours = replace(ours, output_dir=str(Path(run.output_dir) / name))
        results = _stored(Path(ours.output_dir)) or train_discriminator(
            ours, with_settings(NETWORK_SETTINGS[name], config), on_progress
        )
        rows += [{"trained": name, **row} for row in results["results"]]
        with atomic_write(Path(run.output_dir) / "evaluators.json") as file:
            json.dump(rows, file, ensure_ascii=False, indent=2)
    return rows


def with_settings(settings: dict[str, Any], config: Any) -> Any:
    """A copy of some settings with those changed that it has."""
    known = {each.name for each in fields(config)}
    return replace(config, **{name: value for name, value in settings.items() if name in known})


def _stored(folder: Path) -> dict[str, Any] | None:
    file = folder / "results.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
