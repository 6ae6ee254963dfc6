"""What kind of item a folder or file holds, recognised by its files alone."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from dialeval.downloads import BadInput
from dialeval.metrics.results import Result
from dialeval.saved import read_object

SCORER, GENERATOR = "scorer.json", "generator.json"
RESULTS, SCORES = "results.json", "scores.parquet"
CONFIG, ADAPTER, MANIFEST = "config.json", "adapter_config.json", "manifest.json"
BASE = "base"  # folder next to an adapter
DATA = (".jsonl", ".csv", ".tsv", ".parquet")
WRITES = ("LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "Seq2SeqGenerator")
KINDS = {
    "discriminator": "model",
    "generator": "model",
    "dataset": "dataset",
    "evaluation": "dataset",
}
"""Kinds that can be pushed, and their type of repository."""
_AGAIN = "Create it again."


@dataclass(frozen=True)
class Item:
    """An item that can be pushed.

    Args:
        path (`Path`):
            Its folder or file.
        kind (`str`):
            One of `KINDS`.
        identity (`str`):
            Kind and architecture; a repository holds only one.
        settings (`dict`):
            Content of `scorer.json`, `generator.json` or `manifest.json`.
        results (`dict`):
            Content of `results.json`.
        config (`dict`):
            Content of `config.json`.
    """

    path: Path
    kind: str
    identity: str
    settings: dict[str, Any] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def repo_type(self) -> str:
        """Model or dataset."""
        return KINDS[self.kind]

    @property
    def is_adapter(self) -> bool:
        """Whether it is a LoRA adapter, with its base or without."""
        return self.path.is_dir() and (self.path / ADAPTER).is_file()


def recognise(path: Path | str) -> Item:
    """The item at a path, or an error that says what was expected."""
    path = Path(path)
    if not path.exists():
        raise BadInput("no such file or folder.", path, hint="Check the name.")
    if path.is_file():
        if path.suffix not in DATA:
            hint = f"Give a folder, or passages that end with one of {', '.join(DATA)}."
            raise BadInput("this file cannot be pushed.", path, hint=hint)
        return Item(path, "dataset", "dataset")
    names = {entry.name for entry in path.iterdir()}

    def read(name: str) -> dict[str, Any]:
        return read_json(path / name)

    identity = identify(names, read)
    kind = identity.split(" ")[0]
    if kind not in KINDS:
        raise BadInput(
            f"nothing to push in this folder: {', '.join(sorted(names)) or 'it is empty'}.",
            path,
            hint="Give a folder of `dialeval train`, `train-generator`, `evaluate`, of passages, "
            "or one that save_scorer or save_generator wrote.",
        )
    file = {"discriminator": SCORER, "generator": GENERATOR, "dataset": MANIFEST}.get(kind)
    settings = read(file) if file in names else {}
    results = read(RESULTS) if RESULTS in names else {}
    _check_results(results, path / RESULTS)
    config = next((read(name) for name in _configs(names) if (path / name).is_file()), {})
    return Item(path, kind, identity, settings, results, config)


def _check_results(content: dict[str, Any], path: Path) -> None:
    """Refuse damaged results: a card shows their numbers to everyone.

    Raises:
        BadInput: One of them is no result; says which.
    """
    rows = content.get("results", [])
    if not isinstance(rows, list):
        raise BadInput(f"`results` is a list, but got {rows!r:.40}.", path, hint=_AGAIN)
    for number, row in enumerate(rows):
        try:
            Result.from_dict(row)
        except (TypeError, ValueError, AttributeError) as error:
            message = f"`results.{number}` is no result: {error}"
            raise BadInput(message, path, hint=_AGAIN) from None


def identify(names: Collection[str], read: Callable[[str], dict[str, Any]]) -> str:
    """Kind and architecture from the names of top-level files and the content of small ones.

    Examples:
        >>> contents = {"scorer.json": {"kind": "svm"}}
        >>> identify(["scorer.json", "model.skops", "README.md"], contents.get)
        'discriminator svm'
        >>> identify(["README.md", ".gitattributes"], contents.get)
        ''
    """
    if SCORER in names:
        return " ".join(
            ["discriminator", str(read(SCORER).get("kind")), *_architecture(names, read)]
        )
    if GENERATOR in names or ADAPTER in names or _writes(names, read):
        return " ".join(["generator", *_architecture(names, read)])
    if RESULTS in names and SCORES in names:
        return "evaluation"
    if any(PurePosixPath(name).suffix in DATA for name in names):
        return "dataset"
    return "unknown" if {name for name in names if name[0] != "." and name != "README.md"} else ""


def _architecture(names: Collection[str], read: Callable[[str], dict[str, Any]]) -> list[str]:
    """Whether it is an adapter, and which model, as far as the files tell."""
    adapter = ["lora"] if ADAPTER in names else []
    for name in _configs(names):
        config = read(name)
        if config.get("model_type"):
            backbone = (config.get("backbone") or {}).get("model_type")
            return [*adapter, config["model_type"], *([backbone] if backbone else [])]
    return adapter


def _configs(names: Collection[str]) -> list[str]:
    """Paths of configurations: at the top level, or with an adapter's base."""
    return [CONFIG] * (CONFIG in names) + [f"{BASE}/{CONFIG}"] * (BASE in names)


def _writes(names: Collection[str], read: Callable[[str], dict[str, Any]]) -> bool:
    """Whether it is a language model, of any origin."""
    architectures = (read(CONFIG).get("architectures") or []) if CONFIG in names else []
    return any(name.endswith(WRITES) for name in architectures)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file; empty if there is no file."""
    return read_object(path, hint=_AGAIN) if path.is_file() else {}
