"""Where the time of an evaluation goes, against the floor: encoding every text once.

    python -m benchmarks.evaluate 100 1000 10000

Six systems and the embedded corpus: a system's reply is another dialogue's, with some of its words
left out, so that nearly all texts differ. Families of `stack` that were fitted to that corpus are
not used there. With `--dstc7` the contexts and systems are those of DSTC7 (1,000 at most), from
`../shared/data` or `DIALEVAL_SHARED_DATA`. Times of stages exclude the stages inside them. With
`--cpu` they are seconds of the processor, not of the clock, which says more on a machine that does
other work; set OMP_NUM_THREADS=1 for it.
"""

import os
import pkgutil
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from dialeval.dialogues import Passage, iterate, read, to_passages
from dialeval.dialogues.authors import by_author
from dialeval.models.embedding import CachedEmbedder, MiniLm
from dialeval.protocols.evaluation.inputs import EvaluationData, align
from dialeval.protocols.evaluation.study import evaluate
from dialeval.scorers.fitting import FitContext
from dialeval.settings.evaluation import EvaluationRun

SYSTEMS = 6
TEAMS = ("TeamA", "TeamB", "TeamCE", "TeamD", "TeamF", "TeamG")
EVALUATORS = ("stack", "surface")
STAGES = {
    "encoding": ("dialeval.models.embedding.MiniLm.states",),
    "features": ("dialeval.scorers.families.FeatureStore.matrix",),
    "fitting": (
        "dialeval.scorers.stack.fit_family",
        "dialeval.scorers.stack.fit_gaussian",
        "dialeval.scorers.stack.fit_bilinear",
        "dialeval.scorers.stack._combine",
    ),
    "inner folds": ("dialeval.scorers.families.make_folds",),
    "pairs": (
        "dialeval.protocols.evaluation.tables.scenario_folds",
        "dialeval.protocols.evaluation.folds.Folds.train",
    ),
}
"""Functions of each stage; what is left is `the rest`: tables, intervals, tests, files."""


class Stopwatch:
    """Seconds of nested stages, each without those inside it."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._stages: list[str] = []
        self._clock, self._since = clock, clock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time inside the block for a stage."""
        self._switch()
        self._stages.append(name)
        try:
            yield
        finally:
            self._switch()
            self._stages.pop()

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, counted for a stage."""

        def call(*args: Any, **options: Any) -> Any:
            with self.stage(name):
                return function(*args, **options)

        return call

    def _switch(self) -> None:
        now = self._clock()
        if self._stages:
            self.seconds[self._stages[-1]] += now - self._since
        self._since = now


def embedded(contexts: int) -> EvaluationData:
    """Contexts of the embedded corpus, and systems that give noisy replies of others."""
    passages, _ = read("chitchat")
    human = passages.select(range(0, len(passages), max(1, len(passages) // contexts)))
    rows = list(iterate(human.select(range(contexts))))
    return align(
        to_passages(rows), {f"bot{k}": to_passages(_answers(rows, k)) for k in range(SYSTEMS)}
    )


def _answers(rows: list[Passage], number: int) -> Iterator[Passage]:
    rng = random.Random(number)
    for row, other in zip(rows, rng.sample(rows, len(rows)), strict=True):
        words = [word for word in other.response.split() if rng.random() > 0.1 + 0.05 * number]
        yield row.with_response(" ".join(words) or "ok", f"bot{number}")


def dstc7(contexts: int) -> EvaluationData:
    """Contexts of DSTC7 and the six teams."""
    folder = Path(os.environ.get("DIALEVAL_SHARED_DATA", "../shared/data")) / "dstc7"
    passages, _ = read(folder)
    human = by_author(passages, "human")
    human = human.select(range(min(contexts, len(human))))
    return align(human, {name: by_author(passages, name) for name in TEAMS})


def measure(
    data: EvaluationData, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Seconds of each stage of one evaluation with default settings."""
    watch = Stopwatch(clock)
    fit_context = FitContext(embed=CachedEmbedder(MiniLm()))
    with tempfile.TemporaryDirectory() as folder, _patched(watch), watch.stage("the rest"):
        run = EvaluationRun(evaluators=list(EVALUATORS), output_dir=folder, overwrite=True)
        evaluate(data, run, fit_context=fit_context)
    return dict(watch.seconds)


@contextmanager
def _patched(watch: Stopwatch) -> Iterator[None]:
    """Every function of `STAGES`, timed."""
    patches = []
    for stage, paths in STAGES.items():
        for path in paths:
            original = pkgutil.resolve_name(_with_colon(path))
            patches.append(patch(path, watch.timed(stage, original)))
    for replacement in patches:
        replacement.start()
    try:
        yield
    finally:
        for replacement in patches:
            replacement.stop()


def _with_colon(path: str) -> str:
    """`package.module:object`, where the object starts at the first capital or the last dot.

    Examples:
        >>> _with_colon("a.b.Class.method"), _with_colon("a.b.function")
        ('a.b:Class.method', 'a.b:function')
    """
    parts = path.split(".")
    at = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    return f"{'.'.join(parts[:at])}:{'.'.join(parts[at:])}"


def main(
    sizes: Sequence[int] = (100, 1_000),
    source: Callable[[int], EvaluationData] = embedded,
    clock: Callable[[], float] = time.process_time,
) -> dict[int, dict[str, float]]:
    """Print the seconds of each stage, its share, and all but encoding over encoding."""
    table = Table(title=f"{SYSTEMS} systems by {' and '.join(EVALUATORS)}: seconds (share)")
    for column in ("contexts", "encoding", *list(STAGES)[1:], "the rest", "all / encoding - 1"):
        table.add_column(column, justify="right")
    results = {}
    for size in sizes:
        seconds = results[size] = measure(source(size), clock)
        total = sum(seconds.values())
        cells = (
            f"{seconds.get(name, 0):.1f} ({seconds.get(name, 0) / total:.0%})"
            for name in (*STAGES, "the rest")
        )
        table.add_row(f"{size:,}", *cells, f"{total / seconds['encoding'] - 1:.2f}")
    Console().print(table)
    return {
        size: {"everything / encoding": sum(seconds.values()) / seconds["encoding"]}
        for size, seconds in results.items()
    }


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:] if text.isdigit()]
    main(
        given or (100, 1_000),
        dstc7 if "--dstc7" in sys.argv else embedded,
        time.process_time if "--cpu" in sys.argv else time.perf_counter,
    )
