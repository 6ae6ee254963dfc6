"""Traits as columns of numbers, and rules on them in words."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dialeval.dialogues.traits import CONTENT_TRAITS, FORMAT_TRAITS, Trait
from dialeval.dialogues.types import text_hash
from dialeval.protocols.leaks.measures import Table
from dialeval.protocols.leaks.rows import Rows

SHORTEST = 5  # tokens; shorter responses are terse, not cut off
_EMPTY = np.uint64(text_hash([""]))
_LISTED = 200  # categories that are looked through to put a rule into words
_MARKERS = ((0, "start marker", "it starts with"), (1, "end marker", "it ends with"))
_MARKER_HINT = "remove markers from both sides"
_CUT_HINT = "cut both sides to the same number of tokens"


@dataclass(frozen=True)
class Rule:
    """Which values are predicted to be human: intervals between cuts, closed on the right."""

    cuts: np.ndarray
    human: np.ndarray  # one more than cuts

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return self.human[np.searchsorted(self.cuts, values)]

    def __bool__(self) -> bool:
        return len(self.cuts) > 0


@dataclass(frozen=True)
class Feature:
    """One number for each response."""

    name: str
    measures: str
    values: np.ndarray  # (rows,) what the rule sees
    describe: Callable[[Rule], str]
    hint: str = ""
    shown: np.ndarray | None = None  # (rows,) what the report averages, if not the values

    @property
    def is_format(self) -> bool:
        """Whether a normaliser removes it."""
        return bool(self.hint)

    def mean(self, mask: np.ndarray) -> float:
        """The mean over some rows."""
        values = self.values if self.shown is None else self.shown
        return float(values[mask].mean(dtype=float))

    def rule_text(self, rule: Rule) -> str:
        """A rule in words."""
        if rule:
            return self.describe(rule)
        return "too alike for a rule" if np.ptp(self.values) else "same on both sides"


def format_features(table: Table, rows: Rows) -> Iterator[Feature]:
    """Traits of the format: markers, spacing, typography and the like."""
    for column, name, clause in _MARKERS:
        values, describe = _category_scores(table.edge_codes[:, column], table, rows, clause)
        has_marker = table.edge_codes[:, column] != 0
        yield Feature(name, f"{clause} a marker", values, describe, _MARKER_HINT, has_marker)
    yield from (_from_trait(trait, table) for trait in FORMAT_TRAITS)
    values, clause = _is_cut_off(table, rows)
    yield Feature("maximal length", clause, values, describe_yes_no(clause), _CUT_HINT)


def content_features(table: Table, rows: Rows) -> Iterator[Feature]:
    """Traits of the content: length, repetition and words."""
    yield from (_from_trait(trait, table) for trait in CONTENT_TRAITS)
    unit = "other training responses with the same words"
    yield Feature("repeated response", unit, _repeats(table, rows), describe_numeric(unit))
    for column, name in ((2, "first word"), (3, "last word")):
        values, describe = _category_scores(
            table.edge_codes[:, column], table, rows, f"the {name} is"
        )
        yield Feature(name, f"log-odds (human) of the {name}", values, describe)
    unit = "log-odds (human) of the words"
    words, owner = np.asarray(table.words), np.asarray(table.owner)
    yield Feature("vocabulary", unit, _scores(words, owner, rows), describe_numeric(unit))


def _from_trait(trait: Trait, table: Table) -> Feature:
    describe = describe_yes_no(trait.measures) if trait.yes_no else describe_numeric(trait.measures)
    return Feature(trait.name, trait.measures, table[trait.name], describe, trait.hint)


def describe_yes_no(clause: str) -> Callable[[Rule], str]:
    """What a rule on a yes-or-no trait says in words."""
    return lambda rule: f"{_side(rule.human[-1])} if {clause}"


def describe_numeric(unit: str) -> Callable[[Rule], str]:
    """What a rule on a number says in words."""

    def describe(rule: Rule) -> str:
        bounds = [-np.inf, *rule.cuts, np.inf]
        system = [
            _interval(unit, low, high)
            for low, high, human in zip(bounds, bounds[1:], rule.human, strict=False)
            if not human
        ]
        return f"system if {' or '.join(system)}"

    return describe


def _interval(unit: str, low: float, high: float) -> str:
    """The values above `low` and up to `high` in words, as counts, shares or plain numbers."""
    if not unit.startswith(("share of", "log-odds")):
        return _count_interval(unit, low, high)

    def number(value: float) -> str:
        return f"{100 * value:.3g} %" if unit.startswith("share of") else f"{value:.3g}"

    if np.isinf(low):
        return f"{unit} up to {number(high)}"
    if np.isinf(high):
        return f"{unit} above {number(low)}"
    return f"{unit} between {number(low)} and {number(high)}"


def _count_interval(unit: str, low: float, high: float) -> str:
    if np.isinf(low):
        return f"at most {np.floor(high):.0f} {unit}"
    if np.isinf(high):
        return f"more than {np.floor(low):.0f} {unit}"
    return f"{np.floor(low) + 1:.0f} to {np.floor(high):.0f} {unit}"


def _side(human: bool) -> str:
    return "human" if human else "system"


def _category_scores(
    codes: np.ndarray, table: Table, rows: Rows, clause: str
) -> tuple[np.ndarray, Callable[[Rule], str]]:
    """Log-odds of each response's category, and a rule on them in words of the categories."""
    names, is_human = ["nothing", *table.names[1:]], rows.is_human
    odds = _log_odds(codes[rows.train], is_human[rows.train])
    human, system = (
        np.bincount(codes[rows.train & side], minlength=len(names)) / (rows.train & side).sum()
        for side in (is_human, ~is_human)
    )
    gap = np.where(human + system > 0, np.abs(human - system), -1)  # unseen categories come last
    gap[0] = min(gap[0], 0)  # and before them the empty one
    ranked = np.argsort(-gap, kind="stable")[:_LISTED]

    def describe(rule: Rule) -> str:
        predicted = rule(odds(ranked))
        like = [names[code] for code in ranked[(predicted == predicted[0]) & (gap[ranked] >= 0)]]
        more = " or the like" if len(like) > 3 else ""
        return f"{_side(predicted[0])} if {clause} {', '.join(like[:3])}{more}"

    return _scores(codes, np.arange(len(codes)), rows), describe


def _log_odds(codes: np.ndarray, is_human: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Smoothed log-odds that a code is human; 0 for codes that were never seen."""
    size = int(codes.max(initial=0)) + 1
    human, system = (np.bincount(codes[side], minlength=size) for side in (is_human, ~is_human))
    seen = (human + system) > 0
    smoothing = 0.5
    total = smoothing * seen.sum()
    human_share = (human + smoothing) / (human.sum() + total + 1e-9)
    system_share = (system + smoothing) / (system.sum() + total + 1e-9)
    odds = np.append(np.where(seen, np.log(human_share / system_share), 0.0), 0.0)
    return lambda codes: odds[np.minimum(codes, size)]


def _scores(codes: np.ndarray, owner: np.ndarray, rows: Rows) -> np.ndarray:
    """Sum of the log-odds of each row's codes, learnt on other dialogues.

    Test rows are scored with the training half. Training rows are scored with the other half of
    it: a rule learnt on scores of words that were counted would expect too much.
    """
    train, fold = rows.train, rows.fold
    scores = np.zeros(len(train))
    for learnt_on, applied_to in (
        (train, ~train),
        (train & fold, train & ~fold),
        (train & ~fold, train & fold),
    ):
        learn, apply = learnt_on[owner], applied_to[owner]
        odds = _log_odds(codes[learn], rows.is_human[owner[learn]])
        scores += np.bincount(owner[apply], odds(codes[apply]), minlength=len(scores))
    return scores.astype(np.float32)


def _repeats(table: Table, rows: Rows) -> np.ndarray:
    """How often each response occurs in the training half, itself not counted."""
    texts, times = np.unique(table.text[rows.train], return_counts=True)
    index = np.minimum(np.searchsorted(texts, table.text), len(texts) - 1)
    counts = np.where(texts[index] == table.text, times[index], 0) - rows.train
    return np.where(table.text == _EMPTY, 0, counts).astype(
        np.float32
    )  # empty responses are another trait


def _is_cut_off(table: Table, rows: Rows) -> tuple[np.ndarray, str]:
    """Whether a response ends unfinished at the greatest length of one side."""
    caps = [(*_cap(table.lengths[:, column], rows), column) for column in (0, 1)]
    share, cap, column = max(caps)
    if not share:
        zeros = np.zeros(len(table.lengths), dtype=np.float32)
        return zeros, "it breaks off at the greatest length of one side"
    values = (table.lengths[:, column] == cap) & (table["no final punctuation"] > 0)
    unit = ("tokens", "words")[column]
    return values.astype(np.float32), f"it breaks off at {cap} {unit}, the most that one side has"


def _cap(lengths: np.ndarray, rows: Rows) -> tuple[float, int]:
    """Share of the responses at the greatest length of the shorter side, and that length.

    A cap shows as a pile at the end of the distribution; without one the share is 0. The
    greatest length is the 99.5th percentile, so that one odd response does not hide the pile.
    """
    sides = [lengths[rows.train & side] for side in (rows.is_human, ~rows.is_human)]
    tops = [int(np.percentile(side, 99.5, method="inverted_cdf")) for side in sides]
    cap, shorter = min(tops), sides[int(np.argmin(tops))]
    share, before = (shorter == cap).mean(), (shorter == cap - 1).mean()
    if tops[0] == tops[1] or cap < SHORTEST or share < 2 * before:
        return 0.0, 0
    return float(share), cap
