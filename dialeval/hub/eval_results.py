"""Test results in the Hub's format: `.eval_results/*.yaml`, through `huggingface_hub`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialeval.downloads import BadInput
from dialeval.hub.kinds import RESULTS, Item, read_json

FOLDER = ".eval_results"


def eval_results(item: Item, dataset: str | None = None) -> dict[str, bytes]:
    """The result files of a model that was tested on a data set of the Hub; else none.

    Args:
        item (`Item`):
            The model.
        dataset (`str`, *optional*):
            Name of the data set on the Hub; by default the one of the run.
    """
    name = dataset or hub_dataset(item)
    if not name or item.repo_type != "model":
        return {}
    entries = list(_entries(item, name))
    if not entries:
        return {}
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    return {f"{FOLDER}/{name.replace('/', '--')}.yaml": text.encode()}


def hub_dataset(item: Item) -> str | None:
    """The data set of the Hub that a run used, if it used only one."""
    data = training_settings(item).get("data") or ""
    names = data if isinstance(data, list) else str(data).split(",")
    match = re.fullmatch(r"hub:([\w.-]+/[\w.-]+)(:[\w.-]+)?", names[0]) if len(names) == 1 else None
    return match[1] if match else None


def training_settings(item: Item) -> dict[str, Any]:
    """The settings of the training run, if they were saved."""
    settings = (item.settings.get("training") or {}).get("settings")
    return settings or item.results.get("settings") or {}


def _entries(item: Item, name: str) -> Iterator[Any]:
    from huggingface_hub import EvalResultEntry

    for row in model_rows(item):
        about = ", ".join(filter(None, (row["evaluator"], row["system"], row["corpus"])))
        if row["value"] is not None:
            yield EvalResultEntry(
                name, row["metric"], row["value"], notes=f"{about}; {_interval_note(row)}"
            )


def result_rows(item: Item) -> list[dict[str, Any]]:
    """The measured numbers of a model, each with metric, evaluator, system, corpus and interval."""
    names = dict.fromkeys(("evaluator", "system", "corpus", "signature"), "")
    empty: dict[str, Any] = {**names, **dict.fromkeys(("value", "low", "high", "n"))}
    results = item.results.get("results") or []
    return [
        {**empty, "corpus": (row.get("details") or {}).get("corpus") or "", **row}
        for row in results
        if isinstance(row, dict) and "metric" in row
    ]


def add_results(item: Item, paths: Sequence[Path | str], evaluator: str | None = None) -> Item:
    """The item with the results of other runs that evaluated with it.

    Args:
        item (`Item`):
            A discriminator.
        paths (`Sequence[Path]`):
            Files `results.json`, or their folders.
        evaluator (`str`, *optional*):
            Its name in these runs; by default the name it was saved with.

    Returns:
        `Item`: With these results added to its own.
    """
    name = item.settings.get("name", "")
    rows: list[dict[str, Any]] = []
    for path in map(Path, paths):
        results = read_json(path / RESULTS if path.is_dir() else path).get("results") or []
        matches = [row for row in results if row.get("evaluator") == (evaluator or name)]
        if not matches:
            names = sorted({str(row["evaluator"]) for row in results if row.get("evaluator")})
            message = f"no results of evaluator {evaluator or name!r}, only of {', '.join(names)}."
            hint = "Pass its name in that run with --evaluator."
            raise BadInput(message if names else "no results of any evaluator.", path, hint=hint)
        rows += [{**row, "evaluator": name} for row in matches]
    if not rows:
        return item
    results = {**item.results, "results": [*(item.results.get("results") or []), *rows]}
    return replace(item, results=results)


def model_rows(item: Item) -> list[dict[str, Any]]:
    """The rows of the model itself, without its baselines."""
    return [row for row in result_rows(item) if row["evaluator"] in ("", item.settings.get("name"))]


def _interval_note(row: dict[str, Any]) -> str:
    """The interval, sample size and signature, for which the format has no fields."""
    parts = []
    if row["low"] is not None and row["high"] is not None:
        parts.append(f"95 % [{row['low']:.4f}, {row['high']:.4f}]")
    parts += [f"n {row['n']}"] if row["n"] is not None else []
    return ", ".join([*parts, row["signature"]]).rstrip(", ")
