"""Held-out numbers as the Hub reads them: `.eval_results/*.yaml`, through `huggingface_hub`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialeval.downloads import BadInput
from dialeval.hub.kinds import RESULTS, Item, read_json

FOLDER = ".eval_results"


def eval_results(item: Item, dataset: str | None = None) -> dict[str, bytes]:
    """The files for a model that was tested on data with a name on the Hub; else none.

    Args:
        dataset (`str`, *optional*):
            Name of the data on the Hub, by default what the run says.
    """
    name = dataset or hub_dataset(item)
    entries = list(_entries(item, name)) if name and item.repo_type == "model" else []
    if not entries:
        return {}
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    told = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
    return {f"{FOLDER}/{name.replace('/', '--')}.yaml": told.encode()}


def hub_dataset(item: Item) -> str | None:
    """The data set on the Hub that a run read, where it read just one."""
    data = settings_of(item).get("data") or ""
    names = data if isinstance(data, list) else str(data).split(",")
    found = re.fullmatch(r"hub:([\w.-]+/[\w.-]+)(:[\w.-]+)?", names[0]) if len(names) == 1 else None
    return found[1] if found else None


def settings_of(item: Item) -> dict[str, Any]:
    """How it was trained, where that is known."""
    inner = (item.settings.get("training") or {}).get("settings")
    return inner or item.results.get("settings") or {}


def _entries(item: Item, name: str) -> Iterator[Any]:
    from huggingface_hub import EvalResultEntry

    for row in own_rows(item):
        about = ", ".join(filter(None, (row["evaluator"], row["system"], row["corpus"])))
        if row["value"] is not None:
            yield EvalResultEntry(name, row["metric"], row["value"], notes=f"{about}; {_sure(row)}")


def rows_of(item: Item) -> list[dict[str, Any]]:
    """The measured numbers of a model, each with metric, evaluator, system, corpus and interval."""
    empty = dict.fromkeys(("evaluator", "system", "corpus", "signature"), "")
    empty |= dict.fromkeys(("value", "low", "high", "n"))
    found = item.results.get("results")
    rows = [{**empty, **row} for row in found or [] if isinstance(row, dict) and "metric" in row]
    test = item.results.get("test") or {}
    if "perplexity" in test:
        rows.append({**empty, "metric": "perplexity", "value": test["perplexity"],
                     "n": test.get("n")})  # fmt: skip
    return rows


def with_results(item: Item, paths: Sequence[Path | str], called: str | None = None) -> Item:
    """The item with what other runs measured of it, under the name that they call it by."""
    own, rows = item.settings.get("name", ""), []
    for path in map(Path, paths):
        told = read_json(path / RESULTS if path.is_dir() else path).get("results") or []
        found = [row for row in told if row.get("evaluator") == (called or own)]
        if not found:
            known = sorted({str(row["evaluator"]) for row in told if row.get("evaluator")})
            names = ", ".join(known) or "nobody"
            remedy = "Say what it is called there with --called."
            raise BadInput(f"no number of {called or own!r} here, only of {names}.", path,
                           remedy=remedy)  # fmt: skip
        rows += [{**row, "evaluator": own} for row in found]
    if not rows:
        return item
    results = {**item.results, "results": [*(item.results.get("results") or []), *rows]}
    return replace(item, results=results)


def own_rows(item: Item) -> list[dict[str, Any]]:
    """The numbers of the model itself, without those of its baselines."""
    return [row for row in rows_of(item) if row["evaluator"] in ("", item.settings.get("name"))]


def _sure(row: dict[str, Any]) -> str:
    """The interval and what it rests on, for which the format has no place of its own."""
    parts = []
    if row["low"] is not None and row["high"] is not None:
        parts.append(f"95 % [{row['low']:.4f}, {row['high']:.4f}]")
    parts += [f"n {row['n']}"] if row["n"] is not None else []
    return ", ".join([*parts, row["signature"]]).rstrip(", ")
