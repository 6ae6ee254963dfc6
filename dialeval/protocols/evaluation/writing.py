"""What an evaluation leaves in its folder, and that it belongs to one run."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.dialogues import BadInput, atomic_write
from dialeval.dialogues.types import text_key
from dialeval.protocols.evaluation.settings import EvaluationRun

RESULTS, SCORES = "results.json", "scores.parquet"


def settings_of(
    run: EvaluationRun,
    evaluators: list[str],
    folds: int,
    contents: Mapping[str, str],
    saved: Mapping[str, str],
    protocol: str = "evaluation",
) -> dict[str, Any]:
    """The settings as they are written, with names for the run and for each system's answers.

    Args:
        folds (`int`):
            Folds that were really used.
        contents (`Mapping[str, str]`):
            A name for the content of the human passages (`""`) and of each system's.
        saved (`Mapping[str, str]`):
            A name for the weights of each judge that is not trained here.
        protocol (`str`, *optional*, defaults to `"evaluation"`):
            What is asked: `"evaluation"`, or `"reliability"` alone.
    """
    told = {"protocol": protocol, **asdict(run), "evaluators": evaluators, "folds": folds}
    del told["overwrite"]
    facts = [str(told[key]) for key in ("folds", "seeds", "curve", "length_matched", "seed")]
    facts += [protocol] if protocol != "evaluation" else []
    answers = {name: each for name, each in contents.items() if name}
    return {**told, "systems": list(answers), "answers": answers, "saved": dict(saved),
            "run": text_key([contents[""], *facts])}  # fmt: skip


def check_output_dir(folder: Path, settings: Mapping[str, Any]) -> None:
    """Refuse to replace results that the new ones would not hold again.

    Raises:
        BadInput: Where a run on other human passages or with other settings wrote here, or one
            with systems or evaluators that are not in this one.
    """
    path = folder / RESULTS
    if not path.is_file():
        return
    why = _differs(_settings_in(path), settings)
    if why:
        raise BadInput(
            f"another run wrote here: {why}.",
            path,
            hint="Choose another --output-dir, or replace it with --overwrite.",
        )


def _settings_in(path: Path) -> Mapping[str, Any]:
    try:
        return json.loads(path.read_text("utf-8"))["settings"]
    except (ValueError, KeyError, TypeError):
        return {}


def _differs(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """How an earlier run differs from a new one that is more than a part of it; else nothing."""
    if "run" not in old:
        return "it does not say on which passages"
    if old.get("protocol", "evaluation") != new["protocol"]:
        return f"it asked for the {old.get('protocol', 'evaluation')}"
    if old["run"] != new["run"]:
        return "it had other human passages, common contexts or settings"
    gone = [name for name in old["answers"] if name not in new["answers"]]
    if gone:
        return f"it had the system {gone[0]}, which this one leaves out"
    changed = [name for name, each in old["answers"].items() if new["answers"][name] != each]
    if changed:
        return f"the system {changed[0]} gave other answers"
    gone = [name for name in old["evaluators"] if name not in new["evaluators"]]
    if gone:
        return f"it had the evaluator {gone[0]}, which this one leaves out"
    saved = old.get("saved", {})
    changed = [name for name, key in new["saved"].items() if saved.get(name, key) != key]
    return f"the saved evaluator {changed[0]} had other weights" if changed else ""


def write_results(
    folder: Path, told: dict[str, Any], tables: Mapping[tuple[str, str, str], pa.Table]
) -> None:
    """Write `scores.parquet`, if there are any, and `results.json`, each whole or not at all."""
    if tables:
        with atomic_write(folder / SCORES, "wb") as file:
            parquet.write_table(scores_table(tables), file)
    with atomic_write(folder / RESULTS) as file:
        json.dump(told, file, ensure_ascii=False, indent=2, allow_nan=False)
        file.write("\n")


def scores_table(tables: Mapping[tuple[str, str, str], pa.Table]) -> pa.Table:
    """All tables in one, each row with its system, evaluator and scenario."""

    def parts() -> Iterator[pa.Table]:
        for (evaluator, system, scenario), table in tables.items():
            names = {"scenario": scenario, "evaluator": evaluator, "system": system}
            for name, value in names.items():
                table = table.add_column(0, name, pa.array([value] * len(table), pa.string()))
            yield table

    return pa.concat_tables(parts())
