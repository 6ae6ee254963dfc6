"""Two systems compared in AdverSuc on the contexts that both answered."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.stats import norm

from dialeval.metrics.comparison_results import Pair
from dialeval.metrics.paired import (
    McNemarResult,
    approximate_randomisation,
    mcnemar,
    paired_bootstrap,
)
from dialeval.metrics.significance import holm
from dialeval.protocols.comparison.decisions import Decisions, signature_parts

POWER = 0.8
_STEP = 0.5  # what one decision about one context changes: human and machine weigh half each


@dataclass(frozen=True, eq=False)
class _Common:
    """Two systems and the rows of their common contexts.

    Args:
        first_index, second_index (`np.ndarray`):
            Rows of the same contexts in both.
        other_responses (`int`):
            Ids in both that have another human response, so that they are not the same context.
    """

    first: Decisions
    second: Decisions
    first_index: np.ndarray
    second_index: np.ndarray
    other_responses: int


def compare_pairs(
    entries: Sequence[Decisions], notes: list[str], resamples: int, seed: int, alpha: float
) -> list[Pair]:
    """Every two systems of one evaluator.

    Args:
        entries (`Sequence[Decisions]`):
            Its systems.
        notes (`list[str]`):
            Gets a sentence about every context that is left out.
        resamples (`int`):
            Resamples of bootstrap and randomisation.
        seed (`int`):
            Their seed.
        alpha (`float`):
            Level of significance after Holm's correction.

    Returns:
        `list[Pair]`: Largest difference first.
    """
    matched = [_common_contexts(first, second) for first, second in combinations(entries, 2)]
    notes.extend(filter(None, map(_left_out_note, matched)))
    comparable = [common for common in matched if len(common.first_index)]
    share = alpha / max(1, len(comparable))  # Holm's level for the smallest p-value
    if 1 / (resamples + 1) > share:
        notes.append(f"{resamples} resamples cannot show a p-value of {share:.2g}: use more.")
    pairs = [_compare(common, resamples, seed, share) for common in comparable]
    adjusted = holm([pair.p for pair in pairs])
    pairs = [
        replace(pair, p_holm=float(p), significant=bool(p <= alpha))
        for pair, p in zip(pairs, adjusted, strict=True)
    ]
    return sorted(pairs, key=lambda pair: (-pair.difference, pair.first, pair.second))


def detectable_difference(
    differences: np.ndarray, groups: np.ndarray, alpha: float = 0.05, power: float = POWER
) -> float | None:
    """The smallest true difference that this many dialogues detect with the given power.

    From the normal limit and the spread between dialogues; at least what the exact test needs,
    where hardly any decision differs.

    Args:
        differences (`np.ndarray`):
            Difference of AdverSuc on each context.
        groups (`np.ndarray`):
            Dialogue of each context.
        alpha (`float`, *optional*, defaults to 0.05):
            Level of significance.
        power (`float`, *optional*, defaults to 0.8):
            Probability of a significant result.

    Returns:
        `float` or `None`: `None` if no difference could be significant.

    Examples:
        >>> detectable_difference(np.zeros(5), np.arange(5)) is None  # 2 / 2^5 > .05
        True
        >>> detectable_difference(np.zeros(100), np.arange(100))  # 6 decisions, half a point each
        0.03
    """
    unit = np.unique(groups, return_inverse=True)[1]
    sums, sizes = np.bincount(unit, differences), np.bincount(unit)
    needed = math.ceil(1 - math.log2(alpha))  # dialogues that must all have the same sign
    if len(sums) < needed:
        return None
    spread = np.square(sums - differences.mean() * sizes).sum() * len(sums) / (len(sums) - 1)
    by_spread = (norm.isf(alpha / 2) + norm.ppf(power)) * np.sqrt(spread) / len(differences)
    smallest = max(float(by_spread), needed * _STEP / len(differences))
    return smallest if smallest <= 1 else None


def differing_parts(entries: Sequence[Decisions]) -> dict[str, dict[str, list[str]]]:
    """Parts of the signature with more than one value, and the labels that have each value."""
    signatures = [(entry.label, signature_parts(entry.signature)) for entry in entries]
    keys = dict.fromkeys(key for _, parts in signatures for key in parts)
    values: dict[str, dict[str, list[str]]] = {key: {} for key in keys}
    for key in keys:
        for label, parts in signatures:
            values[key].setdefault(parts.get(key, "unknown"), []).append(label)
    return {
        key: labels
        for key, labels in values.items()
        if len(labels) > 1 and key not in ("metric", "system")
    }


def _common_contexts(first: Decisions, second: Decisions) -> _Common:
    _, first_index, second_index = np.intersect1d(
        first.ids, second.ids, assume_unique=True, return_indices=True
    )
    same = first.texts[first_index] == second.texts[second_index]
    others = int((~same).sum())
    return _Common(first, second, first_index[same], second_index[same], others)


def _left_out_note(common: _Common) -> str:
    """What two systems do not share, in a sentence; empty if they share all."""
    first, second, n = common.first, common.second, len(common.first_index)
    left_out = len(first.ids) - n, len(second.ids) - n
    if not any(left_out) and n:
        return ""
    others = common.other_responses
    why = f"; {others:,} ids have another human response, so they differ" if others else ""
    text = (
        f"{first.label} and {second.label}, evaluated by {first.evaluator}: {n:,} contexts in "
        f"common, {left_out[0]:,} and {left_out[1]:,} left out{why}."
    )
    return text if n else f"{text} They are not compared."


def _compare(common: _Common, resamples: int, seed: int, alpha: float) -> Pair:
    """Two systems on their common contexts, the one with the higher AdverSuc first."""
    one, two = common.first, common.second
    rows, others = common.first_index, common.second_index
    if two.successes[others].mean() > one.successes[rows].mean():
        one, two, rows, others = two, one, others, rows
    first, second, dialogues = one.successes[rows], two.successes[others], one.dialogues[rows]
    human, machine = one.human[rows] - two.human[others], one.machine[rows] - two.machine[others]
    bootstrap = paired_bootstrap(first, second, dialogues, resamples=resamples, seed=seed)
    return Pair(
        evaluator=one.evaluator,
        first=one.label,
        second=two.label,
        first_adversuc=float(first.mean()),
        second_adversuc=float(second.mean()),
        difference=bootstrap["difference"],
        low=bootstrap["low"],
        high=bootstrap["high"],
        p=approximate_randomisation(first, second, dialogues, resamples=resamples, seed=seed),
        p_bootstrap=bootstrap["p"],
        machine_side=float(machine.mean() / 2),
        human_side=float(-human.mean() / 2),
        mcnemar=_mcnemar(one.machine[rows], two.machine[others]),
        human_changed=int(np.count_nonzero(human)),
        n=len(rows),
        dialogues=len(np.unique(dialogues)),
        first_left_out=len(one.ids) - len(rows),
        second_left_out=len(two.ids) - len(others),
        detectable=detectable_difference(first - second, dialogues, alpha),
        evaluators_differ=tuple(differing_parts([one, two])),
    )


def _mcnemar(first: np.ndarray, second: np.ndarray) -> McNemarResult | None:
    single = np.isin((first, second), (0, 1)).all()
    return mcnemar(first, second) if single else None
