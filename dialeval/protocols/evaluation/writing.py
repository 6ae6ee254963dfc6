"""The output folder of an evaluation: whether it holds this run, and its files."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.dialogues.types import text_key
from dialeval.files import atomic_write
from dialeval.metrics.results import RESULTS, RunResults
from dialeval.run_folder import RunFolder
from dialeval.settings.evaluation import EvaluationRun

SCORES = "scores.parquet"


def output_folder(path: Path | str) -> RunFolder:
    """The folder of an evaluation or a reliability run, whose settings are in `results.json`."""
    return RunFolder(path, manifest=RESULTS, key="settings")


def written_settings(
    run: EvaluationRun,
    evaluators: list[str],
    folds: int,
    contents: Mapping[str, str],
    frozen: Mapping[str, str],
    protocol: str = "evaluation",
) -> dict[str, Any]:
    """The settings for `results.json`, with hashes of the run and of each system's responses.

    Args:
        run (`EvaluationRun`):
            Settings of the run.
        evaluators (`list[str]`):
            Names of the evaluators.
        folds (`int`):
            Folds that were really used.
        contents (`Mapping[str, str]`):
            A hash of the human passages (`""`) and of each system's responses.
        frozen (`Mapping[str, str]`):
            A hash of the weights of each evaluator that is not trained here.
        protocol (`str`, *optional*, defaults to `"evaluation"`):
            `"evaluation"`, or `"reliability"`.

    Returns:
        `dict[str, Any]`: Settings that JSON can hold.
    """
    settings = {"protocol": protocol, **asdict(run), "evaluators": evaluators, "folds": folds}
    del settings["overwrite"]
    names = ("folds", "seeds", "curve", "length_matched", "twins", "normalise", "margin", "seed")
    facts = [str(settings[name]) for name in names]
    facts += [protocol] if protocol != "evaluation" else []
    answers = {name: content for name, content in contents.items() if name}
    return {**settings, "systems": list(answers), "answers": answers, "frozen": dict(frozen),
            "run": text_key([contents[""], *facts])}  # fmt: skip


def difference_of_settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Why an earlier run is not a part of a new one; `""` if it is.

    Results are replaced only if the new run has all of them: the same human passages and
    settings, and at least the same systems and evaluators.
    """
    if "run" not in old:
        return "its settings could not be read"
    if old.get("protocol", "evaluation") != new["protocol"]:
        return f"it was a run of {old.get('protocol', 'evaluation')}"
    if old["run"] != new["run"]:
        return "it had other human passages, common contexts or settings"
    gone = [name for name in old["answers"] if name not in new["answers"]]
    if gone:
        return f"it had the system {gone[0]}, which this one leaves out"
    changed = [name for name, key in old["answers"].items() if new["answers"][name] != key]
    if changed:
        return f"the system {changed[0]} gave other responses"
    gone = [name for name in old["evaluators"] if name not in new["evaluators"]]
    if gone:
        return f"it had the evaluator {gone[0]}, which this one leaves out"
    frozen = old.get("frozen", {})
    changed = [name for name, key in new["frozen"].items() if frozen.get(name, key) != key]
    return f"the saved evaluator {changed[0]} had other weights" if changed else ""


def write_results(
    folder: Path, results: RunResults, tables: Mapping[tuple[str, str, str], pa.Table]
) -> None:
    """Write `scores.parquet`, if there are scores, and `results.json`, each all or nothing.

    Args:
        folder (`Path`):
            The output folder.
        results (`RunResults`):
            Results of the run.
        tables (`Mapping`):
            Scores by evaluator, system and scenario.
    """
    if tables:
        with atomic_write(folder / SCORES, "wb") as file:
            parquet.write_table(scores_table(tables), file)
    results.save(folder)


def scores_table(tables: Mapping[tuple[str, str, str], pa.Table]) -> pa.Table:
    """All tables in one, each row with its system, evaluator and scenario."""

    def parts() -> Iterator[pa.Table]:
        for (evaluator, system, scenario), table in tables.items():
            names = {"scenario": scenario, "evaluator": evaluator, "system": system}
            for name, value in names.items():
                table = table.add_column(0, name, pa.array([value] * len(table), pa.string()))
            yield table

    return pa.concat_tables(parts())
