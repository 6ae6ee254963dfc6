"""Would this run have noticed a difference? Human replies, of which a known share is replaced.

Some pairs of a human and a known other reply stay as they are; in all others both sides are human,
so that a coin decides which of the two classes a reply is in. An evaluator is trained on one half
of such data, and the test on the other half is repeated for many draws of the planted pairs.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.storage import PassageFile, gather
from dialeval.metrics.power import POWER, planted_power
from dialeval.protocols.evaluation.crossfit import on_human_scale, score_pairs
from dialeval.protocols.evaluation.evaluators import fit_function
from dialeval.protocols.evaluation.tables import ScoreTables
from dialeval.protocols.evaluation.twosample import pair_signs
from dialeval.protocols.evaluation.verdict import PLANTED, RANDOM

SHARES = (PLANTED, 0.1, 0.05)
CONFIDENCE = 0.95
"""With which a share is detectable: the evaluator's accuracy on planted replies is an estimate."""


def detectable_shares(
    tables: ScoreTables, evaluators: Sequence[str], machine: str | None, alpha: float
) -> dict[str, float | None]:
    """By the source of the planted replies, the smallest share that the run detects.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        evaluators (`Sequence[str]`):
            Evaluators of the run that are trained on it.
        machine (`str`, *optional*):
            A system that was distinguished from humans; its replies are planted too.
        alpha (`float`):
            Level at which one evaluator's test is significant in the run.

    Returns:
        `dict[str, float | None]`: `None` where it is not certain of any evaluator that it detects
        even the largest share in 80 % of the draws.
    """
    sources = {RANDOM: ("", "human_random")}
    if machine:
        sources[machine] = (machine, "human_machine")
    return {
        name: _smallest_share(tables, evaluators, *source, alpha)
        for name, source in sources.items()
    }


def _smallest_share(
    tables: ScoreTables, evaluators: Sequence[str], system: str, scenario: str, alpha: float
) -> float | None:
    smallest = None
    for share in SHARES:
        rows = (_powers(tables, name, system, scenario, share, alpha) for name in evaluators)
        if not any(row["low"] >= POWER for row in rows):
            break
        smallest = share
    return smallest


def power_of(
    tables: ScoreTables, evaluator: str, system: str, scenario: str, share: float, alpha: float
) -> float:
    """How often the test of one evaluator detects a share of planted replies.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        evaluator (`str`):
            Name of the evaluator.
        system (`str`):
            System whose replies are planted; `""` for random ones.
        scenario (`str`):
            Scenario whose pairs have these replies on their second side.
        share (`float`):
            Share of the pairs that is planted.
        alpha (`float`):
            Level of the test.

    Returns:
        `float`: In [0, 1]; 0 where there are too few pairs to fit the evaluator.
    """
    return _powers(tables, evaluator, system, scenario, share, alpha)["power"]


def _powers(
    tables: ScoreTables, evaluator: str, system: str, scenario: str, share: float, alpha: float
) -> Mapping[str, float]:
    """The `power` of the test of one evaluator, and what it is at least: `low`."""

    def make() -> Mapping[str, float]:
        seed = tables.run.seed
        try:
            halves = tables.fold_pairs(system, scenario, 2, seed)
            fit = fit_function(evaluator)
            scorer = fit(planted_pairs(halves.train(1), share, seed), seed, tables.fit_context)
        except BadInput:
            return {"power": 0.0, "low": 0.0}
        signs, dialogues = pair_signs(score_pairs(on_human_scale(scorer), halves[1]))
        options = {"groups": dialogues.tolist(), "alpha": alpha, "seed": seed}
        return {
            "power": planted_power(signs, share, **options),
            "low": planted_power(signs, share, **options, confidence=CONFIDENCE),
        }

    key = tables.key(evaluator, system, scenario, "planted, lower bound", str(share), str(alpha))
    return tables.folder.cached_json(key, make)


def planted_pairs(pairs: Passages, share: float, seed: int) -> Passages:
    """Training data of a system that differs from humans in a share of its replies.

    Args:
        pairs (`Passages`):
            Pairs of a human reply (label 1) and another one (label 0).
        share (`float`):
            Share of the pairs that stay as they are. Of every other pair the human reply stands in
            for both, each time with a label by coin: a real comparison has two replies to learn
            from, and so twice the noise of one.
        seed (`int`):
            Seed of the draws.

    Returns:
        `Passages`: Labelled responses, pair by pair.
    """
    rng = np.random.default_rng(seed)
    label, pair = np.asarray(pairs["label"]), np.asarray(pairs["pair"])
    numbers, index = np.unique(pair, return_inverse=True)
    planted = np.zeros(len(numbers), dtype=bool)
    planted[rng.permutation(len(numbers))[: max(2, round(share * len(numbers)))]] = True
    coins = rng.integers(0, 2, (2, len(numbers)))
    human = np.zeros(len(numbers), dtype=int)
    human[index[label == 1]] = np.flatnonzero(label == 1)
    rows = np.where(planted[index], np.arange(len(label)), human[index])
    labels = np.where(planted[index], label, coins[label.astype(int), index])
    return _relabelled(pairs, rows, labels)


def _relabelled(pairs: Passages, rows: np.ndarray, labels: np.ndarray) -> Passages:
    """Some rows, each with a label of its own."""
    with PassageFile(pairs.features) as file:
        for batch in gather(pairs, rows):
            part = slice(file.rows, file.rows + batch.num_rows)
            index = batch.schema.get_field_index("label")
            column = pa.array(labels[part], batch.schema.field(index).type)
            file.write(batch.set_column(index, "label", column))
    return file.dataset()
