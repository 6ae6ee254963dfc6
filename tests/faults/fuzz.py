"""The fuzz harness: `python -m tests.faults.fuzz 2500` prints how bad inputs end.

`--seed 7` draws other cases, `--part 2/5` runs the second fifth of them, and `--log cases.jsonl`
writes down how each ended, so that the accepted ones can be read.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.faults import cases, harness, material

_DEVICES = ("/dev/null", "/dev/full")
"""Outputs of some cases; root can replace them."""


def fuzz(
    folder: Path, most: int, seed: int = 0, seconds: float = 1e9
) -> list[tuple[str, harness.Outcome]]:
    """Run bad inputs of all groups, in turn.

    Args:
        folder (`Path`):
            Working folder; the material is in it.
        most (`int`):
            Number of cases.
        seed (`int`, *optional*, defaults to 0):
            Of the mutations and their order.
        seconds (`float`, *optional*):
            Stops after this time.

    Returns:
        `list[tuple[str, Outcome]]`: Name of each case, and how it ended.
    """
    return run_all(folder, draw(folder, most, seed), seconds)


def run_all(
    folder: Path, drawn: list[cases.Case], seconds: float = 1e9, log: Path | None = None
) -> list[tuple[str, harness.Outcome]]:
    """Run cases, one after the other.

    Args:
        folder (`Path`):
            Working folder; the material is in it.
        drawn (`list[Case]`):
            The cases.
        seconds (`float`, *optional*):
            Stops after this time.
        log (`Path`, *optional*):
            JSON lines to which the end of each case is added.

    Returns:
        `list[tuple[str, Outcome]]`: Name of each case, and how it ended.
    """
    start, outcomes = time.monotonic(), []
    for case in drawn:
        if time.monotonic() - start > seconds:
            break
        cases.prepare(case, folder, folder / "case")
        outcome = harness.run(
            case.argv, folder / "case", timeout=case.patience, before=case.before,
            refuse=case.refuse,
        )  # fmt: skip
        outcomes.append((case.name, outcome))
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": case.name, **vars(outcome)}) + "\n")
        if outcome.kind not in harness.GOOD:
            print(f"{len(outcomes)}: {outcome.kind}: {outcome.origin}   {case.name}", flush=True)
        elif not len(outcomes) % 100:
            print(
                f"{len(outcomes)} of {len(drawn)} after {time.monotonic() - start:.0f} s",
                flush=True,
            )
    return outcomes


def broken_bases(folder: Path) -> list[str]:
    """The commands to which hostile options are added, if they do not work without them."""
    broken = []
    for name, command in cases.BASES.items():
        cases.prepare(cases.Case(name, tuple(command.split()), {}), folder, folder / "case")
        outcome = harness.run(command.split(), folder / "case", timeout=120)
        broken += [f"{name}: {outcome.log[-300:]}"] if outcome.code not in (0, 1) else []
    return broken


def draw(folder: Path, most: int, seed: int) -> list[cases.Case]:
    """Cases of all groups, in random order; with further seeds until there are enough."""
    drawn: list[cases.Case] = []
    while len(drawn) < most:
        rng = random.Random(seed + 7919 * len(drawn))
        batch = [case for group in cases.GROUPS for case in group(folder, rng)]
        rng.shuffle(batch)
        drawn += batch
    return drawn[:most]


def main(words: list[str]) -> int:
    """Print the counts; the exit code says whether all ended well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("most", type=int, nargs="?", default=2500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args(words)
    part, parts = map(int, given.part.split("/"))
    harness.warm_up()
    with tempfile.TemporaryDirectory(prefix="dialeval-fuzz-") as name:
        print("material:", material.build(Path(name)))
        print("commands that do not work:", broken_bases(Path(name)) or "none", flush=True)
        drawn = draw(Path(name), given.most, given.seed)[part - 1 :: parts]
        outcomes = run_all(Path(name), drawn, log=given.log)
    print(harness.summary("bad inputs", outcomes, 400))
    slow = sorted(outcomes, key=lambda pair: -pair[1].seconds)[:10]
    print("slowest:", *(f"{o.seconds:.1f} s {n[:150]}" for n, o in slow), sep="\n  ")
    replaced = [name for name in _DEVICES if not Path(name).is_char_device()]
    if replaced:
        print("a case has put a file in place of", *replaced)
    return int(bool(replaced) or any(o.kind not in harness.GOOD for _, o in outcomes))


if __name__ == "__main__":
    import tests.conftest  # noqa: F401  # offline, with a fresh cache

    sys.exit(main(sys.argv[1:]))
