"""The leak check: what gives a system away to a judge who does not read for meaning.

Each trait of a response becomes one number, and one small rule on that number alone is learnt on
half of the dialogues and tested on the other half. Whatever is learnt (the rule, the telling
words, the markers, the length at which responses are cut off) comes from the training half, so
that given it the test is exact: were human and system the same, swapping the two in any test
dialogue would change nothing.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dialeval._version import __version__
from dialeval.dialogues.storage import Passages
from dialeval.dialogues.surface import Normaliser
from dialeval.protocols.leaks.features import SHORTEST, Feature, content_features, format_features
from dialeval.protocols.leaks.measures import Table, find_markers, measure
from dialeval.protocols.leaks.rows import Rows, align
from dialeval.protocols.leaks.trial import Examples, Leak, judge

_CUT = ("maximal length", "unfinished sentence")  # leaks that cutting both sides mends


@dataclass(frozen=True)
class LeakReport:
    """All traits that were checked.

    Args:
        format (`tuple[Leak, ...]`):
            Traits that a [`Normaliser`] levels.
        content (`tuple[Leak, ...]`):
            Traits of what was said, measured after the format has been levelled.
        human_left_out, system_left_out (`int`):
            Responses that are not compared: those without a partner, and pairs with a reply that
            was borrowed from a dialogue in the other half.
        markers (`tuple[str, ...]`):
            Tokens that do not look like markers but were found to be.
        max_tokens (`int`, *optional*):
            Where to cut both sides, if one of them was cut off.
    """

    format: tuple[Leak, ...]
    content: tuple[Leak, ...]
    paired: bool
    human: int
    system: int
    human_left_out: int
    system_left_out: int
    train_dialogues: int
    test_dialogues: int
    seed: int
    alpha: float
    markers: tuple[str, ...]
    max_tokens: int | None

    @property
    def signature(self) -> str:
        """How the report was made."""
        compared = f"pairs:{self.human}" if self.paired else f"unpaired:{self.human}+{self.system}"
        tests = len(self.format) + len(self.content)
        return (
            f"leaks|{compared}|test:{self.test_dialogues}|seed:{self.seed}|holm:{tests}"
            f"|v:{__version__}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON takes it."""
        return {"signature": self.signature, **asdict(self)}


def find_leaks(human: Passages, system: Passages, seed: int = 0, alpha: float = 0.05) -> LeakReport:
    """What gives the system away, trait by trait.

    Args:
        human, system (`Passages`):
            Compared in pairs: by id, else by the words of the context; where nothing pairs, as
            two samples.
        seed (`int`, *optional*, defaults to 0):
            Of the split into halves, and of resampling.
        alpha (`float`, *optional*, defaults to 0.05):
            Chance of any false alarm among all traits (Holm).
    """
    rows = align(human, system, seed)
    markers = find_markers(human, system, rows)
    table = measure(human, system, rows, markers)
    features = [*format_features(table, rows), *content_features(table, rows)]
    leaks = judge(features, rows, seed, alpha, Examples(human, system, rows))
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


def remedy_for(report: LeakReport) -> Normaliser:
    """The normaliser that levels the format leaks of a report.

    It cuts responses only where one side was cut off: to one token less than 19 in 20 of the
    cut-off responses have once normalised. So their own ends go, and the other side's too.
    """
    return Normaliser(markers=report.markers, max_tokens=report.max_tokens)


def _max_tokens(leaks: list[Leak], features: list[Feature], table: Table, rows: Rows) -> int | None:
    """One token less than 19 in 20 cut-off responses have, if being cut off is a leak."""
    found = []
    for leak, feature in zip(leaks, features, strict=True):
        if leak.name in _CUT and leak.significant:
            side = rows.is_human == (leak.human > leak.system)
            lengths = table["length in tokens"][rows.train & side & (feature.values > 0)]
            found.append(int(np.percentile(lengths, 5, method="lower")) - 1)
    return max(SHORTEST, min(found)) if found else None
