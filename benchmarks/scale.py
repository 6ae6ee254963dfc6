"""CPU seconds per million passages of every stage that needs no network, over sharded Parquet.

The corpus is invented (as in `benchmarks.passages`), in shards of equal size; sizes grow by ten, so
that a cost that grows faster than the corpus would show.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.passages import write_corpus

SHARDS = 4
FITTED = 2_000
_KINDS = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def write_shards(folder: Path, passages: int) -> list[str]:
    """Parquet files with the passages, in parts of equal size."""
    import pyarrow.json as arrow_json
    import pyarrow.parquet as parquet

    whole = folder / "whole.jsonl"
    write_corpus(whole, passages)
    table, size = arrow_json.read_json(whole), -(-passages // SHARDS)
    whole.unlink()
    paths = []
    for number in range(SHARDS):
        paths.append(str(folder / f"part-{number:05d}.parquet"))
        parquet.write_table(table.slice(number * size, size), paths[-1])
    return paths


def stages(paths: list[str]) -> dict[str, float]:
    """CPU seconds of each stage, children included."""
    from dialeval.dialogues import Filters, Pairing, ReadOptions, read, split
    from dialeval.scorers.linear import SvmScorer
    from dialeval.scorers.scoring import score_passages

    seconds: dict[str, float] = {}

    def timed(name: str, run: Callable[[], Any]) -> Any:
        start = _cpu()
        result = run()
        seconds[name] = _cpu() - start
        return result

    options = ReadOptions(filters=Filters(min_response=3))
    passages, _ = timed("read and filter", lambda: read(paths, options))
    parts = timed("split", lambda: split(passages))
    timed("pair", lambda: Pairing("human_random")(parts["generator"]))
    few = Pairing("human_random")(passages.select(range(min(FITTED, len(passages)))))
    scorer = SvmScorer.fit(few)
    timed("score, svm-unigram", lambda: score_passages(scorer, passages))
    return seconds


def _cpu() -> float:
    usages = (resource.getrusage(kind) for kind in _KINDS)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main(sizes: tuple[int, ...] = (10_000, 100_000)) -> dict[int, dict[str, float]]:
    """Print seconds per million; returns the cost per passage over that at the smallest size."""
    table = Table("passages", "stage", "CPU seconds", "per million", title="Sharded Parquet")
    costs: dict[int, dict[str, float]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            paths = write_shards(Path(folder), size)
            Console().print(f"{size:,} passages written in {time.process_time() - start:.0f} s")
            seconds = stages(paths)
        costs[size] = {name: value / size for name, value in seconds.items()}
        for name, value in seconds.items():
            table.add_row(f"{size:,}", name, f"{value:.2f}", f"{value / size * 1e6:,.0f}")
    Console().print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    Console().print(f"peak resident memory {peak:,.0f} MiB")
    first = costs[sizes[0]]
    return {
        size: {f"cost per passage, {name}": cost / first[name] for name, cost in of_size.items()}
        for size, of_size in costs.items()
    }


if __name__ == "__main__":
    main(tuple(int(text) for text in sys.argv[1:]) or (10_000, 100_000))
