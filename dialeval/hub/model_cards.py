"""What a card says of a judge, a generator, passages or an evaluation: only what was measured."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialeval.hub.cards import render_card
from dialeval.hub.code import classes_of
from dialeval.hub.contents import Contents, data_files, parameters, without_places
from dialeval.hub.eval_results import own_rows, rows_of, settings_of
from dialeval.hub.kinds import SCORES, Item

BASELINES = {
    "response only": "the same judge without the context",
    "shuffled context": "the same judge with another dialogue's context",
    "length only": "a judge that knows nothing but the length",
}
PAPERS = {
    "hierarchical": "li2017", "concat": "li2017", "svm": "li2017", "attention": "bruni2017",
    "rnn": "kannan2016", "transformer": "gao2021", "joint": "gao2021",
}  # fmt: skip
SORTS = {
    "neural": "a network",
    "svm": "a linear support vector machine over words",
    "embedding": "a regression over sentence vectors of all-MiniLM-L6-v2, from its own package",
    "joint": "two judges joined to one",
    "zero-shot": "a measure of a language model that was never trained for it",
    "length": "a judge of length alone",
}
AGAINST_ONE = ("accuracy", "pairwise_accuracy", "adversuc")
"""Measures of a judge before one attacker."""
AGAINST = {
    "human_random": "human replies to other contexts (random replies)",
    "human_next": "human replies from further on in the same dialogue",
    "human_human": "other human replies, which cannot be told apart",
    "machine_machine": "other replies of the same system, which cannot be told apart",
}


def card_of(
    item: Item, name: str, found: Contents | None = None, license: str | None = None
) -> str:
    """The card of an item as it would stand at `name`."""
    values = {
        "name": name,
        "license": license,
        "metadata": _metadata(item, name, found, license),
        **_FACTS[item.kind](item, found),
    }
    return render_card(item.kind if item.kind != "dataset" else "passages", **values)


def _metadata(item: Item, name: str, found: Contents | None, license: str | None) -> str:
    from huggingface_hub import DatasetCardData, ModelCardData

    if item.repo_type == "dataset":
        tags = ["dialeval", "dialogue", *(["evaluation"] if item.kind == "evaluation" else [])]
        configs = _configs(item, found) if found else None
        data = DatasetCardData(
            license=license, tags=tags, task_categories=["text-generation"], configs=configs
        )
        return data.to_yaml()
    task = "text-classification" if item.kind == "discriminator" else "text-generation"
    is_network = bool(item.config) or item.is_adapter
    return ModelCardData(
        license=license,
        library_name="transformers" if is_network else "dialeval",
        pipeline_tag=task,
        tags=["dialeval", "dialogue", item.kind, *_adapter_tags(item)],
        model_name=name,
        eval_results=_index(item, task) or None,
    ).to_yaml()


def _adapter_tags(item: Item) -> list[str]:
    return ["lora", "peft"] if item.is_adapter else []


def _configs(item: Item, found: Contents) -> list[dict[str, Any]]:
    """One split for each table, so that other JSON files are not taken for data."""
    paths = [SCORES] if item.kind == "evaluation" else data_files(found)
    splits = {path: re.sub(r"\W+", "_", Path(path).stem) for path in paths}
    rows = [{"split": split, "path": path} for path, split in splits.items()]
    return [{"config_name": "default", "data_files": rows}]


def _index(item: Item, task: str) -> list[Any]:
    """The measured numbers as the metadata has them."""
    from huggingface_hub import EvalResult

    data = _data(item) or "unnamed"
    return [
        EvalResult(
            task_type=task,
            dataset_type=re.sub(r"\W+", "-", row["corpus"] or data).strip("-").lower() or "unnamed",
            dataset_name=row["corpus"] or data,
            metric_type=row["metric"],
            metric_name=" ".join(filter(None, (row["metric"], row["system"]))),
            metric_value=row["value"],
        )
        for row in own_rows(item)
        if row["value"] is not None
    ]


def _data(item: Item) -> str:
    """Names of the corpora, without where they stood."""
    found = without_places({"settings": settings_of(item)})["settings"].get("data") or ""
    return ", ".join(found) if isinstance(found, list) else str(found).replace(",", ", ")


def _discriminator(item: Item, found: Contents | None) -> dict[str, Any]:
    rows, told = rows_of(item), settings_of(item)
    name = item.settings.get("name", "")
    own = [row for row in rows if row["evaluator"] in ("", name)]
    training = item.settings.get("training") or {}
    return {
        "judge": name,
        "sort": SORTS.get(item.settings.get("kind", ""), "a judge"),
        "architecture": _architecture(item),
        "is_adapter": item.is_adapter,
        "needs_code": bool(classes_of(item.config.get("model_type", ""))),
        "data": _data(item),
        "against": _against(told),
        "scenario": told.get("scenario"),
        "accuracy": [row for row in own if row["metric"] == "accuracy" and not row["system"]],
        "attackers": [row for row in own if row["metric"] in AGAINST_ONE and row["system"]],
        "baselines": [
            {**row, "what": BASELINES[row["evaluator"]]}
            for row in rows
            if row["metric"] == "accuracy" and row["evaluator"] in BASELINES and not row["corpus"]
        ],
        "ere": [{**row, "scenarios": _scenarios(row)} for row in own if row["metric"] == "ere"],
        "calibration": training.get("calibration") or item.results.get("calibration"),
        "decision": item.settings.get("decision") or {},
        "blind_spots": [row for row in own if row["metric"] not in (*AGAINST_ONE, "ere")],
        "made_by": list(dict.fromkeys(row["signature"] for row in own if row["signature"])),
        "signature": item.results.get("signature") or training.get("signature"),
        "training": item.results.get("training") or training.get("signature"),
        "papers": _papers(item),
        **_cost(item),
    }


def _generator(item: Item, found: Contents | None) -> dict[str, Any]:
    told = settings_of(item)
    training = item.settings.get("training") or {}
    return {
        "architecture": _architecture(item),
        "is_adapter": item.is_adapter,
        "needs_code": bool(classes_of(item.config.get("model_type", ""))),
        "two_parts": bool(item.config.get("is_encoder_decoder")),
        "data": _data(item),
        "direction": told.get("direction"),
        "test": item.results.get("test") or {},
        "samples": (item.results.get("samples") or [])[:3],
        "signature": item.results.get("signature") or training.get("signature"),
        **_cost(item),
    }


def _evaluation(item: Item, found: Contents | None) -> dict[str, Any]:
    rows = rows_of(item)
    names = ("adversuc", "human_vs_random", "machine_vs_random", "ere")
    return {
        "verdicts": item.results.get("verdicts") or [],
        "tables": {name: [row for row in rows if row["metric"] == name] for name in names},
        "remarks": item.results.get("remarks") or [],
        "systems": (item.results.get("settings") or {}).get("systems") or [],
        "signature": item.results.get("signature"),
        "has_report": bool(found and "report.html" in found.files),
    }


def _passages(item: Item, found: Contents | None) -> dict[str, Any]:
    paths = list(data_files(found)) if found else [item.path.name]
    folder = item.path if item.path.is_dir() else item.path.parent
    return {
        "counts": {path: count_rows(folder / path) for path in paths},
        "perturbations": [each for path in paths for each in _strategies(folder / path)],
        "signature": item.settings.get("signature"),
    }


_FACTS = {
    "discriminator": _discriminator,
    "generator": _generator,
    "evaluation": _evaluation,
    "dataset": _passages,
}


def _strategies(path: Path) -> list[str]:
    """What was done to the contexts of a file, as its passages say."""
    if path.suffix != ".jsonl":
        return []
    found: dict[str, None] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            told = json.loads(line).get("perturbation") if "perturbation" in line else None
            if isinstance(told, Mapping) and "strategy" in told:
                found[f"{told['strategy']}, seed {told.get('seed')}"] = None
    return list(found)


def count_rows(path: Path) -> int:
    """Passages in a table."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        return parquet.ParquetFile(path).metadata.num_rows
    if path.suffix == ".jsonl":
        with path.open("rb") as file:
            return sum(bool(line.strip()) for line in file)
    import csv

    with path.open(encoding="utf-8-sig", newline="") as file:
        return (
            sum(1 for _ in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")) - 1
        )


def _architecture(item: Item) -> str:
    kind = str(item.config.get("model_type", "")).removeprefix("dialeval-")
    inner = (item.config.get("backbone") or {}).get("model_type")
    return f"{kind} over {inner}" if inner else kind


def _against(told: Mapping[str, Any]) -> str:
    """Whose replies stood against the human ones."""
    scenario = told.get("scenario")
    if scenario == "human_machine":
        whose = told.get("system") or Path(str(told.get("machine") or "")).stem
        return f"the replies of {whose}" if whose else "a system's replies"
    return AGAINST.get(str(scenario), "")


def _scenarios(row: Mapping[str, Any]) -> dict[str, Any]:
    return (row.get("details") or {}).get("scenarios") or row.get("scenarios") or {}


def _papers(item: Item) -> list[str]:
    kind = item.settings.get("kind", "")
    kind = str(item.config.get("model_type", "")).removeprefix("dialeval-") or kind
    return [PAPERS[kind]] if kind in PAPERS else []


def _cost(item: Item) -> dict[str, Any]:
    """Size, hardware and time, as far as they are known."""
    told = {**item.settings, **item.results}
    return {
        "parameters": parameters(item),
        "hardware": told.get("hardware"),
        "hours": told.get("hours"),
    }
