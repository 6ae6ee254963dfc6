"""The folder of a robustness run: one folder belongs to one run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage
from dialeval.dialogues.types import text_key
from dialeval.metrics.results import RESULTS, plain
from dialeval.protocols.robustness.cases import Case
from dialeval.run_folder import HINT, RunFolder
from dialeval.settings.robustness import RobustnessRun

RUN, RESPONSES, REPORT = "run.json", "responses.jsonl", "report.html"
_FILES = ("systems", "perturbed", RUN, RESULTS, RESPONSES, REPORT)


def run_settings(
    passages: Sequence[Passage],
    systems: Sequence[Any],
    strategies: Sequence[Any],
    evaluators: Sequence[Any],
    run: RobustnessRun,
) -> dict[str, Any]:
    """The settings of a run, as they are written.

    Args:
        passages (`Sequence[Passage]`):
            The normal contexts.
        systems (`Sequence`):
            Responders or stored answers, with `name` and `signature`.
        strategies (`Sequence`):
            Perturbations or cases.
        evaluators (`Sequence[Scorer]`):
            Evaluators that are perturbed themselves.
        run (`RobustnessRun`):
            All other settings.

    Returns:
        `dict[str, Any]`: With the signatures of all parts, and under `run` a key of the contexts,
        strategies and settings that affect the replies.
    """
    names = [system.name for system in systems]
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise BadInput(f"two systems are called {doubled[0]!r}.", hint="Use each name once.")
    cases = {case.name: case.signature for case in strategies if isinstance(case, Case)}
    signatures = cases | {
        strategy.name: repr(strategy) for strategy in strategies if strategy.name not in cases
    }
    return {
        **run.settings(),
        "contexts": len(passages),
        "strategies": signatures,
        "systems": {system.name: system.signature for system in systems},
        "evaluators": {evaluator.name: evaluator.signature for evaluator in evaluators},
        "run": _key(passages, signatures, run),
    }


def _key(passages: Sequence[Passage], strategies: Mapping[str, str], run: RobustnessRun) -> str:
    """Cache key of the contexts, references, strategies, and settings that affect the replies."""
    texts: list[str] = []
    for passage in passages:
        texts += (passage.id, *(turn.text for turn in passage.context), passage.response)
    return text_key([*texts, *strategies, *strategies.values(), str(run.turns), str(run.seed)])


def open_folder(path: Path, settings: Mapping[str, Any], overwrite: bool = False) -> RunFolder:
    """The folder of this run, new or to be resumed.

    Other margins, measures or evaluators, and more systems, reuse the replies that are there.

    Args:
        path (`Path`):
            The folder.
        settings (`Mapping`):
            Result of `run_settings`.
        overwrite (`bool`, *optional*, defaults to `False`):
            Whether the files of another run may be deleted.

    Returns:
        `RunFolder`: With the settings written to `run.json`.

    Raises:
        BadInput: A run on other contexts, strategies or settings wrote there, or one with a system
            that this run leaves out or that has another signature.
    """
    folder = RunFolder(path, RUN)
    foreign = folder.previous() is None and (path / RESULTS).is_file()
    if foreign and not overwrite:
        raise BadInput(
            "another run wrote here: it is not a robustness run.", folder.path, hint=HINT
        )
    if folder.check(settings, _difference, overwrite=overwrite) or foreign:
        folder.remove(_FILES)
    folder.write_json(RUN, plain(settings))
    return folder


def _difference(previous: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    if "run" not in previous or not isinstance(previous.get("systems"), dict):
        return "its contexts are not recorded"
    if previous["run"] != settings["run"]:
        return "it had other contexts, strategies or settings"
    for name, signature in previous["systems"].items():
        if name not in settings["systems"]:
            return f"it had the system {name}, which this one leaves out"
        if settings["systems"][name] != signature:
            return f"the system {name} had another signature"
    return ""
