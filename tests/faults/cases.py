"""Bad inputs, drawn with a seed: mutated files, hostile options, settings, outputs, full disks."""

import errno
import json
import os
import random
import resource
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults import material, mutators

_CONVERT = "data convert {} -o out.jsonl"
_SCORE = "score -d material/{} --data material/bot.jsonl -o out.jsonl --device cpu"
_GENERATE = (
    "generate -m material/generator --data material/human.jsonl --limit 2 --max-new-tokens 3 "
    "--device cpu"
)
READERS = {
    "human.jsonl": [
        "data describe {}", _CONVERT, "data leaks material/many.jsonl {}", "data split {}",
    ],
    "human.csv": [_CONVERT, "data describe {} --skip-bad"],
    "human.tsv": ["data convert {} -o out.csv"],
    "human.parquet": [_CONVERT, "data describe {} --skip-bad"],
    "chat.jsonl": ["data convert {} -o out.parquet", "data describe {}"],
    "bot.jsonl": [
        "data pair material/human.jsonl --machine {} -o out.jsonl",
        "data overlap material/human.jsonl {}",
    ],
    "train.yaml": [
        "train --config {} --output-dir out", "discriminator.py --config {} --output_dir out",
    ],
}  # fmt: skip
"""Commands that read a corpus or a config."""
ARTEFACTS = {
    "svm/scorer.json": [_SCORE.format("svm"), "card material/svm"],
    "svm/model.skops": [_SCORE.format("svm")],
    "svm/results.json": ["card material/svm"],
    "net/scorer.json": [_SCORE.format("net")],
    "net/config.json": [_SCORE.format("net")],
    "net/tokenizer.json": [_SCORE.format("net")],
    "net/model.safetensors": [_SCORE.format("net")],
    "net/results.json": ["card material/net"],
    "zero/scorer.json": [_SCORE.format("zero")],
    "zero/config.json": [_SCORE.format("zero")],
    "generator/config.json": [_GENERATE],
    "generator/generator.json": [_GENERATE],
    "generator/results.json": ["card material/generator"],
    "generator/model.safetensors": [_GENERATE],
    "runs/eval/results.json": [
        "report material/runs/eval", "check material/runs/eval --min adversuc=0.1",
        "card material/runs/eval", "panel material/runs/eval", "agreement material/runs/eval",
        "report material/runs/eval --format markdown",
    ],
    "runs/eval/scores.parquet": ["panel material/runs/eval"],
    "runs/two/results.json": ["compare material/runs/two", "compare material/runs/two --json"],
    "runs/two/scores.parquet": ["compare material/runs/two"],
    "judgements.csv": ["agreement material/judgements.csv"],
    "runs/ere/results.json": ["report material/runs/ere", "card material/runs/ere"],
    "runs/robustness/results.json": [
        "report material/runs/robustness", "card material/runs/robustness",
    ],
    "runs/robustness/responses.jsonl": [
        "report material/runs/robustness", "card material/runs/robustness",
    ],
    "project/project.json": [
        "annotate --prepare -o material/project", "agreement material/project",
    ],
    "project/items.jsonl": [
        "annotate material/project/items.jsonl --prepare -o out", "agreement material/project",
    ],
    "project/judgements.db": [
        "annotate --prepare -o material/project", "agreement material/project",
        "annotate -o material/project --export out.jsonl",
    ],
}  # fmt: skip
"""Commands that read what other commands wrote."""
RESUMED = {
    "runs/eval": ("cache", material.EVALUATE), "runs/ere": ("cache", material.ERE),
    "runs/robustness": ("", material.ROBUSTNESS),
}  # fmt: skip
"""Runs that a rerun continues, with the folder of what it may have torn."""
BASES = {
    "data describe": "data describe material/human.jsonl",
    "data convert": "data convert material/human.jsonl -o out.jsonl",
    "data split": "data split material/human.jsonl -o out",
    "data pair": "data pair material/human.jsonl -o out.jsonl",
    "data leaks": "data leaks material/many.jsonl material/many-bot.jsonl",
    "data overlap": "data overlap material/human.jsonl material/many.jsonl",
    "train": " ".join(material.TRAIN_SVM),
    "score": "score -d material/svm --data material/bot.jsonl -o out.jsonl --device cpu",
    "generate": "generate --responder parrot --data material/human.jsonl --limit 4 -o out.jsonl",
    "selfchat": "selfchat --one parrot --two constant --data material/human.jsonl --limit 2 "
    "-o out.jsonl",
    "evaluate": " ".join(material.EVALUATE),
    "ere": " ".join(material.ERE),
    "report": "report material/runs/eval",
    "compare": "compare material/runs/two",
    "check": "check material/runs/eval --min adversuc=0.1",
    "transfer": "transfer --human material/human.jsonl --system bot=material/bot.jsonl -o out",
    "audit": "audit material/human.jsonl --machine material/bot.jsonl --folds 2 --seeds 1 "
    "--resamples 50 -o out",
    "analyse": "analyse -d material/svm --data material/human.jsonl --data material/bot.jsonl "
    "--limit 24 --resamples 50 --pictures 1 --device cpu -o out",
    "panel": "panel material/runs/eval",
    "annotate": " ".join(material.ANNOTATE),
    "agreement": "agreement material/judgements.csv",
    "perturb": "perturb material/human.jsonl -s random-swap -o out.jsonl",
    "robustness": " ".join(material.ROBUSTNESS),
    "card": "card material/svm",
    "list": "list evaluators",
}  # fmt: skip
"""A command line of each command that works, to which one hostile option is added."""
SKIPPED = {"help", "version", "install_completion", "show_completion", "host", "port", "num_proc"}
SETTINGS: tuple[Any, ...] = (
    -1, 0, -1000, 1e-30, float("nan"), float("inf"), "", "x", None, [], {}, ["x"], True, 2.5,
    10**30, "../../x", "[/b]", [None], {"a": 1},
)  # fmt: skip
RECIPES = {
    "discriminator.py": "discriminator_tiny", "generator.py": "generator_tiny",
    "att.py": "att_tiny", "regs.py": "regs_tiny", "robust.py": "robust_tiny",
    "cocoa.py": "cocoa_tiny",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One bad input.

    Args:
        name (`str`):
            What is wrong.
        argv (`tuple[str, ...]`):
            The command.
        files (`dict[str, bytes]`, *optional*):
            Files written into the folder first.
        before (`Callable`, *optional*):
            Called in the child first.
        refuse (`bool`, *optional*):
            Whether the input must be refused.
        patience (`float`, *optional*):
            Seconds until a command counts as running, or as hanging.
    """

    name: str
    argv: tuple[str, ...]
    files: dict[str, bytes]
    before: Callable[[], None] | None = None
    refuse: bool = False
    patience: float = 90


def _case(group: str, name: str, command: str | Sequence[str], **options: Any) -> Case:
    argv = tuple(command.split(" ")) if isinstance(command, str) else tuple(command)
    return Case(f"{group}: {name} | {' '.join(argv)}", argv, options.pop("files", {}), **options)


def corpora(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Mutated corpora and configs."""
    for name, commands in READERS.items():
        data = (folder / "material" / name).read_bytes()
        mutations = list(mutators.bytes_of(data, rng))
        if name.endswith(".jsonl"):
            lines = data.splitlines()
            for label, record in mutators.of_json(json.loads(lines[0]), rng, 30):
                mutations.append((label, b"\n".join([mutators.dumps(record), *lines[1:]])))
        for label, content in mutations:
            target = f"bad.{name.partition('.')[2]}"
            command = rng.choice(commands).format(target)
            yield _case("corpus", f"{name} {label}", command, files={target: content})


def artefacts(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Mutated files that we wrote ourselves."""
    for name, commands in ARTEFACTS.items():
        path = folder / "material" / name
        if not path.exists():
            continue
        data, target = path.read_bytes(), f"material/{name}"
        mutations = list(mutators.bytes_of(data, rng))
        if name.endswith(".json"):
            value = json.loads(data)
            most = 120 if "results" in name else 40
            mutations += [(k, mutators.dumps(v)) for k, v in mutators.of_json(value, rng, most)]
        for label, content in mutations:
            command = rng.choice(commands)
            yield _case("artefact", f"{name} {label}", command, files={target: content})


def resumed(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Torn files in the folder of a run that is run again."""
    for name, (inner, argv) in RESUMED.items():
        root = folder / "material" / name
        paths = sorted(path for path in (root / inner).rglob("*") if path.is_file())
        for path in paths:
            for label, content in rng.sample(list(mutators.bytes_of(path.read_bytes(), rng)), 2):
                target = f"{name}/{path.relative_to(root)}"
                yield _case("resumed", f"{target} {label}", argv, files={target: content})


def options(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Every option of every command with hostile values."""
    import typer

    from dialeval.commands import app

    root: Any = typer.main.get_command(app)
    for name, base in BASES.items():
        command = root
        for word in name.split():
            command = command.commands[word]
        for parameter in command.params:
            if parameter.name in SKIPPED or not parameter.opts[0].startswith("-"):
                continue
            if getattr(parameter, "is_flag", False):
                continue
            option = max(parameter.opts, key=len)
            for value in rng.sample(mutators.VALUES, 4):
                argv = [*base.split(" "), option, value]
                yield _case("option", f"{option} {value!r:.30}", argv)


def settings(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Every setting of every recipe's config, negative, zero, empty or of another type."""
    import yaml

    configs = Path(material.__file__).parents[2] / "recipes" / "configs"
    for recipe, name in RECIPES.items():
        known = yaml.safe_load((configs / f"{name}.yaml").read_text())
        for key in known:
            for value in rng.sample(SETTINGS, 4):
                content = yaml.safe_dump({**known, "output_dir": "out", key: value}).encode()
                yield _case(
                    "setting", f"{key}={value!r:.20}", f"{recipe} --config bad.yaml",
                    files={"bad.yaml": content}, patience=4, refuse=_is_wrong(known[key], value),
                )  # fmt: skip


def _is_wrong(known: Any, value: Any) -> bool:
    """Whether a number, or one of another type, must be refused where the setting is `known`."""
    if isinstance(known, bool) or not isinstance(known, int | float):
        return isinstance(known, str) and isinstance(value, dict)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return not number or not -1 <= value < 1e30


def outputs(folder: Path, rng: random.Random) -> Iterator[Case]:
    """Outputs that cannot be written: a file as a folder, a full disk, a name too long."""
    targets = (
        "/dev/full/x",
        "material/human.jsonl/x",
        "n" * 300,
        "/proc/x/y",
        "a\0b",
        "x[1]",
        "é/ü",
        "-",
    )
    for base in BASES.values():
        if " -o " not in base and "--output-dir" not in base:
            continue
        words = base.split(" ")
        option = next(word for word in words if word in ("-o", "--output-dir"))
        ending = Path(words[words.index(option) + 1]).suffix
        for target in targets:
            argv = list(words)
            argv[argv.index(option) + 1] = target + ending
            if "\0" not in target:
                yield _case("output", f"{target:.20}", argv)
    for name, base in [
        *BASES.items(),
        ("train-generator", " ".join(material.TRAIN_GENERATOR)),
        ("net", " ".join(material.TRAIN)),
    ]:
        for limit in (1, 200, 2_000, 20_000):
            yield _case("full disk", f"{name} at {limit} bytes", base, before=partial(_full, limit))
        for number in (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EACCES):
            at = rng.randrange(1, 12)
            hook = partial(_failing, number, at)
            yield _case(
                "os error", f"{name} {errno.errorcode[number]} at call {at}", base, before=hook
            )


def _full(limit: int) -> None:
    """No file may grow beyond some bytes, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def _failing(number: int, at: int) -> None:
    """The n-th call that changes the file system fails, and all after it."""
    calls = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal calls
        if changes_files(event, arguments):
            calls += 1
            if calls >= at:
                raise OSError(number, os.strerror(number), str(arguments[0]))

    sys.addaudithook(hook)


_CHANGES = {
    "os.rename",
    "os.mkdir",
    "os.remove",
    "os.rmdir",
    "os.truncate",
    "os.link",
    "os.symlink",
}


def changes_files(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event creates, renames or removes a file under the working folder."""
    if event == "open":
        path, _mode, flags = arguments
        writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        return bool(writes) and isinstance(path, str | bytes | os.PathLike) and _inside(path)
    return (
        event in _CHANGES
        and isinstance(arguments[0], str | bytes | os.PathLike)
        and _inside(arguments[0])
    )


def _inside(path: Any) -> bool:
    text = os.path.abspath(os.fsdecode(path))
    return not text.startswith(("/dev", "/proc", "/sys")) and not text.endswith((".log", ".pyc"))


GROUPS = (corpora, artefacts, resumed, options, settings, outputs)


def prepare(case: Case, source: Path, folder: Path) -> None:
    """A fresh folder with the material and the case's files; links where nothing is changed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source / "material", folder / "material", copy_function=shutil.copyfile)
    if case.name.startswith("resumed"):
        shutil.copytree(source / "material" / "runs", folder / "runs")
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.write_bytes(content)
