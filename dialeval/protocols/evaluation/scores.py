"""Reliability of an evaluator from a table of its scores in a file."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.dialogues import BadInput
from dialeval.dialogues.sources import Source
from dialeval.dialogues.types import text_key
from dialeval.metrics.ere import GOLD
from dialeval.metrics.evaluation_results import ReliabilityResults
from dialeval.metrics.results import signature
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.collector import FitDetails, ResultCollector, library_versions
from dialeval.protocols.evaluation.reliability import DETAILS, metric_name
from dialeval.protocols.evaluation.tables import NEXT_MATCHED
from dialeval.protocols.evaluation.writing import difference_of_settings, output_folder

NEEDED = ("score", "label", "scenario")
ELSEWHERE = ("human_machine", "machine_random", NEXT_MATCHED)
"""Scenarios of an evaluation that say nothing about reliability."""
_UNKNOWN = "unknown"
_SCHEMA = pa.schema({
    "score": pa.float64(), "label": pa.int8(), "scenario": pa.string(), "dialogue_id": pa.string(),
    "evaluator": pa.string(), "system": pa.string(),
})  # fmt: skip


def reliability_of_scores(
    path: Path | str,
    folder: Path | str,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    retrained: bool = True,
    seed: int = 0,
    overwrite: bool = False,
) -> ReliabilityResults:
    """The reliability of each evaluator in a table of scores.

    Args:
        path (`Path` or `str`):
            JSON lines, CSV, TSV or Parquet with `score`, `label` (1 for positive examples) and
            `scenario`; the columns `dialogue_id`, `evaluator` and `system` are optional.
        folder (`Path` or `str`):
            Output folder for `results.json`.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted to be human.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether human responses have high scores.
        retrained (`bool`, *optional*, defaults to `True`):
            Whether the evaluator was trained on each scenario; if not, the metric is another one.
        seed (`int`, *optional*, defaults to 0):
            Seed of the intervals.
        overwrite (`bool`, *optional*, defaults to `False`):
            Whether results of another run may be replaced.

    Returns:
        `ReliabilityResults`: Also written to the folder.
    """
    path, output = Path(path), output_folder(folder)
    table = read_scored(path)
    evaluators = list(dict.fromkeys(table["evaluator"].to_pylist()))
    facts = {"threshold": threshold, "higher_is_human": higher_is_human, "retrained": retrained,
             "seed": seed}  # fmt: skip
    settings = {"protocol": "reliability", "scores": path.name, **facts, "evaluators": evaluators,
                "answers": {}, "frozen": {},
                "run": text_key([_content_key(table), *map(str, facts.values())])}  # fmt: skip
    collector = ResultCollector("unknown", seed)
    table = _with_units(table, collector.warn)
    try:
        _add_errors(collector, table, threshold, 1.0 if higher_is_human else -1.0, retrained)
    except ValueError as error:  # a scenario with one class only
        raise BadInput(str(error), path) from None
    how = signature(
        evaluators="+".join(evaluators), scores=path.name, thr=threshold, n=len(table),
        interval="auto", seed=seed, **library_versions(),
    )  # fmt: skip
    results = ReliabilityResults(
        results=tuple(collector.results),
        warnings=tuple(collector.warnings),
        settings=settings,
        signature=how,
    )
    with output.lock():
        output.check(settings, difference_of_settings, overwrite=overwrite)
        results.save(output.path)
    return results


def _add_errors(
    collector: ResultCollector, table: pa.Table, threshold: float, sign: float, retrained: bool
) -> None:
    """Add the error of each evaluator; scores that are low for humans change their sign."""
    signed = table.set_column(0, "score", pa.array(sign * table["score"].to_numpy()))
    for (evaluator, system), parts in _by_evaluator(signed).items():
        measure = measures.reliability_error(parts, collector.seed, sign * threshold)
        missing = list(measure.details.get("missing", ()))
        if missing == ["human_next"]:
            collector.warn(
                f"{evaluator} has no scores of human_next: its error is a mean over three "
                "scenarios (ere_three), in which a random guess is .167 off."
            )
        elif missing:
            names = ", ".join(missing)
            collector.warn(f"No ERE of {evaluator}: there are no scores of {names}.")
        details = {name: measure.details[name] for name in DETAILS if name in measure.details}
        details["ere_mode"] = "retrained" if retrained else "transfer"
        fit = FitDetails(_UNKNOWN, threshold, _UNKNOWN, trained_on=_UNKNOWN)
        metric = metric_name(not retrained, measure)
        collector.add(metric, system, evaluator, measure, fit, details)


def read_scored(path: Path) -> pa.Table:
    """A table of scores with the columns of `_SCHEMA`, each row checked.

    Raises:
        BadInput: A column is missing, a score is no finite number, a label is neither 0 nor 1, a
            scenario is unknown, or no row is left.
    """
    rows = [_check_row(row, path, line) for line, row in _records(path)]
    rows = [row for row in rows if row["scenario"] not in ELSEWHERE]
    if not rows:
        hint = f"Give responses of {', '.join(GOLD)}."
        raise BadInput("it has no scores of any scenario of reliability.", path, hint=hint)
    for row in rows:
        row["evaluator"] = row["evaluator"] or path.stem
    return pa.Table.from_pylist(rows, _SCHEMA)


def _with_units(table: pa.Table, warn: Callable[[str], Any]) -> pa.Table:
    """The table with a dialogue for each response, which without a `dialogue_id` is its own."""
    names = table["dialogue_id"].to_pylist()
    missing = sum(not name for name in names)
    if not missing:
        return table
    rows = "no row has" if missing == len(names) else f"{missing:,} of {len(names):,} rows have no"
    warn(
        f"{rows[0].upper()}{rows[1:]} `dialogue_id`: intervals take such responses as independent, "
        "and are too narrow where several are from one dialogue."
    )
    units = [name or f"row {number}" for number, name in enumerate(names)]
    column = table.schema.get_field_index("dialogue_id")
    return table.set_column(column, "dialogue_id", pa.array(units, pa.string()))


def _by_evaluator(table: pa.Table) -> dict[tuple[str, str], dict[str, pa.Table]]:
    """The scenarios of each evaluator, with the machine responses of each system in turn."""
    columns = {name: np.asarray(table[name].to_pylist(), dtype=object)
               for name in ("evaluator", "system", "scenario")}  # fmt: skip
    tables = {}
    for evaluator in dict.fromkeys(columns["evaluator"].tolist()):
        by_evaluator = columns["evaluator"] == evaluator
        names = dict.fromkeys(columns["system"][by_evaluator].tolist())
        for system in [name for name in names if name] or [""]:
            mask = by_evaluator & np.isin(columns["system"], (system, ""))
            parts = {name: table.filter(mask & (columns["scenario"] == name)) for name in GOLD}
            tables[evaluator, system] = {name: part for name, part in parts.items() if len(part)}
    return tables


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows with their numbers: lines of a text file, rows of a Parquet table."""
    if not path.is_file():
        raise BadInput("there is no such file.", path, hint="Give a table of scores.")
    kind = path.suffix.lower()
    if kind in (".jsonl", ".json"):
        yield from Source(path).json_records()
    elif kind in (".csv", ".tsv"):
        lines = (line for _, line in Source(path).lines())
        yield from enumerate(csv.DictReader(lines, delimiter="," if kind == ".csv" else "\t"), 2)
    elif kind == ".parquet":
        try:
            yield from enumerate(parquet.read_table(path).to_pylist(), 1)
        except pa.ArrowInvalid as error:
            raise BadInput(f"expected a Parquet file, but {error}.", path) from None
    else:
        hint = "Give a .jsonl, .csv, .tsv or .parquet file."
        raise BadInput(f"could not read it: unknown ending {kind!r}.", path, hint=hint)


def _check_row(row: Any, path: Path, line: int) -> dict[str, Any]:
    missing = [name for name in NEEDED if not isinstance(row, dict) or row.get(name) is None]
    if missing:
        hint = f"Each row needs {', '.join(NEEDED)}."
        raise BadInput(f"{', '.join(missing)} is missing.", path, line, hint)
    score, label, scenario = _number(row["score"]), _label(row["label"]), str(row["scenario"])
    if not math.isfinite(score):
        hint = "Drop such rows, or find out why the evaluator gave them."
        raise BadInput(f"the score {row['score']!r} is no finite number.", path, line, hint)
    if label not in (0, 1):
        hint = "1 is a positive example, such as a true reply, and 0 a negative one."
        raise BadInput(f"the label {row['label']!r} is neither 1 nor 0.", path, line, hint)
    if scenario not in (*GOLD, *ELSEWHERE):
        raise BadInput(f"Unknown scenario {scenario!r}.", path, line,
                       f"Choose from {', '.join(GOLD)}.")  # fmt: skip
    others = {name: str(row.get(name) or "") for name in ("dialogue_id", "evaluator", "system")}
    return {"score": score, "label": int(label), "scenario": scenario, **others}


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _label(value: Any) -> float:
    return {"true": 1.0, "false": 0.0}.get(str(value).strip().lower(), _number(value))


def _content_key(table: pa.Table) -> str:
    return text_key(json.dumps(row) for row in table.to_pylist())
