"""The leak check: format and style traits that distinguish a system without its meaning.

Each trait of a response becomes one number, and one small rule on that number alone is learnt on
half of the dialogues and tested on the other half. Whatever is learnt (the rule, the typical
words, the markers, the length at which responses are cut off) comes from the training half, so
that given it the test is exact: were human and system the same, swapping the two in any test
dialogue would change nothing.
"""

import numpy as np

from dialeval.dialogues.normaliser import Normaliser
from dialeval.dialogues.storage import Passages
from dialeval.metrics.leak_results import Leak, LeakReport
from dialeval.protocols.leaks.features import SHORTEST, Feature, content_features, format_features
from dialeval.protocols.leaks.measures import Table, find_markers, measure
from dialeval.protocols.leaks.rows import MIN_DIALOGUES, Rows, align
from dialeval.protocols.leaks.trial import Examples, measure_leaks

_CUT = ("maximal length", "unfinished sentence")  # leaks that cutting both sides removes


def find_leaks(
    human: Passages,
    system: Passages,
    seed: int = 0,
    alpha: float = 0.05,
    min_dialogues: int = MIN_DIALOGUES,
) -> LeakReport:
    """How well each trait alone distinguishes the system from humans.

    Args:
        human, system (`Passages`):
            Compared in pairs, matched by id, else by the text of the context; without any pair,
            as two samples.
        seed (`int`, *optional*, defaults to 0):
            Seed of the split into halves, and of resampling.
        alpha (`float`, *optional*, defaults to 0.05):
            Chance of any false alarm among all traits (Holm).
        min_dialogues (`int`, *optional*, defaults to 20):
            Dialogues that each half needs.

    Returns:
        `LeakReport`: All traits, significant or not.
    """
    rows = align(human, system, seed, min_dialogues)
    markers = find_markers(human, system, rows)
    table = measure(human, system, rows, markers)
    features = [*format_features(table, rows), *content_features(table, rows)]
    leaks = measure_leaks(features, rows, seed, alpha, Examples(human, system, rows))
    formats = sum(feature.is_format for feature in features)
    return LeakReport(
        format=tuple(leaks[:formats]),
        content=tuple(leaks[formats:]),
        paired=rows.paired,
        human=len(rows.human),
        system=len(rows.system),
        human_left_out=len(human) - len(rows.human),
        system_left_out=len(system) - len(rows.system),
        train_dialogues=rows.dialogues(rows.train),
        test_dialogues=rows.dialogues(rows.test),
        seed=seed,
        alpha=alpha,
        markers=markers,
        max_tokens=_max_tokens(leaks, features, table, rows),
    )


def normaliser_for(report: LeakReport) -> Normaliser:
    """The normaliser that removes the format leaks of a report.

    It cuts responses only where one side was cut off: to one token less than 19 in 20 of the
    cut-off responses have once normalised, so that the ends of both sides are removed.
    """
    return Normaliser(markers=report.markers, max_tokens=report.max_tokens)


def _max_tokens(leaks: list[Leak], features: list[Feature], table: Table, rows: Rows) -> int | None:
    """One token less than 19 in 20 cut-off responses have, if being cut off is a leak."""
    limits = []
    for leak, feature in zip(leaks, features, strict=True):
        if leak.name in _CUT and leak.significant:
            side = rows.is_human == (leak.human > leak.system)
            lengths = table["length in tokens"][rows.train & side & (feature.values > 0)]
            limits.append(int(np.percentile(lengths, 5, method="lower")) - 1)
    return max(SHORTEST, min(limits)) if limits else None
