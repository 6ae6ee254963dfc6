"""Human passages and systems' responses for an evaluation, from files or from live systems."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from dialeval.dialogues import (
    BadInput,
    Passages,
    ReadOptions,
    authors,
    by_author,
    iterate,
    read,
)
from dialeval.dialogues.paths import check_exists
from dialeval.dialogues.splits import sample_dialogues
from dialeval.responders.base import Responder
from dialeval.responders.journal import generate, run_hash
from dialeval.responders.registry import (
    ResponderSpec,
    check_model_name,
    load_responder,
    parse_spec,
)

DEFAULT_CORPUS, DEFAULT_LIMIT = "chitchat", 500
"""The embedded corpus, and how many of its contexts are used, where no file is given."""

ReadPassages = Callable[[list[str], ReadOptions], Passages]
LoadResponder = Callable[..., Responder]


@dataclass(frozen=True)
class CollectedSystems:
    """Responses of systems, and how these were trained.

    Args:
        answers (`dict[str, Passages]`):
            Responses by the name of the system.
        training (`dict[str, Mapping]`):
            What is recorded about its training; empty where nothing is.
    """

    answers: dict[str, Passages]
    training: dict[str, Mapping[str, Any]]

    def add(self, name: str, answers: Passages, training: Mapping[str, Any]) -> None:
        """Add a system.

        Args:
            name (`str`):
                Its name.
            answers (`Passages`):
                Its responses.
            training (`Mapping`):
                What is recorded about its training.

        Raises:
            BadInput: There is one with that name.
        """
        if name in self.answers:
            hint = "Give each its own name: --system first=..."
            raise BadInput(f"two systems are called {name!r}.", hint=hint)
        self.answers[name], self.training[name] = answers, training


def read_passages(files: list[str], options: ReadOptions) -> Passages:
    """The passages of files, without progress."""
    return read(files, options)[0]


def read_human(
    files: Sequence[str] | None = None,
    options: ReadOptions | None = None,
    *,
    limit: int | None = None,
    seed: int = 0,
    read_files: ReadPassages = read_passages,
) -> tuple[Passages, Passages | None]:
    """Human passages, and the responses of a second human where the data have them.

    Args:
        files (`Sequence[str]`, *optional*):
            Files with human responses; 500 contexts of the embedded corpus by default.
        options (`ReadOptions`, *optional*):
            How files are read.
        limit (`int`, *optional*):
            Maximum number of contexts, drawn by dialogue.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draw.
        read_files (`Callable`, *optional*):
            What reads files, for instance with progress.

    Returns:
        `tuple[Passages, Passages | None]`: Both in the order of the files.

    Raises:
        BadInput: No response is by a human.
    """
    limit = limit or (None if files else DEFAULT_LIMIT)
    paths = list(files or [DEFAULT_CORPUS])
    passages = read_files(paths, replace(options or ReadOptions(), side="human"))
    human = by_author(passages, "human")
    if not len(human):
        names = ", ".join(authors(passages)) or "nobody"
        hint = "Give the file with the human responses."
        raise BadInput(f"no human responses, only those of {names}.", paths[0], hint=hint)
    from dialeval.protocols.evaluation.inputs import second_humans  # loads statistics

    sample = human if limit is None else sample_dialogues(human, limit, seed)
    return sample, second_humans(passages)


def check_sources(files: Sequence[str], specs: Sequence[str]) -> None:
    """Check that everything exists, before a large file is read in vain.

    Args:
        files (`Sequence[str]`):
            Files with human responses.
        specs (`Sequence[str]`):
            Systems, as `collect_systems` takes them.

    Raises:
        BadInput: A file does not exist, or nothing is known by the name of a system.
    """
    for file in files:
        if file != DEFAULT_CORPUS:
            check_exists(Path(file))
    for spec in map(parse_spec, specs):
        path = _data_path(spec)
        if path is not None:
            check_exists(Path(path))
        elif spec.kind == "generator":
            check_model_name(str(spec.options["model"]))


def collect_systems(
    specs: Sequence[str],
    human: Passages,
    *,
    folder: Path | str | None = None,
    options: ReadOptions | None = None,
    roles: Mapping[str, str] | None = None,
    seed: int = 0,
    live: Mapping[str, Any] | None = None,
    read_files: ReadPassages = read_passages,
    load: LoadResponder = load_responder,
) -> CollectedSystems:
    """The responses of each system to human contexts.

    A file of responses is read; anything else is a live system that responds now. Its responses
    are kept in the folder, so that a run that was stopped resumes.

    Args:
        specs (`Sequence[str]`):
            Systems: `NAME=FILE`, a file, or what [`load_responder`] accepts.
        human (`Passages`):
            Passages whose contexts live systems respond to.
        folder (`Path` or `str`, *optional*):
            Where responses of live systems are kept; they are not kept by default.
        options (`ReadOptions`, *optional*):
            How files are read.
        roles (`Mapping[str, str]`, *optional*):
            By the name of a system, the role whose turns are its responses, where it is not that
            of `options`.
        seed (`int`, *optional*, defaults to 0):
            Seed of live systems.
        live (`Mapping`, *optional*):
            Options of [`load_responder`] for live systems, such as `decoding`, `max_new_tokens`
            and `system_prompt`.
        read_files (`Callable`, *optional*):
            What reads files, for instance with progress.
        load (`Callable`, *optional*):
            What loads live systems.

    Returns:
        `CollectedSystems`: By name, in the order of `specs`.

    Raises:
        BadInput: Two systems have the same name, or one cannot be read or loaded.
    """
    collected = CollectedSystems({}, {})
    for spec in map(parse_spec, specs):
        path = _data_path(spec)
        if path is None:
            responder = load(spec, pool=human, seed=seed, **(live or {}))
            training = getattr(getattr(responder, "generator", None), "training", None)
            collected.add(responder.name, _respond(responder, human, folder), training or {})
        else:
            name = spec.name or Path(path).stem
            options = options or ReadOptions()
            role = (roles or {}).get(name, options.role)
            read_as = replace(options, side=name, role=role, keep_equal_replies=True)
            answers = _read_system(name, path, read_as, read_files)
            collected.add(name, answers, _recorded_training(path))
    return collected


def _data_path(spec: ResponderSpec) -> str | None:
    """The file or folder of stored responses; `None` for a live system."""
    if spec.kind == "stored" and "path" in spec.options:
        return str(spec.options["path"])
    model = str(spec.options["model"]) if spec.kind == "generator" else ""
    is_data = spec.name and Path(model).is_dir() and not any(Path(model).glob("*config.json"))
    return model if model and is_data else None


def _read_system(name: str, path: str, options: ReadOptions, read_files: ReadPassages) -> Passages:
    """The responses of one system from a file, which may hold those of others."""
    passages = read_files([path], options)
    if not len(passages):
        raise BadInput("it has no responses.", path, hint=f"Give the responses of {name}.")
    names = [author for author in authors(passages) if author != "human"] or ["human"]
    if len(names) == 1 or name in names:
        return by_author(passages, name if name in names else names[0])
    raise BadInput(
        f"it has responses of several systems: {', '.join(names)}.",
        path,
        hint=f"Name one of them: --system {names[0]}={path}",
    )


def _recorded_training(path: str) -> dict[str, Any]:
    """What the manifest next to a file of responses records about the generator's training."""
    try:
        manifest = json.loads(Path(f"{path}.run.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(manifest, dict):
        return {}
    training = manifest.get("training")
    return {**manifest, **(training if isinstance(training, dict) else {})}


def _respond(responder: Responder, human: Passages, folder: Path | str | None) -> Passages:
    """The responses of a live system, resumed from the folder if there are some."""
    if folder is None:
        with TemporaryDirectory() as temporary:
            return _respond(responder, human, temporary)
    passages = list(iterate(human))
    # The name has a hash of contexts and settings, so that responses to others are not replaced.
    key = run_hash(responder.signature, passages)[:8]
    path = Path(folder) / "systems" / f"{responder.name.replace('/', '-')}-{key}.jsonl"
    summary = generate(responder, passages, path)
    return read(str(summary.path), ReadOptions(keep_duplicates=True, allow_empty=True))[0]
