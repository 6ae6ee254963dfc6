"""What to do next about a system: the command that helps most with its verdict."""

import shlex
from dataclasses import dataclass
from itertools import pairwise

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INCONCLUSIVE,
    EvaluationResults,
    Verdict,
)
from dialeval.reports.format import format_count, one_line

_FOLDER = ("-o", "--output-dir")
_READING = (
    "--role", "--human-role", "--system-role", "--column", "--input-format", "-f",
    "--turn-separator", "--context-turns", "-k", "--responses", "--filter",
    "--min-response", "--max-response", "--min-context", "--max-context", "--forbid",
)  # fmt: skip
"""Options with a value that say how files are read."""


@dataclass(frozen=True)
class NextStep:
    """What to do next.

    Args:
        text (`str`):
            In words.
        command (`str`):
            As a command.
        change (`str`, *optional*):
            How the command differs from that of the run, where it is the same but for that.
    """

    text: str
    command: str
    change: str = ""

    @property
    def line(self) -> str:
        """One line for the terminal, where the command of the run stands above it."""
        return self.change or self.command


def next_step(results: EvaluationResults, verdict: Verdict, by_format: bool) -> NextStep:
    """The command that helps most with this verdict.

    It repeats the command of the run where that is known; else names of files are examples.

    Args:
        results (`EvaluationResults`):
            Results of the run.
        verdict (`Verdict`):
            The verdict.
        by_format (`bool`):
            Whether the format gives the system away.

    Returns:
        `NextStep`: In words and as a command.
    """
    name = one_line(verdict.system)
    given = shlex.split(str(results.settings.get("command") or ""))
    folder = str(results.settings.get("output_dir") or "runs/evaluation")
    if by_format and "--pairs" in given:  # one table has both sides
        added = ["-o", f"{folder}-2"]
        change = f"write both columns in one format, then the same with {shlex.join(added)}"
        text = "Write both columns in one format, and evaluate the new table:"
        return NextStep(text, shlex.join([*_without_folder(given), *added]), change)
    if by_format:
        text = "Write both sides in one format, then evaluate the new files:"
        human, system = _file(given, "human") or "human.jsonl", _system_file(given, name)
        words = ["dialeval", "data", "leaks", human, system, "--normalise"]
        return NextStep(text, shlex.join([*words, *_reading(given)]))
    if verdict.verdict == DISTINGUISHABLE:
        text = "Change what gives it away, and evaluate the new replies beside the old ones:"
        newer = f"{name}-2={'NEW_COLUMN' if '--pairs' in given else f'{name}-2.jsonl'}"
        start = given or [*_example(name), "-o", folder]
        added = ["--system", newer]
        change = f"change it, then the same command with {shlex.join(added)}" if given else ""
        return NextStep(text, shlex.join([*start, *added]), change)
    if verdict.verdict == INCONCLUSIVE or not verdict.verdict:
        return _more_contexts(given, name, folder, verdict.n)
    command = shlex.join(
        ["dialeval", "annotate", *_human_source(given), "--from-run", folder, "--task", "real"]
    )
    return NextStep("Ask people whether they notice a difference:", command)


def _example(name: str) -> list[str]:
    return ["dialeval", "evaluate", "--human", "human.jsonl", "--system", f"{name}={name}.jsonl"]


def _more_contexts(given: list[str], name: str, folder: str, n: int | None) -> NextStep:
    more = str(2 * n if n else 1000)
    target = ["-o", f"{folder}-2"]
    if "--limit" in given[:-1]:
        at = given.index("--limit")
        start = _without_folder([*given[:at], *given[at + 2 :]])
        added = ["--limit", more, *target]
        change = f"the same command with {shlex.join(added)}"
        return NextStep("Evaluate more contexts:", shlex.join([*start, *added]), change)
    text = f"Collect more replies, and evaluate at least {format_count(float(more))} contexts:"
    command = shlex.join([*(_without_folder(given) or _example(name)), *target])
    change = f"the same command with {format_count(float(more))} contexts and {shlex.join(target)}"
    return NextStep(text, command, change if given else "")


def _without_folder(given: list[str]) -> list[str]:
    at = next((index for index, word in enumerate(given) if word in _FOLDER), None)
    return given if at is None else [*given[:at], *given[at + 2 :]]


def _file(given: list[str], option: str) -> str:
    """The value of an option; empty where the command does not have it."""
    name = f"--{option}"
    return given[given.index(name) + 1] if name in given[:-1] else ""


def _reading(given: list[str]) -> list[str]:
    """The options of the command that say how files are read."""
    return [word for pair in pairwise(given) if pair[0] in _READING for word in pair]


def _human_source(given: list[str]) -> list[str]:
    """How the human replies of a run are read by a command that takes files."""
    human = _file(given, "human")
    if "--pairs" not in given:
        return [human or "human.jsonl", *_reading(given)]
    context = _file(given, "context") or "context"
    columns = ["--column", f"context={context}", "--column", f"response={human}"]
    return [_file(given, "pairs"), *columns]


def _system_file(given: list[str], system: str) -> str:
    """The file of a system, as the command names it."""
    start = f"{system}="
    specs = (word for word in given if word.startswith(start))
    return next(specs, f"{start}{system}.jsonl").removeprefix(start)
