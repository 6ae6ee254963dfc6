"""Every two systems of one or several runs, and groups of systems that do not differ."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dialeval.dialogues.sources import BadInput
from dialeval.metrics.comparison_results import Comparison, Pair, SystemSummary
from dialeval.protocols.comparison.decisions import (
    HINT,
    Decisions,
    read_decisions,
    select_names,
)
from dialeval.protocols.comparison.pairs import compare_pairs, differing_parts

logger = logging.getLogger(__name__)


def compare_runs(
    folders: Sequence[Path | str],
    evaluators: Sequence[str] = (),
    *,
    resamples: int = 10_000,
    seed: int = 0,
    alpha: float = 0.05,
) -> Comparison:
    """Every two systems compared in AdverSuc on the contexts that both answered.

    Intervals and p-values are conditional on the trained evaluators. The order of folders and of
    systems in them does not matter.

    Args:
        folders (`Sequence[Path]`):
            Output folders of evaluations.
        evaluators (`Sequence[str]`, *optional*):
            Evaluators to use; by default all but the references coin and length.
        resamples (`int`, *optional*, defaults to 10000):
            Resamples of bootstrap and randomisation.
        seed (`int`, *optional*, defaults to 0):
            Their seed.
        alpha (`float`, *optional*, defaults to 0.05):
            Level of significance, after Holm's correction.

    Returns:
        `Comparison`: All pairs and groups.

    Raises:
        BadInput: A folder holds no run, or nothing can be compared.
    """
    entries = read_decisions(folders)
    settings = {"resamples": resamples, "seed": seed, "alpha": alpha}
    test = {"test": "approximate-randomisation+holm", **settings}
    comparison = Comparison([], [], {}, [], [], test)
    for evaluator in select_names(evaluators, [row.evaluator for row in entries], "evaluator"):
        rows = [entry for entry in entries if entry.evaluator == evaluator]
        comparison.systems.extend(map(_summary, rows))
        comparison.notes.extend(_one_sided_notes(rows))
        if len(rows) < 2:
            note = f"{evaluator} evaluated only {rows[0].label}: nothing to compare."
            comparison.notes.append(note)
            continue
        comparison.warnings.extend(_evaluator_warnings(rows))
        pairs = compare_pairs(rows, comparison.notes, resamples, seed, alpha)
        comparison.groups[evaluator] = indistinct_groups(rows, pairs)
        comparison.pairs.extend(pairs)
    _check_not_empty(comparison)
    comparison.warnings.extend(_leak_warnings(entries))
    for warning in comparison.warnings:
        logger.warning(warning)
    return comparison


def indistinct_groups(entries: Sequence[Decisions], pairs: Iterable[Pair]) -> list[list[str]]:
    """Largest sets of systems without a significant difference, highest AdverSuc first.

    Systems without common contexts may be in one set: their difference is unknown.
    """
    order = sorted(entries, key=lambda entry: -entry.successes.mean() if len(entry.ids) else 0)
    names = [entry.label for entry in order]
    different = {frozenset((pair.first, pair.second)) for pair in pairs if pair.significant}
    sets: list[frozenset[str]] = []
    for name in names:  # every set also continues without those that differ from the new one
        alike = frozenset(other for other in names if frozenset((name, other)) not in different)
        grown = {group & alike | {name} for group in sets} | {frozenset((name,))} | set(sets)
        sets = [group for group in grown if not any(group < other for other in grown)]
    groups = (sorted(group, key=names.index) for group in sets)
    return sorted(groups, key=lambda group: [names.index(name) for name in group])


def _summary(entry: Decisions) -> SystemSummary:
    value = float(entry.successes.mean()) if len(entry.ids) else None
    names = (entry.label, entry.run, entry.system, entry.evaluator)
    normalised = None if entry.normalised is None else float(entry.normalised.value)
    bounds = _interval(entry, value)
    return SystemSummary(*names, value, len(entry.ids), *bounds, entry.leak, normalised)


def _interval(entry: Decisions, value: float | None) -> tuple[float | None, float | None]:
    """The interval of the run, where it is about the same contexts."""
    row = entry.adversuc
    if row is None or value is None or not np.isclose(row.value, value, atol=1e-6):
        return None, None
    bounds = row.low, row.high
    return bounds if np.isfinite(bounds).all() else (None, None)


def _one_sided_notes(entries: Sequence[Decisions]) -> Iterator[str]:
    for entry in entries:
        if entry.one_sided:
            yield (
                f"{entry.label}, evaluated by {entry.evaluator}: {entry.one_sided:,} contexts "
                "without a human or without a machine response are left out."
            )


def _evaluator_warnings(entries: Sequence[Decisions]) -> Iterator[str]:
    """A sentence for each setting that differs between evaluators of the same name."""
    for key, labels_by_value in differing_parts(entries).items():
        values = (f"{value} for {_first(labels)}" for value, labels in labels_by_value.items())
        name = entries[0].evaluator
        yield f"{name} was not set up the same way everywhere: {key} is {'; '.join(values)}."


def _leak_warnings(entries: Sequence[Decisions]) -> list[str]:
    """A sentence for each system that one rule about the format distinguishes from humans."""
    leaks = {entry.label: entry.leak for entry in entries if entry.leak is not None}
    return [
        f"{label} has a format leak: “{leak.rule}” alone is right in {100 * leak.accuracy:.0f} of "
        "100 cases. Its rank may be that of its format: evaluate with --normalise on."
        for label, leak in leaks.items()
    ]


def _first(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _check_not_empty(comparison: Comparison) -> None:
    """Raise an error that says why, where no two systems could be compared."""
    if comparison.pairs:
        return
    systems = sorted({row.label for row in comparison.systems})
    if not systems:
        message = "no evaluator but coin or length compared a system with humans here."
        raise BadInput(message, hint=HINT)
    if not comparison.groups:
        message = f"only one system per evaluator: {', '.join(systems)}."
        raise BadInput(message, hint="Give another run, or evaluate two systems in one.")
    hint = "Evaluate both systems on the same --human file."
    raise BadInput(f"no common contexts. {' '.join(comparison.notes)}", hint=hint)
