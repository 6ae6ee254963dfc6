"""Kills: `python -m tests.faults.kills` kills commands at every file-system call and reruns them.

A command runs in a forked child that is killed just before its n-th call that changes a file
(Python's calls, and the writes of safetensors, also half-way), or after a random time. The same
command then runs again, and its output must equal that of a run that nobody killed.
"""

import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from shlex import split
from typing import Any

from tests.faults import cases, harness, material

CONFIGS = harness.RECIPES / "configs"
_EMBEDDING = split(
    "evaluate --human material/human.jsonl --system bot=material/bot.jsonl --evaluator embedding "
    "--folds 2 --seeds 1 --no-length-matched --normalise off -o out"
)
_ATT = split(
    f"att.py --config {CONFIGS / 'att_tiny.yaml'} --data material/many.jsonl --methods ATT "
    "--generator_passages 200 "
    "--game_contexts 60 --test_contexts 12 --sl_pairs 40 --hvr_pairs 40 --sl_epochs 1 "
    "--validation_contexts 12 --samples 8 --output_dir out"
)
_REGS = split(
    f"regs.py --config {CONFIGS / 'regs_tiny.yaml'} --data material/many.jsonl "
    "--generator_passages 120 --iterations 1 "
    "--discriminator_pairs 40 --discriminator_epochs 1 --likelihood_steps 2 "
    "--output_dir out"
)
_ROBUST = split(
    f"robust.py --config {CONFIGS / 'robust_tiny.yaml'} --max_passages 100 --max_eval_passages 12 "
    "--resamples 50 --output_dir out"
)


@dataclass(frozen=True)
class Job:
    """A command that is killed and run again.

    Args:
        argv (`list[str]`):
            The command; it writes to `out`.
        resume (`tuple[str, ...]`, *optional*):
            What the second run has in addition.
    """

    argv: list[str]
    resume: tuple[str, ...] = ()


def _to_out(argv: list[str]) -> list[str]:
    return [*argv[:-1], "out.jsonl" if argv[-1].endswith(".jsonl") else "out"]


JOBS = {
    "generate": Job(_to_out(material.GENERATE)),
    "evaluate": Job(_to_out(material.EVALUATE)),
    "evaluate, embedding": Job(_EMBEDDING),
    "ere": Job(_to_out(material.ERE)),
    "robustness": Job(_to_out(material.ROBUSTNESS)),
    "train": Job(_to_out(material.TRAIN), ("--resume",)),
    "train-generator": Job(_to_out(material.TRAIN_GENERATOR), ("--resume",)),
    "annotate": Job(_to_out(material.ANNOTATE)),
    "ATT": Job(_ATT, ("--resume", "true")),
    "REGS": Job(_REGS, ("--resume", "true")),
    "robust": Job(_ROBUST),
}
_TIMES = re.compile(
    r"seconds|^minutes$|^peak_mib$|time$|^time|_time|^date|duration|elapsed|created|speed",
    re.IGNORECASE,
)
_IGNORED = re.compile(r"(^|/)\.lock(\.owner)?$|\.(html|png|svg|db|md)$|\.db-\w+$|^events")


class KillPoint:
    """Counts the calls that change files, and kills the process before the n-th.

    Args:
        at (`int`):
            Which call; 0 counts only.
        log (`Path`, *optional*):
            Where the calls are written down.
    """

    def __init__(self, at: int, log: Path | None = None):
        self.at, self.calls = at, 0
        self.log = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def install(self) -> None:
        """Watch Python's calls, and the files that safetensors writes."""
        sys.addaudithook(self._hook)
        import safetensors.torch

        write: Callable[..., Any] = safetensors.torch.serialize_file

        def watched(tensors: Any, path: Any, *arguments: Any, **options: Any) -> None:
            self._pass(f"safetensors {path}")
            write(tensors, path, *arguments, **options)
            size = os.path.getsize(path)
            if self.calls + 1 == self.at:  # torn: killed half-way
                os.truncate(path, size // 2)
            self._pass(f"half of safetensors {path}")

        safetensors.torch.serialize_file = watched

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if cases.changes_files(event, arguments):
            self._pass(f"{event} {arguments[0]}")

    def _pass(self, call: str) -> None:
        self.calls += 1
        if self.log is not None:
            os.write(self.log, f"{call}\n".encode("utf-8", "replace"))
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Campaign:
    """Kills of one command.

    Args:
        name (`str`):
            Of the job.
        folder (`Path`):
            With the material.
        timeout (`float`, *optional*):
            Seconds for a run.
    """

    name: str
    folder: Path
    timeout: float = 900

    def __post_init__(self) -> None:
        self.job = JOBS[self.name]

    def whole(self) -> tuple[dict[str, Any], int, float]:
        """What an unbroken run writes, its number of calls, and its seconds."""
        folder = self._fresh()
        log = self.folder / "events.txt"
        install = KillPoint(0, log).install
        outcome = harness.run(self.job.argv, folder, timeout=self.timeout, before=install)
        if outcome.kind != "accepted":
            raise RuntimeError(f"{self.name}: {outcome.log[-2000:]}")
        return contents(folder), len(log.read_text().splitlines()), outcome.seconds

    def killed_at(self, call: int) -> tuple[bool, dict[str, Any], str]:
        """Kill at a call, and run again: whether it was killed, the output, and what it message."""
        return self._run(KillPoint(call).install, self.timeout)

    def killed_after(self, seconds: float) -> tuple[bool, dict[str, Any], str]:
        """The same after some time."""
        alarm = partial(signal.setitimer, signal.ITIMER_REAL, seconds)
        return self._run(partial(_kill_by_alarm, alarm), self.timeout)

    def chain(self, step: int, rng: random.Random) -> Iterator[tuple[dict[str, Any], str] | None]:
        """Kill again and again, each run some calls after its start, until one ends.

        Args:
            step (`int`):
                Calls between two kills, on average.
            rng (`random.Random`):
                Of the draws.

        Yields:
            `None` for each kill, then the output and the message of the run that ended.
        """
        folder, argv = self._fresh(), self.job.argv
        for number in count():
            # Longer from time to time: a step that never reaches a checkpoint would never end.
            kill = KillPoint(rng.randint(1, 2 * step * (1 + number // 20))).install
            outcome = harness.run(argv, folder, timeout=self.timeout, before=kill)
            if outcome.code != -signal.SIGKILL:
                break
            argv = [*self.job.argv, *self.job.resume]
            yield None
        message = "" if outcome.kind == "accepted" else outcome.log[-1500:] or outcome.kind
        yield contents(folder), message

    def _run(self, before: Callable[[], None], timeout: float) -> tuple[bool, dict[str, Any], str]:
        folder = self._fresh()
        first = harness.run(self.job.argv, folder, timeout=timeout, before=before)
        second = harness.run([*self.job.argv, *self.job.resume], folder, timeout=timeout)
        message = "" if second.kind == "accepted" else second.log[-1500:] or second.kind
        return first.code == -signal.SIGKILL, contents(folder), message

    def _fresh(self) -> Path:
        folder = self.folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "material", folder / "material")
        return folder


def _kill_by_alarm(start: Callable[[], Any]) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process like SIGKILL: no handler runs
    start()


def contents(folder: Path) -> dict[str, Any]:
    """The content of every output of a run by its name, without times."""
    return {
        name: _content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := str(path.relative_to(folder))).startswith("material/")
        and not _IGNORED.search(name)
    }


def _content(path: Path) -> Any:
    data = path.read_bytes()
    if path.suffix == ".json":
        return without_times(json.loads(data))
    return _skops(path) if path.suffix == ".skops" else data


def _skops(path: Path) -> Any:
    """What a skops file holds, without addresses of objects, and the time of writing."""
    with zipfile.ZipFile(path) as archive:

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                items = {key: plain(item) for key, item in value.items() if key != "__id__"}
                return {**items, "file": archive.read(value["file"])} if "file" in value else items
            return [plain(item) for item in value] if isinstance(value, list) else value

        return plain(json.loads(archive.read("schema.json")))


def without_times(value: Any) -> Any:
    """A JSON value without what measures time or memory; NaN equals NaN."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if not _TIMES.search(key)}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return "nan" if isinstance(value, float) and value != value else value


def difference(whole: dict[str, Any], rerun: dict[str, Any]) -> str:
    """Which outputs differ; empty if none does."""
    names = sorted({*whole, *rerun})
    other = [name for name in names if whole.get(name) != rerun.get(name)]
    detail = [f"{name} ({_why(whole.get(name), rerun.get(name))})" for name in other[:3]]
    return ", ".join(detail) + (f" and {len(other) - 3} more" if len(other) > 3 else "")


def _why(whole: Any, rerun: Any) -> str:
    if whole is None or rerun is None:
        return "is left" if whole is None else "is missing"
    if isinstance(whole, dict) and isinstance(rerun, dict):
        keys = [key for key in {*whole, *rerun} if whole.get(key) != rerun.get(key)]
        return f"differs in {', '.join(sorted(keys))}"
    return "differs"


def moments(calls: int, most: int, rng: random.Random) -> list[int]:
    """All calls, or so many of them, evenly spread from a random start."""
    if not most:
        return []
    if calls <= most:
        return list(range(1, calls + 1))
    step = calls / most
    offset = rng.random() * step
    return [min(calls, 1 + int(offset + number * step)) for number in range(most)]


def campaign(
    name: str, folder: Path, most: int, at_random: int, chains: int = 0, seed: int = 0
) -> Iterator[tuple[str, str, int]]:
    """Kill a command at file-system calls, at random moments, and many times in one run.

    Args:
        name (`str`):
            Of the job.
        folder (`Path`):
            With the material.
        most (`int`):
            Calls to kill at; all if there are no more.
        at_random (`int`):
            Kills after a random time.
        chains (`int`, *optional*, defaults to 0):
            Runs that are killed many times before they end.
        seed (`int`, *optional*, defaults to 0):
            Of the draws.

    Yields:
        `tuple[str, str, int]`: The moment, what differs after the rerun or `""`, and the kills.
    """
    rng, run = random.Random(seed), Campaign(name, folder)
    whole, calls, seconds = run.whole()
    print(f"{name}: {calls} file-system calls in {seconds:.1f} s", flush=True)
    for call in moments(calls, most, rng):
        was_killed, rerun, message = run.killed_at(call)
        wrong = message or ("" if was_killed else "it was not killed") or difference(whole, rerun)
        yield f"{name}, call {call}", wrong, 1
    for _ in range(at_random):
        moment = rng.random() * seconds
        _, rerun, message = run.killed_after(moment)
        yield f"{name}, after {moment:.2f} s", message or difference(whole, rerun), 1
    for _ in range(chains):
        *killed, end = run.chain(max(4, calls // 12), rng)
        rerun, message = end or ({}, "it did not end")
        yield f"{name}, {len(killed)} in a row", message or difference(whole, rerun), len(killed)


def main(names: list[str], most: int, at_random: int, chains: int = 0) -> int:
    """Print the counts; the exit code says whether every rerun was equal."""
    harness.warm_up()
    total = wrong = 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dialeval-kills-") as folder:
        (Path(folder) / "material").mkdir()
        material.write_corpora(Path(folder) / "material")
        for name in names:
            kills = bad = 0
            for moment, what, number in campaign(name, Path(folder), most, at_random, chains):
                kills, bad = kills + number, bad + number * bool(what)
                if what:
                    print(f"  {moment}: {what}", flush=True)
            print(f"{name}: {kills - bad} of {kills} reruns equal", flush=True)
            total, wrong = total + kills, wrong + bad
    print(f"kills: {total - wrong} of {total} reruns equal, {time.monotonic() - start:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    import tests.conftest  # noqa: F401  # offline, with a fresh cache

    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    chosen = [word for word in sys.argv[1:] if not word.isdigit()] or list(JOBS)
    sys.exit(main(chosen, *(numbers or [10_000, 5, 1])[:3]))
