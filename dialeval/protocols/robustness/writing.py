"""What a run leaves in its folder, and that the folder belongs to one run."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dialeval.dialogues import BadInput, Passage, atomic_write
from dialeval.dialogues.types import text_key
from dialeval.metrics.results import plain
from dialeval.protocols.robustness.settings import RobustnessRun

RUN, RESULTS, RESPONSES, REPORT = "run.json", "results.json", "responses.jsonl", "report.html"
_HINT = "Choose another --output-dir, or replace it with --overwrite."


def check_output_dir(
    folder: Path,
    passages: Sequence[Passage],
    systems: Sequence[Any],
    strategies: Sequence[Any],
    judges: Sequence[Any],
    run: RobustnessRun,
) -> dict[str, Any]:
    """Take a folder for this run, or go on with it; gives the settings as they are written.

    Other margins, measures or judges, and more systems, go on with what is there.

    Raises:
        BadInput: Where a run on other contexts, strategies or settings wrote, or one with a system
            that this one leaves out or that answers otherwise.
    """
    told = asdict(run)
    for name in ("output_dir", "overwrite"):
        del told[name]
    names = [each.name for each in systems]
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise BadInput(f"two systems are called {doubled[0]!r}.", hint="Name each once.")
    signatures = {each.name: getattr(each, "signature", repr(each)) for each in strategies
                  if hasattr(each, "passages")}  # fmt: skip
    signatures |= {each.name: repr(each) for each in strategies if each.name not in signatures}
    settings = {
        **told,
        "contexts": len(passages),
        "strategies": signatures,
        "systems": {each.name: each.signature for each in systems},
        "judges": {each.name: each.signature for each in judges},
    }
    settings["run"] = _key(passages, signatures, run)
    _refuse(folder, settings, run.overwrite)
    with atomic_write(folder / RUN) as file:
        json.dump(plain(settings), file, ensure_ascii=False, indent=2)
        file.write("\n")
    return settings


def _key(passages: Sequence[Passage], strategies: Mapping[str, str], run: RobustnessRun) -> str:
    """A name for what is asked: contexts, references, strategies, and what moves the replies."""
    texts = []
    for each in passages:
        texts += (each.id, *(turn.text for turn in each.context), each.response)
    return text_key([*texts, *strategies, *strategies.values(), str(run.turns), str(run.seed)])


def _refuse(folder: Path, settings: Mapping[str, Any], overwrite: bool) -> None:
    why = _differs(folder, settings)
    if why and not overwrite:
        raise BadInput(f"another run wrote here: {why}.", folder, hint=_HINT)
    if why:
        for name in ("systems", "perturbed"):
            shutil.rmtree(folder / name, ignore_errors=True)
        for name in (RUN, RESULTS, RESPONSES, REPORT):
            (folder / name).unlink(missing_ok=True)


def _differs(folder: Path, settings: Mapping[str, Any]) -> str:
    if not (folder / RUN).is_file():
        return "it is not one of robustness" if (folder / RESULTS).is_file() else ""
    try:
        old = json.loads((folder / RUN).read_text("utf-8"))
        key, systems = old["run"], old["systems"]
    except (ValueError, KeyError, TypeError):
        return "it does not say on which contexts"
    if key != settings["run"]:
        return "it had other contexts, strategies or settings"
    for name, signature in systems.items():
        if name not in settings["systems"]:
            return f"it had the system {name}, which this one leaves out"
        if settings["systems"][name] != signature:
            return f"the system {name} answered otherwise"
    return ""


def write_results(folder: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    """Write `results.json`, whole or not at all; gives what stands in it."""
    found = plain(told)
    with atomic_write(folder / RESULTS) as file:
        json.dump(found, file, ensure_ascii=False, indent=2, allow_nan=False)
        file.write("\n")
    return found
