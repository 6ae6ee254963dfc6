"""What a folder or file holds that could stand on the Hub, told by its files alone."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from dialeval.downloads import BadInput

SCORER, GENERATOR = "scorer.json", "generator.json"
RESULTS, SCORES = "results.json", "scores.parquet"
CONFIG, ADAPTER, MANIFEST = "config.json", "adapter_config.json", "manifest.json"
BASE = "base"  # folder beside an adapter
DATA = (".jsonl", ".csv", ".tsv", ".parquet")
WRITES = ("LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "Seq2SeqGenerator")
KINDS = {
    "discriminator": "model",
    "generator": "model",
    "dataset": "dataset",
    "evaluation": "dataset",
}
"""What can be pushed, and to which type of repository it goes."""


@dataclass(frozen=True)
class Item:
    """Something that can be pushed.

    Args:
        kind (`str`):
            One of `KINDS`.
        identity (`str`):
            Kind and architecture; a repository holds one of them.
        settings (`dict`):
            What `scorer.json`, `generator.json` or `manifest.json` says.
        results (`dict`):
            What `results.json` says.
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
    """What stands at a path, or an error that says what could be there."""
    path = Path(path)
    if not path.exists():
        raise BadInput("no such file or folder.", path, remedy="Check the name.")
    if path.is_file():
        if path.suffix not in DATA:
            remedy = f"Give a folder, or passages that end with one of {', '.join(DATA)}."
            raise BadInput("this is nothing that can be pushed.", path, remedy=remedy)
        return Item(path, "dataset", "dataset")
    names = {each.name for each in path.iterdir()}

    def read(name: str) -> dict[str, Any]:
        return read_json(path / name)

    identity = identify(names, read)
    kind = identity.split(" ")[0]
    if kind not in KINDS:
        raise BadInput(
            f"nothing here can be pushed; it holds {', '.join(sorted(names)) or 'nothing'}.",
            path,
            remedy="Give a folder of `dialeval train`, `train-generator`, `evaluate`, of passages, "
            "or one that save_scorer or save_generator wrote.",
        )
    told = {"discriminator": SCORER, "generator": GENERATOR, "dataset": MANIFEST}.get(kind)
    settings = read(told) if told in names else {}
    results = read(RESULTS) if RESULTS in names else {}
    config = next((read(name) for name in _configs(names) if (path / name).is_file()), {})
    return Item(path, kind, identity, settings, results, config)


def identify(names: Collection[str], read: Callable[[str], dict[str, Any]]) -> str:
    """Kind and architecture from the names of files at the top, and what the small ones say.

    Example:
        >>> told = {"scorer.json": {"kind": "svm"}}
        >>> identify(["scorer.json", "model.skops", "README.md"], told.get)
        'discriminator svm'
        >>> identify(["README.md", ".gitattributes"], told.get)
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
    """Whether it is an adapter, and which model, as far as the files say."""
    adapter = ["lora"] if ADAPTER in names else []
    for name in _configs(names):
        found = read(name)
        if found.get("model_type"):
            inner = (found.get("backbone") or {}).get("model_type")
            return [*adapter, found["model_type"], *([inner] if inner else [])]
    return adapter


def _configs(names: Collection[str]) -> list[str]:
    """Where a configuration can stand: at the top, or with an adapter's base."""
    return [CONFIG] * (CONFIG in names) + [f"{BASE}/{CONFIG}"] * (BASE in names)


def _writes(names: Collection[str], read: Callable[[str], dict[str, Any]]) -> bool:
    """Whether a model of any origin writes text."""
    made = (read(CONFIG).get("architectures") or []) if CONFIG in names else []
    return any(name.endswith(WRITES) for name in made)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object in a file; nothing where there is no file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise BadInput(f"expected JSON, but {error}.", path, remedy="Write it again.") from None
    return found if isinstance(found, dict) else {}
