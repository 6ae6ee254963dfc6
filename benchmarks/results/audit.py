"""Coverage of `dialeval audit` on planted mixtures of real human and machine replies.

`python -m benchmarks.results.audit [SOURCE ...]` needs ../shared/data (or DIALEVAL_SHARED_DATA).
DIALEVAL_AUDIT_REPEATS sets how often each mixture is planted.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from dialeval.dialogues import Passages, by_author, read, to_passages
from dialeval.dialogues.storage import iterate
from dialeval.metrics.audit_results import KNOWN_ONLY, NEITHER, AuditResults
from dialeval.protocols.audit import audit
from dialeval.protocols.evaluation.evaluators import FitContext
from dialeval.settings.audit import AuditRun

SHARED = Path(os.environ.get("DIALEVAL_SHARED_DATA", "../shared/data"))
SHARES = (0.0, 0.05, 0.2, 0.5)
SOURCES = {  # folder, machine of the file, machine of the data, dialogues: known, data
    "DSTC7, TeamB": ("dstc7", "TeamB", "TeamB", 200, 400),
    "EmpatheticDialogues, MIME": ("empathetic_outputs/mime.txt", "topk", "topk", 200, 400),
    "DSTC7, TeamG": ("dstc7", "TeamG", "TeamG", 200, 400),
    "DSTC7, TeamB known, TeamG planted": ("dstc7", "TeamB", "TeamG", 200, 400),
    "DSTC7, TeamG known, TeamF planted": ("dstc7", "TeamG", "TeamF", 200, 400),
    "DSTC7, TeamD known, TeamA planted": ("dstc7", "TeamD", "TeamA", 200, 400),
    "EmpatheticDialogues, MoEL known, its baseline planted": (
        "empathetic_outputs/moel.txt", "moe", "trs", 200, 400,
    ),
}  # fmt: skip


def plant(
    human: Passages,
    machine: Passages,
    other: Passages,
    sizes: tuple[int, int],
    share: float,
    seed: int,
) -> tuple[Passages, Passages, Passages, float]:
    """Data with a share of machine dialogues, a reference, machine replies, and the true share.

    Args:
        human, machine, other (`Passages`):
            Human replies, those of the known machine, and those of the planted one.
        sizes (`tuple[int, int]`):
            Dialogues of each known sample, and of the data.
        share (`float`):
            Share of the data's dialogues that the machine answers.
        seed (`int`):
            Seed of the draw.

    Returns:
        `tuple`: No dialogue is in two samples.
    """
    ids = sorted(set(human["dialogue_id"][:]) & set(machine["dialogue_id"][:]))
    order = np.random.default_rng(seed).permutation(ids)
    known, drawn = sizes
    data = order[2 * known : 2 * known + drawn]
    planted = round(share * len(data))
    parts = [_of(human, data[planted:]), _of(other, data[:planted])]
    count = [len(part) for part in parts]
    mixed = to_passages(passage for part in parts for passage in iterate(part))
    reference, machines = _of(human, order[:known]), _of(machine, order[known : 2 * known])
    return mixed, reference, machines, count[1] / sum(count)


def _of(passages: Passages, dialogues: np.ndarray) -> Passages:
    return passages.select(np.flatnonzero(np.isin(passages["dialogue_id"][:], dialogues)))


def repeat(
    source: str, share: float, repeats: int, settings: AuditRun
) -> list[tuple[AuditResults, float]]:
    """Audits of data with a planted share, and the true shares.

    Args:
        source (`str`):
            One of `SOURCES`.
        share (`float`):
            The share to plant.
        repeats (`int`):
            How often.
        settings (`AuditRun`):
            Settings of the audits.

    Returns:
        `list`: Pairs of results and truth.
    """
    path, known, planted, *sizes = SOURCES[source]
    passages = read(str(SHARED / path))[0]
    human, machine, other = (by_author(passages, name) for name in ("human", known, planted))
    context, rows = FitContext(), []
    for number in range(repeats):
        data, reference, machines, truth = plant(
            human, machine, other, (sizes[0], sizes[1]), share, 1000 * number + int(100 * share)
        )
        rows.append((audit(data, reference, machines, settings, fit_context=context), truth))
    return rows


def main() -> None:
    """Print bias, error, coverage and width of the interval for every source and share."""
    repeats = int(os.environ.get("DIALEVAL_AUDIT_REPEATS", "20"))
    print(
        "| data | planted | mean estimate | RMSE | covered | width | no share | another machine |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for source in sys.argv[1:] or SOURCES:
        for share in SHARES:
            with tempfile.TemporaryDirectory() as folder:
                settings = AuditRun(output_dir=folder, overwrite=True, seeds=2)
                rows = repeat(source, share, repeats, settings)
            _print_row(source, share, rows)


def _print_row(source: str, share: float, rows: list[tuple[AuditResults, float]]) -> None:
    numbers = [(item.results[0], truth) for item, truth in rows]
    error = np.array([result.value - truth for result, truth in numbers])
    covered = [result.low <= truth <= result.high for result, truth in numbers]
    width = np.mean([result.high - result.low for result, _ in numbers])
    refused = sum(item.kind == KNOWN_ONLY for item, _ in rows)
    unexplained = [
        check.value for item, _ in rows for check in item.checks if check.name == NEITHER
    ]
    print(
        f"| {source} | {share:.0%} | {np.mean([result.value for result, _ in numbers]):.3f} | "
        f"{np.sqrt((error**2).mean()):.3f} | {sum(covered)} of {len(covered)} | {width:.3f} | "
        f"{refused} of {len(rows)} | {np.mean(unexplained):.3f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
