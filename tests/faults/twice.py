"""Two processes at once: `python -m tests.faults.twice` starts every command twice in one folder.

The second has the same settings, or other ones. Each must end well or be refused in a sentence,
at least one must end well, and the output must be that of one of them, whole.
"""

import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from shlex import split

from tests.faults import comparison, harness, kills, material

_TRANSFER = split(
    "transfer --human material/human.jsonl --system bot=material/bot.jsonl --output-dir out"
)
_AUDIT = split(
    "audit material/human.jsonl --machine material/bot.jsonl --folds 2 --seeds 1 --resamples 50 "
    "--output-dir out"
)
_COCOA = split(f"cocoa.py --config {kills.CONFIGS / 'cocoa_tiny.yaml'} --output_dir out")
_JOBS = {
    **{name: job.argv for name, job in kills.JOBS.items()},
    "transfer": _TRANSFER,
    "audit": _AUDIT,
    "cocoa": _COCOA,
    "agreement": split("agreement material/judgements.csv --output-dir out"),
}
_OTHER = {
    "generate": ["--seed", "3"], "evaluate": ["--seed", "3"], "ere": ["--seed", "3"],
    "evaluate, embedding": ["--seed", "3"], "robustness": ["--seed", "3"],
    "train": ["--seed", "3"], "train-generator": ["--seed", "3"], "annotate": ["--items", "8"],
    "ATT": ["--seed", "3"], "REGS": ["--seed", "3"], "robust": ["--seed", "3"],
    "transfer": ["--seed", "3"], "audit": ["--seed", "3"], "cocoa": ["--seed", "3"],
    "agreement": ["--seed", "3"],
}  # fmt: skip


def both(
    first: list[str], second: list[str], folder: Path, timeout: float = 900
) -> list[harness.Outcome]:
    """How two commands ended that were started at once.

    Args:
        first, second (`list[str]`):
            The commands.
        folder (`Path`):
            Their working directory.
        timeout (`float`, *optional*):
            Seconds of CPU for each.

    Returns:
        `list[Outcome]`: Of the first and of the second.
    """
    outcomes: dict[int, harness.Outcome] = {}

    def start(number: int, argv: list[str]) -> None:
        outcomes[number] = harness.run(argv, folder, timeout=timeout)

    threads = [
        threading.Thread(target=start, args=(number, argv))
        for number, argv in enumerate((first, second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcomes[0], outcomes[1]]


def problems(name: str, root: Path) -> Iterator[tuple[str, str]]:
    """What is wrong after two processes, with the same and with other settings; `""` if nothing.

    Args:
        name (`str`):
            Of the command.
        root (`Path`):
            Folder with the material.

    Yields:
        `tuple[str, str]`: Which two, and the problem.
    """
    argv, other = _JOBS[name], [*_JOBS[name], *_OTHER[name]]
    whole = [_alone(command, root) for command in (argv, other)]
    for label, second in (("the same twice", argv), ("and another", other)):
        folder = _fresh(root)
        outcomes = both(argv, second, folder)
        left = comparison.contents(folder)
        accepted = [outcome.kind == "accepted" for outcome in outcomes]
        bad = [f"{o.kind}: {o.log[-600:]}" for o in outcomes if o.kind not in harness.GOOD]
        unequal = [comparison.difference(expected, left) for expected in whole]
        if not bad and not any(accepted):
            bad = ["none ended well: " + " | ".join(o.log[-300:] for o in outcomes)]
        if not bad and all(unequal):
            bad = [f"the output is of neither: {unequal[0]}"]
        print(f"  {name}, {label}: {sum(accepted)} of 2 ended well", flush=True)
        yield f"{name}, {label}", "; ".join(bad)


def _alone(argv: list[str], root: Path) -> dict[str, object]:
    folder = _fresh(root)
    outcome = harness.run(argv, folder, timeout=900)
    if outcome.kind != "accepted":
        raise RuntimeError(f"{' '.join(argv)}: {outcome.log[-2000:]}")
    return comparison.contents(folder)


def _fresh(root: Path) -> Path:
    folder = root / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "material", folder / "material")
    return folder


def main(names: list[str]) -> int:
    """Print the counts; the exit code says whether every output was whole."""
    harness.warm_up()
    total = wrong = 0
    with tempfile.TemporaryDirectory(prefix="dialeval-twice-") as name:
        (Path(name) / "material").mkdir()
        material.write_corpora(Path(name) / "material")
        for job in names:
            for label, problem in problems(job, Path(name)):
                total, wrong = total + 1, wrong + bool(problem)
                if problem:
                    print(f"    {label}: {problem}", flush=True)
    print(f"two processes in one folder: {total - wrong} of {total} whole")
    return int(wrong > 0)


if __name__ == "__main__":
    import tests.conftest  # noqa: F401  # offline, with a fresh cache

    sys.exit(main(sys.argv[1:] or list(_JOBS)))
