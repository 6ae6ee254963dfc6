"""Cards of discriminators, generators, passages and evaluations, with what was measured."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialeval.errors import BadInput
from dialeval.hub.cards import render_card
from dialeval.hub.code import classes_of
from dialeval.hub.contents import Contents, check_lines, data_files, parameters, strip_paths
from dialeval.hub.eval_results import model_rows, result_rows, training_settings
from dialeval.hub.kinds import SCORES, Item

BASELINES = {
    "response only": "the same model without the context",
    "shuffled context": "the same model with another dialogue's context",
    "length only": "a model that sees only the length",
}
PAPERS = {
    "hierarchical": "li2017", "concat": "li2017", "svm": "li2017", "attention": "bruni2017",
    "rnn": "kannan2016", "transformer": "gao2021", "joint": "gao2021",
}  # fmt: skip
DESCRIPTIONS = {
    "neural": "a network",
    "svm": "a linear support vector machine over words",
    "embedding": "a regression over sentence embeddings of all-MiniLM-L6-v2",
    "stack": "a stack of regressions over n-grams, sentence vectors and pairs of turns",
    "joint": "a combination of two discriminators",
    "zero-shot": "a score of a language model that was not trained for this task",
    "length": "a baseline that uses only the length",
}
AGAINST_ONE = ("accuracy", "pairwise_accuracy", "adversuc")
"""Metrics of a discriminator on the replies of one system."""
AGAINST = {
    "human_random": "human replies to other contexts (random replies)",
    "human_next": "human replies from further on in the same dialogue",
    "human_human": "other human replies, which are indistinguishable",
    "machine_machine": "other replies of the same system, which are indistinguishable",
}


def card_of(
    item: Item, name: str, contents: Contents | None = None, license: str | None = None
) -> str:
    """The card of an item.

    Args:
        item (`Item`):
            What the card describes.
        name (`str`):
            Its repository, `owner/name`.
        contents (`Contents`, *optional*):
            The files of the push.
        license (`str`, *optional*):
            Licence by its name on the Hub.

    Returns:
        `str`: Markdown with metadata.
    """
    values = {
        "name": name,
        "license": license,
        "metadata": _metadata(item, name, contents, license),
        **_CARD_VALUES[item.kind](item, contents),
    }
    return render_card(item.kind if item.kind != "dataset" else "passages", **values)


def _metadata(item: Item, name: str, contents: Contents | None, license: str | None) -> str:
    from huggingface_hub import DatasetCardData, ModelCardData

    if item.repo_type == "dataset":
        tags = ["dialeval", "dialogue", *(["evaluation"] if item.kind == "evaluation" else [])]
        configs = _configs(item, contents) if contents else None
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


def _configs(item: Item, contents: Contents) -> list[dict[str, Any]]:
    """One split per table, so that other JSON files are not read as data."""
    paths = [SCORES] if item.kind == "evaluation" else list(data_files(contents))
    splits = {path: re.sub(r"\W+", "_", Path(path).stem) for path in paths}
    rows = [{"split": split, "path": path} for path, split in splits.items()]
    return [{"config_name": "default", "data_files": rows}]


def _index(item: Item, task: str) -> list[Any]:
    """The measured numbers for the metadata."""
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
        for row in model_rows(item)
        if row["value"] is not None
    ]


def _data(item: Item) -> str:
    """Names of the corpora, without their folders."""
    data = strip_paths({"settings": training_settings(item)})["settings"].get("data") or ""
    return ", ".join(data) if isinstance(data, list) else str(data).replace(",", ", ")


def _discriminator(item: Item, contents: Contents | None) -> dict[str, Any]:
    rows, settings = result_rows(item), training_settings(item)
    measured = model_rows(item)
    training = item.settings.get("training") or {}
    return {
        "description": DESCRIPTIONS.get(item.settings.get("kind", ""), "a discriminator"),
        "architecture": _architecture(item),
        "is_adapter": item.is_adapter,
        "needs_code": bool(classes_of(item.config.get("model_type", ""))),
        "data": _data(item),
        "against": _against(settings),
        "accuracy": [row for row in measured if row["metric"] == "accuracy" and not row["system"]],
        "systems": [row for row in measured if row["metric"] in AGAINST_ONE and row["system"]],
        "baselines": [
            {**row, "description": BASELINES[row["evaluator"]]}
            for row in rows
            if row["metric"] == "accuracy" and row["evaluator"] in BASELINES and not row["corpus"]
        ],
        "ere": [
            {**row, "scenarios": _scenarios(row)} for row in measured if row["metric"] == "ere"
        ],
        "calibration": training.get("calibration") or item.results.get("calibration"),
        "decision": item.settings.get("decision") or {},
        "other_metrics": [row for row in measured if row["metric"] not in (*AGAINST_ONE, "ere")],
        "signatures": list(dict.fromkeys(row["signature"] for row in measured if row["signature"])),
        "signature": item.results.get("signature") or training.get("signature"),
        "training": item.results.get("training") or training.get("signature"),
        "papers": _papers(item),
        **_cost(item),
    }


def _generator(item: Item, contents: Contents | None) -> dict[str, Any]:
    settings = training_settings(item)
    training = item.settings.get("training") or {}
    return {
        "architecture": _architecture(item),
        "is_adapter": item.is_adapter,
        "needs_code": bool(classes_of(item.config.get("model_type", ""))),
        "is_encoder_decoder": bool(item.config.get("is_encoder_decoder")),
        "data": _data(item),
        "direction": settings.get("direction"),
        "perplexity": [row for row in model_rows(item) if row["metric"] == "perplexity"],
        "samples": (item.results.get("samples") or [])[:3],
        "signature": item.results.get("signature") or training.get("signature"),
        **_cost(item),
    }


EVALUATED = ("adversuc", "human_vs_random", "machine_vs_random")
"""Metrics that the card of an evaluation has, also where they were not measured."""
FURTHER = ("relevance", "topic_control", "dialogue_accuracy")
ERRORS = ("ere", "ere_three", "ere_transfer", "ere_transfer_three")
"""Reliability errors; a run has one of them, and `ere` stands for all where it has none."""


def _evaluation(item: Item, contents: Contents | None) -> dict[str, Any]:
    rows = result_rows(item)
    measured = {row["metric"] for row in rows}
    errors = [name for name in ERRORS if name in measured] or ERRORS[:1]
    names = [*EVALUATED, *(name for name in FURTHER if name in measured), *errors]
    return {
        "verdicts": item.results.get("verdicts") or [],
        "tables": {name: [row for row in rows if row["metric"] == name] for name in names},
        "warnings": item.results.get("warnings") or [],
        "systems": (item.results.get("settings") or {}).get("systems") or [],
        "signature": item.results.get("signature"),
        "shares_contexts": item.results.get("protocol") != "unpaired",
        "has_report": bool(contents and "report.html" in contents.files),
    }


def _passages(item: Item, contents: Contents | None) -> dict[str, Any]:
    paths = list(data_files(contents)) if contents else [item.path.name]
    folder = item.path if item.path.is_dir() else item.path.parent
    return {
        "counts": {path: count_rows(folder / path) for path in paths},
        "perturbations": [strategy for path in paths for strategy in _perturbations(folder / path)],
        "signature": item.settings.get("signature"),
    }


_CARD_VALUES = {
    "discriminator": _discriminator,
    "generator": _generator,
    "evaluation": _evaluation,
    "dataset": _passages,
}


def _perturbations(path: Path) -> list[str]:
    """The perturbations of the passages of a file."""
    if path.suffix != ".jsonl":
        return []
    names: dict[str, None] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            details = json.loads(line).get("perturbation") if "perturbation" in line else None
            if isinstance(details, Mapping) and "strategy" in details:
                names[f"{details['strategy']}, seed {details.get('seed')}"] = None
    return list(names)


def count_rows(path: Path) -> int:
    """Number of passages in a table."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        return parquet.ParquetFile(path).metadata.num_rows
    if path.suffix == ".jsonl":
        try:
            return check_lines(path)
        except ValueError as error:
            hint = "Create it again, or delete it."
            raise BadInput(f"{error}.", path, hint=hint) from None
    import csv

    with path.open(encoding="utf-8-sig", newline="") as file:
        return (
            sum(1 for _ in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")) - 1
        )


def _architecture(item: Item) -> str:
    kind = str(item.config.get("model_type", "")).removeprefix("dialeval-")
    backbone = (item.config.get("backbone") or {}).get("model_type")
    return f"{kind} over {backbone}" if backbone else kind


def _against(settings: Mapping[str, Any]) -> str:
    """The negative examples of the training data."""
    scenario = settings.get("scenario")
    if scenario == "human_machine":
        system = settings.get("system") or Path(str(settings.get("machine") or "")).stem
        return f"the replies of {system}" if system else "a system's replies"
    return AGAINST.get(str(scenario), "")


def _scenarios(row: Mapping[str, Any]) -> dict[str, Any]:
    return (row.get("details") or {}).get("scenarios") or row.get("scenarios") or {}


def _papers(item: Item) -> list[str]:
    kind = item.settings.get("kind", "")
    kind = str(item.config.get("model_type", "")).removeprefix("dialeval-") or kind
    return [PAPERS[kind]] if kind in PAPERS else []


def _cost(item: Item) -> dict[str, Any]:
    """Size, hardware and time, as far as they were recorded."""
    facts = {**item.settings, **item.results}
    return {
        "parameters": parameters(item),
        "hardware": facts.get("hardware"),
        "hours": facts.get("hours"),
    }
