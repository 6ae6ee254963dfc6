"""What goes into a repository: files of a folder that are safe, complete and no secret."""

import json
import ntpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialeval.downloads import PUBLISHED, TEXTS, BadInput
from dialeval.hub.code import with_code
from dialeval.hub.kinds import ADAPTER, BASE, CONFIG, DATA, GENERATOR, RESULTS, SCORER, Item

Content = Path | bytes
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz", ".h5")
_TRACE = "a trace of the run"
_PASSED = re.compile(r"checkpoint(-\d+)?|cache|__pycache__|runs|logs|wandb")  # what a run leaves


@dataclass
class Contents:
    """Files by their path in the repository, and what is left out, each with the reason."""

    files: dict[str, Content] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> dict[str, Any]:
        """A JSON file of the repository."""
        found = self.files[path]
        return json.loads(found if isinstance(found, bytes) else found.read_bytes())

    def write(self, path: str, value: Any) -> None:
        """Put a JSON file in."""
        self.files[path] = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def contents_of(item: Item, name: str) -> Contents:
    """All files of an item as they go to the repository `name`, without its card."""
    found = Contents()
    if item.path.is_file():
        found.files[item.path.name] = item.path
    else:
        _gather(item.path, found)
    _check_complete(item, found)
    for path, content in found.files.items():
        _check(path, content)
    if item.is_adapter:
        _with_base(found, name, item.path)
    if item.repo_type == "model":
        with_code(found)
    for path in (SCORER, GENERATOR, RESULTS):
        if path in found.files:
            found.write(path, without_places(found.read(path)))
    return found


def _gather(folder: Path, found: Contents) -> None:
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        place = path.relative_to(folder)
        why = _why_not(place)
        if why == _TRACE:
            found.left_out[f"{place.parts[0]}/"] = why
        elif why:
            found.left_out[place.as_posix()] = why
        elif place.name != "README.md" or is_own_card(path):
            found.files[place.as_posix()] = path


def is_own_card(path: Path) -> bool:
    """Whether a README.md is a card of dialeval's, perhaps edited; libraries leave others."""
    head = path.read_text(encoding="utf-8", errors="replace").split("\n---")[0]
    return head.startswith("---") and bool(re.search(r"^\s*- dialeval\s*$", head, re.MULTILINE))


def _why_not(place: Path) -> str:
    """Why a file is not published; empty where it is."""
    if any(part.startswith(".") for part in place.parts):
        return "a hidden file"
    if any(_PASSED.fullmatch(part) for part in place.parts[:-1]):
        return _TRACE
    if place.suffix in PICKLES:
        return "a binary that can run code or that nobody can check"
    if place.suffix == ".py":
        return "code"
    return "" if place.suffix in PUBLISHED else "no kind of file that is published"


def _check_complete(item: Item, found: Contents) -> None:
    """Refuse a model whose weights would not come along."""
    has_network = CONFIG in found.files or ADAPTER in found.files
    if item.repo_type == "model" and has_network and not _named(found, ".safetensors"):
        pickles = [path for path in found.left_out if path.endswith(PICKLES)]
        there = f", only {', '.join(pickles)}" if pickles else ""
        raise BadInput(
            f"no weights as safetensors here{there}.",
            item.path,
            remedy="Load the model and save it again with save_pretrained.",
        )
    if not any(path != "README.md" for path in found.files):
        raise BadInput("nothing is left to push.", item.path, remedy="Check the folder.")


def _named(found: Contents, suffix: str) -> list[str]:
    return [path for path in found.files if path.endswith(suffix)]


def _check(path: str, content: Content) -> None:
    """Refuse a file that is not what its name says: what is loaded elsewhere was looked at here."""
    suffix = Path(path).suffix
    try:
        if suffix == ".safetensors":
            _safetensors_header(content)
        elif suffix == ".skops" and not zipfile.is_zipfile(content):
            raise ValueError("it is no archive")
        elif suffix == ".json":
            json.loads(content.read_bytes())
        elif suffix in TEXTS and b"\0" in _start(content):
            raise ValueError("it is no text")
        elif suffix == ".parquet" and not _start(content).startswith(b"PAR1"):
            raise ValueError("it is no table")
    except (ValueError, OSError) as error:
        message = f"not what its ending says: {error}."
        raise BadInput(message, content, remedy="Write it again, or delete it.") from None


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(65_536)


def _safetensors_header(path: Path) -> dict[str, Any]:
    """Names, types and shapes of the tensors in a file, without reading them."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= min(100_000_000, path.stat().st_size):
            raise ValueError("it has no header of safetensors")
        found = json.loads(file.read(size))
    if not isinstance(found, dict):
        raise ValueError("it has no header of safetensors")
    return {name: each for name, each in found.items() if name != "__metadata__"}


def parameters(item: Item) -> int | None:
    """Numbers in all weights of a folder; nothing where there are none."""
    if item.path.is_file():
        return None
    files = [
        path
        for path in item.path.rglob("*.safetensors")
        if not _why_not(path.relative_to(item.path))
    ]
    shapes = [each["shape"] for path in files for each in _safetensors_header(path).values()]
    return sum(_product(shape) for shape in shapes) if files else None


def _product(shape: list[int]) -> int:
    size = 1
    for width in shape:
        size *= width
    return size


def _with_base(found: Contents, name: str, folder: Path) -> None:
    """Name the repository itself as the base of an adapter that brings it along."""
    told = found.read(ADAPTER)
    if f"{BASE}/{CONFIG}" in found.files:
        told["base_model_name_or_path"] = name
    elif Path(told.get("base_model_name_or_path") or "/").is_absolute():
        raise BadInput(
            "the base of this adapter is a folder of this machine, or not named.",
            folder,
            remedy="Save it with save_lora, or with its base by its name on the Hub.",
        )
    found.write(ADAPTER, told)


def without_places(value: Any, inside: bool = False) -> Any:
    """JSON in which settings name files, but not where they stand on this machine.

    Example:
        >>> without_places({"settings": {"data": "/home/ann/a.txt,b.txt", "seed": 0}})
        {'settings': {'data': 'a.txt,b.txt', 'seed': 0}}
    """
    if isinstance(value, dict):
        return {
            key: without_places(each, inside or key == "settings") for key, each in value.items()
        }
    if isinstance(value, list):
        return [without_places(each, inside) for each in value]
    if inside and isinstance(value, str):
        return ",".join(_name(part) for part in value.split(","))
    return value


def _name(text: str) -> str:
    is_place = text.startswith(("/", "~/")) or bool(ntpath.splitdrive(text)[0])
    return ntpath.basename(text.rstrip("/\\")) if is_place and "\n" not in text else text


def data_files(found: Contents) -> Iterator[str]:
    """The tables of a data set."""
    return (path for path in found.files if path.endswith(DATA))


def refuse_secrets(found: Contents, token: str | None) -> None:
    """Refuse to publish the token that opens the Hub."""
    if not token or len(token) < 4:
        return
    for path, content in found.files.items():
        if path.endswith(TEXTS) and _holds(content, token.encode()):
            raise BadInput("your token stands in this file.", path, remedy="Take it out.")


def _holds(content: Content, word: bytes) -> bool:
    """Whether a word stands in a file, which may be larger than memory."""
    if isinstance(content, bytes):
        return word in content
    before = b""
    with content.open("rb") as file:
        while block := file.read(1 << 20):
            if word in before + block:
                return True
            before = block[-len(word) :]
    return False
