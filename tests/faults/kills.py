"""Kills: `python -m tests.faults.kills` kills commands at every file-system call and reruns them.

One run of a command, which nobody kills, is stopped before every call that changes a file, and its
folder is copied (`snapshots.py`): this is what a kill there leaves. The same command then runs
again in every such copy, and its output must equal that of the first run. Some runs are really
killed: at calls, where the folder must be that of the copy, after a random time, and again and
again.

`kills ATT REGS 100 5 1 4` is: in 100 of the folders, 5 kills after a random time, 1 run that is
killed again and again, and 4 kills at calls.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from shlex import split
from typing import Any

from tests.faults import cases, harness, material
from tests.faults.comparison import contents, difference
from tests.faults.snapshots import Recorder, State, spread

CONFIGS = harness.RECIPES / "configs"
_EMBEDDING = split(
    "evaluate --human material/human.jsonl --system bot=material/bot.jsonl --evaluator embedding "
    "--folds 2 --seeds 1 --no-length-matched --normalise off -o out"
)
# As small as they get with every kind of file that they write.
_ATT = split(
    f"att.py --config {CONFIGS / 'att_tiny.yaml'} --data material/many.jsonl --methods ATT "
    "--generator_passages 100 --game_contexts 30 --test_contexts 8 --sl_pairs 20 --hvr_pairs 16 "
    "--sl_epochs 1 --validation_contexts 8 --samples 4 --max_turns 1 --attack_steps 2 "
    "--defence_steps 2 --output_dir out"
)
_REGS = split(
    f"regs.py --config {CONFIGS / 'regs_tiny.yaml'} --data material/many.jsonl "
    "--methods REGS-partial --generator_passages 120 --iterations 1 --discriminator_pairs 40 "
    "--discriminator_epochs 1 --likelihood_steps 2 --validation_contexts 8 --test_contexts 20 "
    "--output_dir out"
)
_ROBUST = split(
    f"robust.py --config {CONFIGS / 'robust_tiny.yaml'} --data material/many.jsonl "
    "--against random-swap --max_passages 50 --max_eval_passages 8 --max_new_tokens 3 "
    "--resamples 20 --output_dir out"
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


class Calls:
    """Watches the calls that change files.

    Args:
        on_call (`Callable[[str, int], None]`):
            Called before each, with the call, and how many were in the working folder.
    """

    def __init__(self, on_call: Callable[[str, int], None]):
        self.on_call, self.inside = on_call, 0

    def install(self) -> None:
        """Watch Python's calls, and the files that safetensors writes."""
        import safetensors.torch

        self.process, self.folder = os.getpid(), os.path.join(os.getcwd(), "")
        sys.addaudithook(self._hook)
        write: Callable[..., Any] = safetensors.torch.serialize_file

        def watched(tensors: Any, path: Any, *arguments: Any, **options: Any) -> None:
            self._pass("safetensors", path)
            write(tensors, path, *arguments, **options)

        safetensors.torch.serialize_file = watched

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if cases.changes_files(event, arguments) and os.getpid() == self.process:
            self._pass(event, arguments[0])

    def _pass(self, event: str, path: Any) -> None:
        self.inside += os.path.abspath(os.fsdecode(path)).startswith(self.folder)
        self.on_call(f"{event} {os.fsdecode(path)}", self.inside)


def _kill_at(number: int) -> Callable[[], None]:
    """Ends a process before its n-th call in the working folder."""

    def on_call(_call: str, inside: int) -> None:
        if inside == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return Calls(on_call).install


def _stop_at_each(log: Path) -> Callable[[], None]:
    """Stops all threads of a process before every call, and writes the call down."""

    def install() -> None:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

        def on_call(call: str, inside: int) -> None:
            os.write(file, f"{inside}\t{call}\n".encode("utf-8", "replace"))
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

        Calls(on_call).install()

    return install


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
        self.recorder = Recorder(self.folder / "case", self.folder / "store" / self.name)

    def record(self) -> tuple[dict[str, Any], float]:
        """What an unbroken run writes, and its seconds; the recorder has its states."""
        folder, log = self._fresh(), self.folder / "events.txt"

        def on_stop() -> None:
            inside, _, call = log.read_text("utf-8").splitlines()[-1].partition("\t")
            self.recorder.take(call, int(inside))

        start = time.monotonic()
        outcome = harness.run(
            self.job.argv, folder, timeout=self.timeout, before=_stop_at_each(log), on_stop=on_stop
        )
        if outcome.kind != "accepted":
            raise RuntimeError(f"{self.name}: {outcome.log[-2000:]}")
        self.recorder.take("the end")
        return contents(folder), time.monotonic() - start

    def rerun(self, state: State) -> tuple[dict[str, Any], str]:
        """The output of a run in what a kill left, and its message if it failed."""
        folder = self._fresh()
        self.recorder.restore(state, folder)
        return self._again(folder)

    def killed_at(self, number: int) -> tuple[str, dict[str, Any], str]:
        """Kill at a call, and run again.

        Args:
            number (`int`):
                Of the call, among those in the working folder.

        Returns:
            `tuple[str, dict, str]`: In what the folder differs from the recorded state, the output
            of the second run, and its message if it failed.
        """
        folder = self._fresh()
        first = harness.run(self.job.argv, folder, timeout=self.timeout, before=_kill_at(number))
        left = contents(folder)
        rerun, message = self._again(folder)
        if first.code != -signal.SIGKILL:
            return "it was not killed", rerun, message
        folder = self._fresh()
        self.recorder.restore(self.recorder.before(number), folder)
        return difference(contents(folder), left), rerun, message

    def killed_after(self, seconds: float) -> tuple[dict[str, Any], str]:
        """Kill after some time, and run again: its output, and its message if it failed."""
        folder = self._fresh()
        alarm = partial(signal.setitimer, signal.ITIMER_REAL, seconds)
        before = partial(_kill_by_alarm, alarm)
        harness.run(self.job.argv, folder, timeout=self.timeout, before=before)
        return self._again(folder)

    def chain(self, step: int, rng: random.Random) -> tuple[int, dict[str, Any], str]:
        """Kill again and again, each run some calls after its start, until one ends.

        Args:
            step (`int`):
                Calls between two kills, on average.
            rng (`random.Random`):
                Of the draws.

        Returns:
            `tuple[int, dict, str]`: The kills, the output of the run that ended, and its message.
        """
        folder, argv = self._fresh(), self.job.argv
        for kills in count():
            # Longer from time to time: a step that never reaches a checkpoint would never end.
            before = _kill_at(rng.randint(1, 2 * step * (1 + kills // 20)))
            outcome = harness.run(argv, folder, timeout=self.timeout, before=before)
            if outcome.code != -signal.SIGKILL:
                break
            argv = [*self.job.argv, *self.job.resume]
        message = "" if outcome.kind == "accepted" else outcome.log[-1500:] or outcome.kind
        return kills, contents(folder), message

    def _again(self, folder: Path) -> tuple[dict[str, Any], str]:
        outcome = harness.run([*self.job.argv, *self.job.resume], folder, timeout=self.timeout)
        message = "" if outcome.kind == "accepted" else outcome.log[-1500:] or outcome.kind
        return contents(folder), message

    def _fresh(self) -> Path:
        folder = self.folder / "case"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "material", folder / "material")
        return folder


def _kill_by_alarm(start: Callable[[], Any]) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process like SIGKILL: no handler runs
    start()


@dataclass(frozen=True)
class Plan:
    """How many kills of one command.

    Args:
        folders (`int`, *optional*):
            Of those that kills leave, in which the command runs again; all if there are no more.
        at_random (`int`, *optional*):
            Kills after a random time.
        chains (`int`, *optional*):
            Runs that are killed many times before they end.
        at_calls (`int`, *optional*):
            Kills at calls, whose folder must be the recorded one.
    """

    folders: int = 100_000
    at_random: int = 5
    chains: int = 1
    at_calls: int = 4


def campaign(name: str, folder: Path, plan: Plan, seed: int = 0) -> Iterator[tuple[str, str, int]]:
    """Kill a command, and run it again.

    Args:
        name (`str`):
            Of the job.
        folder (`Path`):
            With the material.
        plan (`Plan`):
            How many kills.
        seed (`int`, *optional*, defaults to 0):
            Of the draws.

    Yields:
        `tuple[str, str, int]`: The moment, what differs after the rerun or `""`, and the kills.
    """
    rng, run = random.Random(seed), Campaign(name, folder)
    whole, seconds = run.record()
    chosen = spread(run.recorder.states, plan.folders, rng)
    print(f"{name}: {run.recorder.summary(chosen)}; {seconds:.1f} s", flush=True)
    for state in chosen:
        rerun, message = run.rerun(state)
        yield f"{name}, {state.moment}", message or difference(whole, rerun), 1
    for number in rng.sample(range(1, run.recorder.inside + 1), plan.at_calls):
        unlike, rerun, message = run.killed_at(number)
        other = f"the folder was another: {unlike}" if unlike else ""
        wrong = message or difference(whole, rerun) or other
        yield f"{name}, killed at call {number}", wrong, 1
    for _ in range(plan.at_random):
        moment = rng.random() * seconds
        rerun, message = run.killed_after(moment)
        yield f"{name}, killed after {moment:.2f} s", message or difference(whole, rerun), 1
    for _ in range(plan.chains):
        killed, rerun, message = run.chain(max(4, run.recorder.inside // 12), rng)
        yield f"{name}, {killed} in a row", message or difference(whole, rerun), killed


def main(names: list[str], plan: Plan) -> int:
    """Print the counts; the exit code says whether every rerun was equal."""
    harness.warm_up()
    total = wrong = 0
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dialeval-kills-") as folder:
        (Path(folder) / "material").mkdir()
        material.write_corpora(Path(folder) / "material")
        for name in names:
            kills = bad = 0
            for moment, what, number in campaign(name, Path(folder), plan):
                kills, bad = kills + number, bad + number * bool(what)
                if what:
                    print(f"  {moment}: {what}", flush=True)
                elif not kills % 100:
                    print(f"  {kills} reruns, {time.monotonic() - start:.0f} s", flush=True)
            print(f"{name}: {kills - bad} of {kills} reruns equal", flush=True)
            total, wrong = total + kills, wrong + bad
    print(f"kills: {total - wrong} of {total} reruns equal, {time.monotonic() - start:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    import tests.conftest  # noqa: F401  # offline, with a fresh cache

    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    selected = [word for word in sys.argv[1:] if not word.isdigit()] or list(JOBS)
    sys.exit(main(selected, Plan(*numbers[:4])))
