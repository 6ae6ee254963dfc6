"""The files of a repository: those of a folder that are safe, complete and not secret."""

import json
import math
import ntpath
import re
import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialeval.downloads import PUBLISHED, TEXTS, BadInput
from dialeval.hub.code import add_code
from dialeval.hub.kinds import ADAPTER, BASE, CONFIG, DATA, GENERATOR, RESULTS, SCORER, Item

Content = Path | bytes
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib", ".npy", ".npz", ".h5")
_SEEN = "seen.parquet"  # of `dialeval.scorers.seen`, which is slow to import
_RUN_FILE = "an intermediate file of the run"
_RUN_FOLDERS = re.compile(r"checkpoint(-\d+)?|cache|__pycache__|runs|logs|wandb")


@dataclass
class Contents:
    """Files by their path in the repository, and files left out with the reason."""

    files: dict[str, Content] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def read(self, path: str) -> dict[str, Any]:
        """Read a JSON file of the repository."""
        file = self.files[path]
        return json.loads(file if isinstance(file, bytes) else file.read_bytes())

    def write(self, path: str, value: Any) -> None:
        """Add a JSON file."""
        self.files[path] = (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def contents_of(item: Item, name: str) -> Contents:
    """All files of an item for the repository `name`, without its card."""
    contents = Contents()
    if item.path.is_file():
        contents.files[item.path.name] = item.path
    else:
        _gather(item.path, contents)
    _check_complete(item, contents)
    for file in contents.files.values():
        if isinstance(file, Path):
            _check(file)
    if item.is_adapter:
        _set_base(contents, name, item.path)
    if item.repo_type == "model":
        add_code(contents)
    for path in (SCORER, GENERATOR, RESULTS):
        if path in contents.files:
            contents.write(path, strip_paths(contents.read(path)))
    return contents


def _gather(folder: Path, contents: Contents) -> None:
    for path in sorted(file for file in folder.rglob("*") if file.is_file()):
        relative = path.relative_to(folder)
        reason = _reason_to_skip(relative) or _reason_of_link(path, folder)
        if reason == _RUN_FILE:
            contents.left_out[f"{relative.parts[0]}/"] = reason
        elif reason:
            contents.left_out[relative.as_posix()] = reason
        elif relative.name != "README.md" or is_dialeval_card(path):
            contents.files[relative.as_posix()] = path


def is_dialeval_card(path: Path) -> bool:
    """Whether a README.md is a card of dialeval, perhaps edited, not one of another library."""
    head = path.read_text(encoding="utf-8", errors="replace").split("\n---")[0]
    return head.startswith("---") and bool(re.search(r"^\s*- dialeval\s*$", head, re.MULTILINE))


def _reason_to_skip(path: Path) -> str:
    """Why a file is not published; empty if it is."""
    if any(part.startswith(".") for part in path.parts):
        return "a hidden file"
    if any(_RUN_FOLDERS.fullmatch(part) for part in path.parts[:-1]):
        return _RUN_FILE
    if path.suffix in PICKLES:
        return "a binary format that can contain code or cannot be checked"
    if path.suffix == ".py":
        return "code"
    if path.name == _SEEN:
        return "hashes of the training passages, which tell whether a passage is one of them"
    return "" if path.suffix in PUBLISHED else "not a published file type"


def _reason_of_link(path: Path, folder: Path) -> str:
    """Why a link is not published: it shows a file that is not in the folder, nor in the cache."""
    target = path.resolve()
    is_inside = target.is_relative_to(folder.resolve()) or target.parent.name == "blobs"
    return "" if is_inside else "a link to a file outside the folder"


def _check_complete(item: Item, contents: Contents) -> None:
    """Refuse a model without weights in a safe format."""
    has_network = CONFIG in contents.files or ADAPTER in contents.files
    if (
        item.repo_type == "model"
        and has_network
        and not any(path.endswith(".safetensors") for path in contents.files)
    ):
        pickles = [path for path in contents.left_out if path.endswith(PICKLES)]
        others = f", only {', '.join(pickles)}" if pickles else ""
        raise BadInput(
            f"no safetensors weights in this folder{others}.",
            item.path,
            hint="Load the model and save it again with save_pretrained.",
        )
    if not any(path != "README.md" for path in contents.files):
        raise BadInput("no file can be published.", item.path, hint="Check the folder.")


def _check(file: Path) -> None:
    """Refuse a file whose content does not match its extension."""
    try:
        if file.suffix == ".safetensors":
            _safetensors_header(file)
        elif file.suffix == ".skops" and not zipfile.is_zipfile(file):
            raise ValueError("it is not an archive")
        elif file.suffix == ".json":
            json.loads(file.read_bytes())
        elif file.suffix in TEXTS and b"\0" in _start(file):
            raise ValueError("it is not text")
        elif file.suffix == ".jsonl":
            check_lines(file)
        elif file.suffix == ".parquet" and not _start(file).startswith(b"PAR1"):
            raise ValueError("it is not a Parquet table")
    except (ValueError, OSError) as error:
        message = f"its content does not match its extension: {error}."
        raise BadInput(message, file, hint="Create it again, or delete it.") from None


def check_lines(path: Path) -> int:
    """The number of rows of a JSON-lines file.

    Raises:
        ValueError: A line is torn.
    """
    rows = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    json.loads(line)
                    rows += 1
            except (ValueError, RecursionError) as error:
                raise ValueError(f"line {number} is no JSON ({error})") from None
    return rows


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(65_536)


def _safetensors_header(path: Path) -> dict[str, Any]:
    """Names, types and shapes of the tensors in a file, without reading them."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 2 <= size <= min(100_000_000, path.stat().st_size):
            raise ValueError("it has no safetensors header")
        header = json.loads(file.read(size))
    if not isinstance(header, dict):
        raise ValueError("it has no safetensors header")
    return {name: tensor for name, tensor in header.items() if name != "__metadata__"}


def parameters(item: Item) -> int | None:
    """Number of parameters of a folder's weights; `None` without weights."""
    if item.path.is_file():
        return None
    files = [
        path
        for path in item.path.rglob("*.safetensors")
        if not _reason_to_skip(path.relative_to(item.path))
    ]
    shapes = [tensor["shape"] for path in files for tensor in _safetensors_header(path).values()]
    return sum(math.prod(shape) for shape in shapes) if files else None


def _set_base(contents: Contents, name: str, folder: Path) -> None:
    """Name the repository itself as the base of an adapter that includes it."""
    config = contents.read(ADAPTER)
    if f"{BASE}/{CONFIG}" in contents.files:
        config["base_model_name_or_path"] = name
    elif Path(config.get("base_model_name_or_path") or "/").is_absolute():
        raise BadInput(
            "the base of this adapter is a local folder, or not named.",
            folder,
            hint="Save it with save_lora, or with a base on the Hub.",
        )
    contents.write(ADAPTER, config)


def strip_paths(value: Any, inside: bool = False) -> Any:
    """JSON whose settings name files without their local folders.

    Examples:
        >>> strip_paths({"settings": {"data": "/home/ann/a.txt,b.txt", "seed": 0}})
        {'settings': {'data': 'a.txt,b.txt', 'seed': 0}}
        >>> strip_paths({"settings": {"command": "dialeval ere --human /home/ann/a.txt"}})
        {'settings': {'command': 'dialeval ere --human a.txt'}}
    """
    if isinstance(value, dict):
        return {
            key: _without_folders(part)
            if inside and key == "command"
            else strip_paths(part, inside or key == "settings")
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [strip_paths(part, inside) for part in value]
    if inside and isinstance(value, str):
        return ",".join(_base_name(part) for part in value.split(","))
    return value


def _without_folders(command: str) -> str:
    """A command whose files are named without their local folders."""
    try:
        words = shlex.split(command)
    except ValueError:  # it was edited by hand
        return ""
    parts = (word.rpartition("=") for word in words)
    return shlex.join(f"{name}{sign}{_base_name(path)}" for name, sign, path in parts)


def _base_name(text: str) -> str:
    is_path = text.startswith(("/", "~/")) or bool(ntpath.splitdrive(text)[0])
    return ntpath.basename(text.rstrip("/\\")) if is_path and "\n" not in text else text


def data_files(contents: Contents) -> Iterator[str]:
    """Paths of the tables of a data set."""
    return (path for path in contents.files if path.endswith(DATA))


def refuse_secrets(contents: Contents, token: str | None) -> None:
    """Refuse to publish the access token of the Hub."""
    if not token or len(token) < 4:
        return
    for path, content in contents.files.items():
        if path.endswith(TEXTS) and _contains(content, token.encode()):
            raise BadInput("this file contains your token.", path, hint="Remove it.")


def _contains(content: Content, word: bytes) -> bool:
    """Whether a file, which may be larger than memory, contains a word."""
    if isinstance(content, bytes):
        return word in content
    before = b""
    with content.open("rb") as file:
        while block := file.read(1 << 20):
            if word in before + block:
                return True
            before = block[-len(word) :]
    return False
