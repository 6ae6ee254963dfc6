"""Pairs to train, validate and test a discriminator on."""

import logging
from dataclasses import replace

import numpy as np

from dialeval.dialogues import (
    FILTERS,
    BadInput,
    Cut,
    Pairing,
    Passages,
    ReadOptions,
    ReadReport,
    by_author,
    read,
    split,
)
from dialeval.dialogues.columns import FIELDS, column_names
from dialeval.dialogues.types import text_hash
from dialeval.metrics.intervals import interval
from dialeval.training.discriminator_settings import DiscriminatorRun

logger = logging.getLogger(__name__)

PARTS = {"train": 0.8, "validation": 0.1, "test": 0.1}


def make_pairs(run: DiscriminatorRun, seed: int) -> dict[str, Passages]:
    """Training, validation and test pairs of a run's data, which share no dialogue."""
    if run.filter not in FILTERS:
        raise BadInput(f"unknown filter {run.filter!r}.", hint=f"Choose {', '.join(FILTERS)}.")
    options = ReadOptions(
        cut=Cut(run.context_turns), filters=FILTERS[run.filter], role=run.role, side="human",
        columns=column_names(run.column or [], FIELDS),
    )  # fmt: skip
    passages, report = read(run.data, options)
    warn_of_filtered(report, f"Filter {run.filter}", "--filter none")
    side = replace(options, side=run.system or "machine")
    machine = read(run.machine, side)[0] if run.machine else None
    if run.system:
        machine = by_author(passages if machine is None else machine, run.system)
    return pair_parts(passages, machine, run, seed)


def warn_of_filtered(report: ReadReport, rule: str, hint: str) -> None:
    """Warn of passages that were left out, with their number: few may remain.

    Args:
        report (`ReadReport`):
            Counts from reading.
        rule (`str`):
            What left them out.
        hint (`str`):
            The option that keeps them.
    """
    if report.filtered:
        left_out, left = f"{report.filtered:,}", f"{report.passages:,}"
        total = f"{report.filtered + report.passages:,}"
        logger.warning("%s: %s of %s passages are left out, and %s remain. %s keeps them all.",
                       rule, left_out, total, left, hint)  # fmt: skip


def pair_parts(
    passages: Passages, machine: Passages | None, run: DiscriminatorRun, seed: int
) -> dict[str, Passages]:
    """Training, validation and test pairs, drawn inside each part.

    Args:
        passages (`Passages`):
            Human responses.
        machine (`Passages`, *optional*):
            A system's responses on the same contexts, where the scenario needs them.
        run (`DiscriminatorRun`):
            Scenario, and how many pairs.
        seed (`int`):
            Seed of the parts and of the pairs.

    Returns:
        `dict[str, Passages]`: Pairs of `train`, `validation` and `test`.
    """
    pairing = Pairing(run.scenario, seed=seed)
    parts = split_parts(passages, seed)
    others = split_parts(machine, seed) if machine is not None else dict.fromkeys(PARTS)
    empty = [name for name in PARTS if not len(parts[name])]
    if empty:
        hint = "Give more dialogues."
        raise BadInput(f"no dialogue is left for {', '.join(empty)}.", run.data[0], hint=hint)
    pairs = {name: pairing(parts[name], others[name]) for name in PARTS}
    limits = {"train": run.max_pairs, "validation": run.max_eval_pairs, "test": run.max_eval_pairs}
    return {name: _subsample(pairs[name], limit, seed) for name, limit in limits.items()}


def split_parts(passages: Passages, seed: int) -> dict[str, Passages]:
    """The passages that a discriminator with this seed trains, validates and tests on."""
    # A salt of its own: a part that `dialeval data split` cut off with this very seed would
    # otherwise fall into one of these parts as a whole.
    return split(passages, PARTS, text_hash(["discriminator", str(seed)]) % 2**31)


def pair_accuracy(scores: np.ndarray, pairs: Passages) -> tuple[float, float, float, int]:
    """Share of pairs in which the human response scores higher; a tie counts half.

    Args:
        scores (`np.ndarray`):
            One per row, of which a higher one means human.
        pairs (`Passages`):
            Labelled pairs.

    Returns:
        `tuple[float, float, float, int]`: The share, its interval over dialogues, and the number of
        pairs.
    """
    labels, numbers = np.asarray(pairs["label"]), np.asarray(pairs["pair"])
    order = np.argsort(numbers, kind="stable")
    rows, others = (order[labels[order] == label] for label in (1, 0))
    correct = (scores[rows] > scores[others]) + 0.5 * (scores[rows] == scores[others])
    names, keys = pairs["dialogue_id"][:], pairs["id"][:]
    dialogues = [names[row] or keys[row] or f"#{row}" for row in rows.tolist()]
    low, high = interval(correct, dialogues, method="auto")
    return float(correct.mean()), low, high, len(correct)


def _subsample(pairs: Passages, limit: int, seed: int) -> Passages:
    """A random sample of pairs; all of them where the limit is below 1."""
    numbers = np.asarray(pairs["pair"])
    if not 0 < limit < len(numbers) // 2:
        return pairs
    chosen = np.random.default_rng(seed).permutation(len(numbers) // 2)[:limit]
    return pairs.select(np.flatnonzero(np.isin(numbers, chosen)))
