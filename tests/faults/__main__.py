"""`python -m tests.faults` (`make chaos`): every part, whole, with its time and how it ended.

`--logs FOLDER` keeps what each part printed, and how each bad input ended.
"""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

PARTS = {
    "bad inputs": ["-m", "tests.faults.fuzz", "2500"],
    "kills": ["-m", "tests.faults.kills"],
    "two at once": ["-m", "tests.faults.twice"],
    "load": ["-m", "tests.faults.load"],
    "tests": [
        "-m", "pytest", "tests/faults", "tests/hub/test_hostile.py", "tests/hub/test_faults.py",
    ],
}  # fmt: skip


def cpu_seconds() -> float:
    """What the parts have used until now, with all of their processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(name: str, words: list[str], logs: Path | None) -> bool:
    """Run one part, print its output, and return whether all ended well."""
    print(f"== {name}: {' '.join(words)}", flush=True)
    start, cpu = time.monotonic(), cpu_seconds()
    with subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            if logs is not None:
                with (logs / f"{name}.txt").open("a", encoding="utf-8") as file:
                    file.write(line)
    print(
        f"== {name}: exit code {process.returncode}, {cpu_seconds() - cpu:.0f} CPU seconds in "
        f"{time.monotonic() - start:.0f} s",
        flush=True,
    )
    return process.returncode == 0


def main(words: list[str]) -> int:
    """Run all parts, or those that are named; the exit code says whether all ended well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="part")
    parser.add_argument("--logs", type=Path)
    given = parser.parse_args(words)
    if given.logs is not None:
        given.logs.mkdir(parents=True, exist_ok=True)
    bad = []
    for name in given.parts or PARTS:
        log = ["--log", str(given.logs / "cases.jsonl")] if given.logs else []
        more = log if name == "bad inputs" else []
        if not run(name, [*PARTS[name], *more], given.logs):
            bad.append(name)
    print(f"chaos: {cpu_seconds():.0f} CPU seconds; {', '.join(bad) or 'nothing'} failed")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
