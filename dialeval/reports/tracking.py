"""The numbers of a run in an experiment tracker, through Accelerate."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialeval.errors import BadInput
from dialeval.metrics.results import RunResults

_NOT_A_KEY = re.compile(r"[^\w\-. /]+")  # the signs that MLflow accepts are the fewest


def tracked_numbers(results: RunResults) -> dict[str, float]:
    """Every number as `metric/system/evaluator`, with the bounds of its interval.

    Examples:
        >>> from dialeval.metrics.results import Result
        >>> row = Result("adversuc", "bot", "svm", 0.25, 0.2, 0.3, 400, "s")
        >>> tracked_numbers(RunResults(results=(row,)))
        {'adversuc/bot/svm': 0.25, 'adversuc/bot/svm_low': 0.2, 'adversuc/bot/svm_high': 0.3}
    """
    numbers: dict[str, float] = {}
    for row in results.results:
        parts = [part for part in (row.metric, row.system, row.evaluator) if part]
        key = "/".join(_NOT_A_KEY.sub("_", part.replace("/", "_")) for part in parts)
        # No key may be another one's folder: MLflow's file store has a file for every key.
        values = {key: row.value, f"{key}_low": row.low, f"{key}_high": row.high}
        numbers |= {name: float(value) for name, value in values.items() if math.isfinite(value)}
    return numbers


def tracked_settings(results: RunResults) -> dict[str, str]:
    """The settings of a run, its signature and its verdicts, as texts."""
    settings = {name: str(value) for name, value in results.settings.items()}
    for verdict in getattr(results, "verdicts", ()):
        system = getattr(verdict, "system", "")
        if system and not hasattr(verdict, "strategy"):
            settings[f"verdict/{system}"] = str(verdict.verdict)
    return {**settings, "protocol": results.protocol, "signature": results.signature}


def log_results(results: RunResults, tracker: str, project: str, folder: Path) -> int:
    """Log the numbers of a finished run as one run of a tracker.

    Args:
        results (`RunResults`):
            The numbers.
        tracker (`str`):
            `"trackio"`, `"wandb"`, `"mlflow"` or `"tensorboard"`.
        project (`str`):
            Name of the tracker's project.
        folder (`Path`):
            Folder of the run; its name is the name in the tracker, and TensorBoard writes there.

    Returns:
        `int`: How many numbers were logged.

    Raises:
        BadInput: The tracker refuses; the results are in their folder nevertheless.
    """
    from accelerate import Accelerator

    names: Mapping[str, dict[str, Any]] = {
        "trackio": {"name": folder.name},
        "wandb": {"name": folder.name},
        "mlflow": {"run_name": folder.name},
    }
    accelerator = Accelerator(cpu=True, log_with=tracker, project_dir=str(folder))
    options = {tracker: names[tracker]} if tracker in names else {}
    numbers = tracked_numbers(results)
    try:
        accelerator.init_trackers(project, tracked_settings(results), options)
        accelerator.log(numbers, step=0)
        accelerator.end_training()
    except Exception as error:  # a tracker raises anything: no server, no login, no space
        reason = " ".join(str(error).split()) or type(error).__name__
        hint = f"The results are in {folder}; set the tracker up and run the command again."
        raise BadInput(f"{tracker} could not log the run: {reason}", hint=hint) from None
    return len(numbers)
