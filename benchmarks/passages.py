"""Memory and speed of reading, filtering, splitting and pairing synthetic passages.

The baseline is the same job with a list of Python objects; `json.loads` alone parses the lines and
keeps nothing. Seconds of the processor and peak memory are measured in a separate process for each
row, start-up included: `anonymous` is the private memory of the process, `resident` also counts the
mapped pages of Arrow files, which the system may reclaim at any time.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

WORDS = [f"w{number}" for number in range(5000)]
SIZES = (100_000, 1_000_000)


def write_corpus(path: Path, passages: int, per_dialogue: int = 5) -> None:
    """A JSON-lines file of invented passages."""
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(passages):
            turns = [" ".join(rng.choices(WORDS, k=rng.randint(3, 20))) for _ in range(3)]
            dialogue, turn = divmod(number, per_dialogue)
            record = {
                "id": f"d{dialogue}#{turn}",
                "dialogue_id": f"d{dialogue}",
                "context": turns[:2],
                "response": turns[2],
            }
            file.write(json.dumps(record) + "\n")


def job(path: str, num_proc: int) -> None:
    """Read, filter, split into three parts, and pair one of them."""
    from dialeval.dialogues import Filters, Pairing, ReadOptions, read, split

    options = ReadOptions(filters=Filters(min_response=5), num_proc=num_proc)
    passages, report = read(path, options)
    parts = split(passages)
    pairs = Pairing("human_random")(parts["generator"])
    print(json.dumps({"passages": report.passages, "pairs": len(pairs)}), file=sys.stderr)


def baseline(path: str, num_proc: int) -> None:
    """The same with plain objects: every passage alive at once."""
    from dialeval.dialogues import Filters, Passage, Source, Turn, part_of
    from dialeval.dialogues.readers.tables import passage_record

    keep, passages, source = Filters(min_response=5), [], Source(Path(path))
    with open(path, encoding="utf-8") as file:
        for line in file:
            dialogue = passage_record(json.loads(line), source)
            reply = dialogue.replies[0]
            context = tuple(Turn(turn.speaker, turn.text) for turn in dialogue.turns)
            passage = Passage(context, reply.text, id=reply.id, dialogue_id=dialogue.id)
            if keep(passage):
                passages.append(passage)
    part = [kept for kept in passages if part_of(kept.dialogue_id) == "generator"]
    shuffled = random.Random(0).sample(part, len(part))
    pairs = part + [
        kept.with_response(other.response, "random")
        for kept, other in zip(part, shuffled, strict=True)
    ]
    print(json.dumps({"passages": len(passages), "pairs": len(pairs)}), file=sys.stderr)


def parse(path: str, num_proc: int) -> None:
    """What both ways do at least."""
    from dialeval.dialogues import read  # noqa: F401  so that start-up is the same

    with open(path, encoding="utf-8") as file:
        print(sum(len(json.loads(line)) for line in file), file=sys.stderr)


def measure(name: str, path: Path, num_proc: int = 1) -> dict[str, float]:
    """Seconds and peak memory of a job in a separate process, children included."""
    import psutil

    command = [sys.executable, "-m", "benchmarks.passages", name, str(path), str(num_proc)]
    start, before = time.perf_counter(), _children_cpu()
    process = psutil.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    peaks = {"anonymous": 0, "resident": 0}
    while process.poll() is None:
        try:
            family = [process, *process.children(recursive=True)]
            infos = [member.memory_info() for member in family]
        except psutil.Error:
            continue
        anonymous = sum(info.rss - info.shared for info in infos)
        peaks["anonymous"] = max(peaks["anonymous"], anonymous)
        peaks["resident"] = max(peaks["resident"], sum(info.rss for info in infos))
        time.sleep(0.02)
    if process.returncode:
        raise RuntimeError(process.stderr.read().decode())
    seconds = time.perf_counter() - start
    cpu = _children_cpu() - before
    return {"seconds": seconds, "cpu": cpu, **{key: v / 2**20 for key, v in peaks.items()}}


def _children_cpu() -> float:
    """Seconds of the processor of all processes that were started here and ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(sizes: tuple[int, ...] = SIZES) -> dict[int, dict[str, float]]:
    """Print a table over sizes and ways; returns ratios of the list to the stream."""
    table = Table("passages", "way", "seconds", "CPU seconds", "anonymous MiB", "resident MiB")
    table.title = "Read, filter, split, pair"
    ratios: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.jsonl"
            write_corpus(path, size)
            measurements = {}
            for way, name, processes in (
                ("a list of objects", "baseline", 1),
                ("stream", "job", 1),
                ("stream, num_proc=2", "job", 2),
                ("json.loads alone", "parse", 1),
            ):
                measured = measurements[way] = measure(name, path, processes)
                table.add_row(
                    f"{size:,}",
                    way,
                    f"{measured['seconds']:.1f}",
                    f"{measured['cpu']:.1f}",
                    f"{measured['anonymous']:.0f}",
                    f"{measured['resident']:.0f}",
                )
            stream, objects = measurements["stream"], measurements["a list of objects"]
            two, parsing = measurements["stream, num_proc=2"], measurements["json.loads alone"]
            ratios[size] = {
                "memory of a list of objects": objects["anonymous"] / stream["anonymous"],
                "CPU seconds of a list of objects": objects["cpu"] / stream["cpu"],
                "clock with num_proc=2": two["seconds"] / stream["seconds"],
                "CPU seconds of json.loads alone": parsing["cpu"] / stream["cpu"],
            }
    Console().print(table)
    return ratios


if __name__ == "__main__":
    if len(sys.argv) == 4:
        {"job": job, "baseline": baseline, "parse": parse}[sys.argv[1]](
            sys.argv[2], int(sys.argv[3])
        )
    else:
        main()
