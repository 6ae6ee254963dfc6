"""Commands in forked children: a case costs a fork, not an import, and cannot harm its parent."""

import os
import re
import runpy
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
CRASHED = 70
"""Exit code of a child that an exception ended."""
GOOD = ("sentence", "accepted")
FINDINGS = ("has seen dialogues that it is evaluated on", "conditions not met")
"""What commands find in data, with an exit code of 1."""
_FRAME = re.compile(r'File "[^"]*?((?:dialeval|recipes)/[^"]+)", line (\d+)')


@dataclass(frozen=True)
class Outcome:
    """How a command ended.

    Args:
        kind (`str`):
            `accepted`, `sentence`, `traceback`, `aborted`, `unclear`, `hang`, `killed`, or
            `wrongly accepted`.
        code (`int`):
            Exit code, negative for a signal.
        log (`str`):
            All it printed.
        seconds (`float`):
            How long it took.
    """

    kind: str
    code: int
    log: str
    seconds: float

    @property
    def origin(self) -> str:
        """The last line of our code in a traceback, and the error."""
        frames = _FRAME.findall(self.log)
        last = next((line for line in reversed(self.log.splitlines()) if line.strip()), "")
        return f"{':'.join(frames[-1])} {last[:150]}" if frames else last[:150]


def warm_up() -> None:
    """Import everything heavy once, before the first fork."""
    import importlib
    import pkgutil

    import dialeval

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in ("torch", "transformers", "datasets", "sklearn.svm", "skops.io", "matplotlib"):
        importlib.import_module(name)
    importlib.import_module("matplotlib.pyplot")
    importlib.import_module("torch").set_num_threads(1)
    for module in pkgutil.walk_packages(dialeval.__path__, "dialeval."):
        if not module.name.endswith((".app", "__main__")) and module.name.count(".") > 1:
            importlib.import_module(module.name)


def run(
    argv: Sequence[str],
    folder: Path,
    *,
    timeout: float = 60,
    before: Callable[[], None] | None = None,
    on_stop: Callable[[], None] | None = None,
    refuse: bool = False,
) -> Outcome:
    """Run a command, or a recipe (`att.py ...`), in a child process.

    Args:
        argv (`Sequence[str]`):
            Its arguments.
        folder (`Path`):
            Its working directory.
        timeout (`float`, *optional*, defaults to 60):
            Seconds of CPU until the watchdog ends it; ten times as many if it sleeps.
        before (`Callable`, *optional*):
            Called in the child before the command.
        on_stop (`Callable`, *optional*):
            Called whenever the child has stopped itself, before it continues.
        refuse (`bool`, *optional*, defaults to `False`):
            Whether the input must be refused.

    Returns:
        `Outcome`: How it ended.
    """
    start = time.monotonic()
    sys.stdout.flush()
    reader, writer = os.pipe()  # a full disk must not be that of the log
    child = os.fork()
    if child == 0:
        _child(argv, folder, writer, before)
    os.close(writer)
    status, text = _wait(child, timeout, reader, on_stop)
    seconds = time.monotonic() - start
    if status is None:
        kind = "hang" if timeout >= 60 else "wrongly accepted" if refuse else "accepted"
        return Outcome(kind, -9, text, seconds)
    code = os.waitstatus_to_exitcode(status)
    return Outcome(_kind(code, text, refuse), code, text, seconds)


def _kind(code: int, log: str, refuse: bool) -> str:
    if code < 0:
        return "killed"
    if code == CRASHED or "Traceback (most recent call last)" in log:
        return "traceback"
    if code == 0:
        return "wrongly accepted" if refuse else "accepted"
    if any(text in log for text in ("Error", "Usage:", *FINDINGS)):
        return "sentence"
    return "aborted" if "Aborted" in log else "unclear"


def _wait(
    child: int, timeout: float, reader: int, on_stop: Callable[[], None] | None
) -> tuple[int | None, str]:
    """The status of a child, if it ends in time, and what it printed.

    The time is the child's own, so that a busy machine changes nothing; one that sleeps ends too.
    """
    log, start = bytearray(), time.monotonic()
    pause, flags = (0.02, os.WNOHANG) if on_stop is None else (0.0005, os.WNOHANG | os.WUNTRACED)
    os.set_blocking(reader, False)
    try:
        while True:
            done, status = os.waitpid(child, flags)
            _drain(reader, log)
            if done and on_stop is not None and os.WIFSTOPPED(status):
                on_stop()
                os.kill(child, signal.SIGCONT)
                continue
            if done:
                return status, log.decode("utf-8", "replace")
            waited = time.monotonic() - start
            if waited > timeout and (waited > 10 * timeout or _cpu_seconds(child) > timeout):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None, log.decode("utf-8", "replace")
            select.select([reader], [], [], pause)
            time.sleep(pause / 10)
    finally:
        os.close(reader)


def _cpu_seconds(process: int) -> float:
    """What a process has used, all of its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _drain(reader: int, log: bytearray) -> None:
    with suppress(BlockingIOError):
        while data := os.read(reader, 1 << 16):
            log += data


def _child(
    argv: Sequence[str], folder: Path, output: int, before: Callable[[], None] | None
) -> None:
    code = CRASHED
    try:
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, output), (2, output)):
            os.dup2(source, target)
        # pytest replaces these; the command prints to the log.
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
        if before is not None:
            before()
        code = _command(list(argv))
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _command(argv: list[str]) -> int:
    from dialeval.commands import main

    recipe = argv[0] if argv and argv[0].endswith(".py") else ""
    sys.argv = [str(RECIPES / recipe), *argv[1:]] if recipe else ["dialeval", *argv]
    try:
        if recipe:
            try:
                runpy.run_path(sys.argv[0], run_name="__main__")
            except (Exception, KeyboardInterrupt) as error:  # a recipe sets the hook that ends it
                sys.excepthook(type(error), error, error.__traceback__)
                return 1
        else:
            main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def summary(title: str, outcomes: Iterable[tuple[str, Outcome]], most: int = 40) -> str:
    """Counts by kind, and the places that tracebacks come from, most frequent first."""
    pairs = list(outcomes)
    counts = Counter(outcome.kind for _, outcome in pairs)
    lines = [
        f"{title}: {len(pairs)} cases; " + ", ".join(f"{n} {k}" for k, n in counts.most_common())
    ]
    places: dict[str, list[str]] = {}
    for name, outcome in pairs:
        if outcome.kind not in GOOD:
            places.setdefault(f"{outcome.kind}: {outcome.origin}", []).append(name)
    ordered = sorted(places.items(), key=lambda item: -len(item[1]))
    for origin, names in ordered[:most]:
        lines.append(f"  {len(names):4d} x {origin}   e.g. {names[0][:160]}")
    if len(ordered) > most:
        lines.append(f"  and {len(ordered) - most} more")
    return "\n".join(lines)
