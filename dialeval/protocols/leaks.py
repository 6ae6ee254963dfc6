"""The leak check: what gives a system away to a judge who does not read for meaning.

Each trait of a response becomes one number, and one small rule on that number alone is learnt on
half of the dialogues and tested on the other half. Whatever is learnt (the rule, the telling
words, the markers, the length at which responses are cut off) comes from the training half, so
that given it the test is exact: were human and system the same, swapping the two in any test
dialogue would change nothing.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dialeval._version import __version__
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import Passages, batches
from dialeval.dialogues.surface import (
    CONTENT_TRAITS,
    FORMAT_TRAITS,
    Normaliser,
    Trait,
    edges,
    mend_encoding,
)
from dialeval.dialogues.tokens import count_tokens, tokens
from dialeval.dialogues.types import text_hash
from dialeval.metrics.tests import bootstrap_ratios, exchange_test, holm, sign_flip_test

_FEWEST = 20  # dialogues in a half
_SHORTEST = 5  # tokens; shorter responses are terse, not cut off
_EMPTY = np.uint64(text_hash([""]))
_TRAITS = FORMAT_TRAITS + CONTENT_TRAITS
_COLUMN = {trait.name: at for at, trait in enumerate(_TRAITS)}
_LISTED = 200  # categories that are looked through to put a rule into words
_PUNCTUATION = ".,!?;:…'\"()-"
_MARKED = ((0, "start marker", "it starts with"), (1, "end marker", "it ends with"))
_MARKER_REMEDY = "remove markers from both sides"
_CUT = ("maximal length", "unfinished sentence")  # leaks that cutting both sides mends
_CUT_REMEDY = "cut both sides to the same number of tokens"


@dataclass(frozen=True)
class Leak:
    """How far one trait alone tells a system from people.

    Means, accuracy and interval are those of the held-out half.

    Args:
        measures (`str`):
            What the numbers are.
        accuracy (`float`):
            Balanced accuracy of the rule; 0.5 is chance.
        low, high (`float`):
            95 % percentile bootstrap interval over dialogues.
        p_value, p_holm (`float`):
            One-sided, against chance; and adjusted for the number of traits.
        rule (`str`):
            What the judge does, learnt on the training half.
        human_example, system_example (`str`, *optional*):
            Held-out responses that the rule catches.
        remedy (`str`):
            What levels it; empty for content.
    """

    name: str
    measures: str
    human: float
    system: float
    accuracy: float
    low: float
    high: float
    p_value: float
    p_holm: float
    significant: bool
    rule: str
    human_example: str | None
    system_example: str | None
    remedy: str


@dataclass(frozen=True)
class LeakReport:
    """All traits that were checked.

    Args:
        format (`tuple[Leak, ...]`):
            Traits that a [`Normaliser`] levels.
        content (`tuple[Leak, ...]`):
            Traits of what was said, measured after the format has been levelled.
        human_left_out, system_left_out (`int`):
            Responses without a partner; they are not compared.
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
    rows = _align(human, system, seed)
    markers = _find_markers(human, system, rows)
    table = _measure(human, system, rows, markers)
    features = [*_format_features(table, rows), *_content_features(table, rows)]
    leaks = _judge(features, rows, seed, alpha, _Examples(human, system, rows))
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


# Which responses are compared, and which half they are in.


@dataclass(frozen=True)
class _Rows:
    """The responses that are compared, human ones first: row numbers, dialogues and halves."""

    human: np.ndarray
    system: np.ndarray
    paired: bool
    is_human: np.ndarray  # (rows,)
    dialogue: np.ndarray  # (rows,) hashes
    train: np.ndarray  # (rows,)
    fold: np.ndarray  # (rows,) halves of the training half, for scores that are themselves learnt

    @property
    def test(self) -> np.ndarray:
        return ~self.train

    def units(self, mask: np.ndarray) -> np.ndarray:
        """Numbers from 0 of the dialogues of some rows."""
        return np.unique(self.dialogue[mask], return_inverse=True)[1]

    def dialogues(self, mask: np.ndarray) -> int:
        """How many dialogues some rows come from; unpaired, each side's are its own."""
        if self.paired:
            return len(np.unique(self.dialogue[mask]))
        sides = (mask & self.is_human, mask & ~self.is_human)
        return sum(len(np.unique(self.dialogue[side])) for side in sides)


def _align(human: Passages, system: Passages, seed: int) -> _Rows:
    left, right = _pair(human, system)
    paired = len(left) > 0
    if paired:
        own = _filled(
            row_hashes(human, ["dialogue_id"])[left],
            row_hashes(system, ["dialogue_id"])[right],
            *(row_hashes(human, [name])[left] for name in ("id", "context")),
        )
        dialogue = np.concatenate([own, own])
    else:
        left, right = np.arange(len(human)), np.arange(len(system))
        dialogue = np.concatenate([_own_dialogues(human), _own_dialogues(system)])
    train, fold = _halves(dialogue, seed)
    is_human = np.arange(len(dialogue)) < len(left)
    rows = _Rows(left, right, paired, is_human, dialogue, train, fold)
    _check_size(rows)
    return rows


def _pair(human: Passages, system: Passages) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of partners: by id, and what is left by the words of the context."""
    left, right = _match(row_hashes(human, ["id"]), row_hashes(system, ["id"]))
    lone_left = np.setdiff1d(np.arange(len(human)), left)
    lone_right = np.setdiff1d(np.arange(len(system)), right)
    if len(lone_left) and len(lone_right):
        more_left, more_right = _match(
            row_hashes(human, ["context"])[lone_left], row_hashes(system, ["context"])[lone_right]
        )
        left = np.concatenate([left, lone_left[more_left]])
        right = np.concatenate([right, lone_right[more_right]])
    order = np.argsort(left)
    return left[order], right[order]


def _match(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of equal keys, the k-th occurrence of one with the k-th of the other."""
    rows = [np.flatnonzero(keys != _EMPTY) for keys in (first, second)]
    keys = [_numbered(first[rows[0]]), _numbered(second[rows[1]])]
    _, left, right = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    return rows[0][left], rows[1][right]


def _numbered(keys: np.ndarray) -> np.ndarray:
    """Keys made unique by the number of times that they stood before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    start = np.searchsorted(ordered, ordered)
    before = np.empty(len(keys), dtype=np.uint64)
    before[order] = np.arange(len(keys)) - start
    return keys + before * np.uint64(0x9E3779B97F4A7C15)  # wraps around: a hash of both


def _own_dialogues(passages: Passages) -> np.ndarray:
    columns = (row_hashes(passages, [name]) for name in ("dialogue_id", "id", "context"))
    return _filled(*columns, np.arange(len(passages), dtype=np.uint64))


def _filled(*columns: np.ndarray) -> np.ndarray:
    """The first of several hashes that is not of the empty text."""
    found = columns[0]
    for column in columns[1:]:
        found = np.where(found == _EMPTY, column, found)
    return found


def _halves(dialogue: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two coins for each dialogue. The salt keeps them apart from `data split` with this seed."""
    names, inverse = np.unique(dialogue, return_inverse=True)
    hashes = np.array(
        [text_hash(["leaks", str(seed), f"{name:x}"]) & 3 for name in names.tolist()], dtype=int
    )
    return (hashes & 1).astype(bool)[inverse], (hashes & 2).astype(bool)[inverse]


def _check_size(rows: _Rows) -> None:
    sides = (rows.is_human, ~rows.is_human)
    sizes = [
        min(len(np.unique(rows.dialogue[half & side])) for side in sides)
        for half in (rows.train, rows.test)
    ]
    if min(sizes) < _FEWEST:
        raise BadInput(
            f"A leak check learns on {_FEWEST} dialogues and tests on {_FEWEST} others at least, "
            f"but got {sizes[0]} and {sizes[1]}.",
            remedy="Give more dialogues, and see that their `dialogue_id` differ.",
        )


# What is measured in each response.


class _Table:
    """Numbers of each response; words and markers are codes into `names`, 0 for none."""

    def __init__(self, rows: int, markers: tuple[str, ...]):
        self.traits = np.empty((rows, len(_TRAITS)), dtype=np.float32)
        self.lengths = np.empty((rows, 2), dtype=np.int32)  # tokens; words between spaces
        self.ends = np.empty((rows, 4), dtype=np.int32)  # start, end marker; first, last word
        self.text = np.empty(rows, dtype=np.uint64)  # hash of the normalised response
        self.words, self.owner = array("i"), array("i")  # of all responses, and the row of each
        self.codes: dict[str, int] = {"": 0}
        self.markers, self.normaliser = markers, Normaliser(markers=markers)

    def put(self, row: int, text: str) -> None:
        """Measure a response."""
        parts, level = edges(text, self.markers), self.normaliser(text)
        mended = mend_encoding(parts.core)
        forms = {"raw": text, "core": parts.core, "mended": mended, "level": level}
        self.traits[row] = [trait(forms[trait.of]) for trait in _TRAITS]
        self.lengths[row] = count_tokens(parts.core), len(parts.core.split())
        self.text[row] = text_hash([level])
        words = tokens(level)
        first, last = (words[0], words[-1]) if words else ("", "")
        self.ends[row] = self._codes([parts.start, parts.end, first, last])
        self.words.extend(self._codes(words))
        self.owner.extend([row] * len(words))

    def _codes(self, names: list[str]) -> list[int]:
        return [self.codes.setdefault(name, len(self.codes)) for name in names]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.traits[:, _COLUMN[name]]

    @property
    def names(self) -> list[str]:
        return list(self.codes)


def _measure(human: Passages, system: Passages, rows: _Rows, markers: tuple[str, ...]) -> _Table:
    table = _Table(len(rows.dialogue), markers)
    for at, text in _responses(human, rows.human):
        table.put(at, text)
    for at, text in _responses(system, rows.system):
        table.put(len(rows.human) + at, text)
    _fill(table.traits, rows.train)
    return table


def _fill(traits: np.ndarray, train: np.ndarray) -> None:
    """Give what cannot be seen in a text the middle value of the training half, to tell nothing."""
    for column in traits.T:
        unseen = np.isnan(column)
        seen = column[train & ~unseen]
        column[unseen] = np.percentile(seen, 50, method="lower") if len(seen) else 0.0


def _responses(passages: Passages, rows: np.ndarray) -> Iterator[tuple[int, str]]:
    """The responses in some rows, in the order of the file, with their position in `rows`."""
    place = np.full(len(passages), -1)
    place[rows] = np.arange(len(rows))
    start = 0
    for batch in batches(passages.select_columns(["response"])):
        places = place[start : start + batch.num_rows].tolist()
        for at, text in zip(places, batch["response"].to_pylist(), strict=True):
            if at >= 0:
                yield at, text or ""
        start += batch.num_rows


# Markers that look like words: `STOP` at the end of every response.


def _find_markers(human: Passages, system: Passages, rows: _Rows) -> tuple[str, ...]:
    """Tokens that begin or end most responses of one side, and that the other side never uses."""
    sides = (
        (human, rows.human, rows.train[rows.is_human]),
        (system, rows.system, rows.train[~rows.is_human]),
    )
    found = [
        token
        for side, other in (sides, sides[::-1])
        for token in _common_ends(*side)
        if _share_with(token, *other) <= 0.005
    ]
    return tuple(dict.fromkeys(found))


def _common_ends(passages: Passages, rows: np.ndarray, train: np.ndarray) -> Iterator[str]:
    """The token that begins, and the one that ends, at least half of the training responses."""
    ends = (Counter(), Counter())
    for at, text in _responses(passages, rows):
        if train[at] and len(words := edges(text).core.split()) > 1:
            ends[0][words[0], words[1]] += 1
            ends[1][words[-1], words[-2]] += 1
    for pairs in ends:
        tokens_alone = Counter()
        for (token, _), times in pairs.items():
            tokens_alone[token] += times
        for token, times in tokens_alone.most_common(1):
            # What stands beside a marker varies: the last word of a canned answer is none.
            varied = max(n for (first, _), n in pairs.items() if first == token) < times / 2
            if times >= train.sum() / 2 and varied and token.strip(_PUNCTUATION):
                yield token


def _share_with(token: str, passages: Passages, rows: np.ndarray, train: np.ndarray) -> float:
    responses = _responses(passages, rows)
    return sum(token in text.split() for at, text in responses if train[at]) / train.sum()


# Traits as columns of numbers, and how to speak of a rule about them.


@dataclass(frozen=True)
class _Rule:
    """Which values are taken for human: intervals between cuts, each closed on the right."""

    cuts: np.ndarray
    human: np.ndarray  # one more than cuts

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return self.human[np.searchsorted(self.cuts, values)]

    def __bool__(self) -> bool:
        return len(self.cuts) > 0


@dataclass(frozen=True)
class _Feature:
    """One number for each response."""

    name: str
    measures: str
    values: np.ndarray  # (rows,) what the rule sees
    say: Callable[[_Rule], str]
    remedy: str = ""
    shown: np.ndarray | None = None  # (rows,) what is averaged for the reader, if not the values

    @property
    def is_format(self) -> bool:
        return bool(self.remedy)

    def mean(self, mask: np.ndarray) -> float:
        values = self.values if self.shown is None else self.shown
        return float(values[mask].mean(dtype=float))

    def words(self, rule: _Rule) -> str:
        if rule:
            return self.say(rule)
        return "too alike for a rule" if np.ptp(self.values) else "same on both sides"


def _format_features(table: _Table, rows: _Rows) -> Iterator[_Feature]:
    for column, name, clause in _MARKED:
        values, say = _telling(table.ends[:, column], table, rows, clause)
        marked = table.ends[:, column] != 0
        yield _Feature(name, f"{clause} a marker", values, say, _MARKER_REMEDY, marked)
    yield from (_from_trait(trait, table) for trait in FORMAT_TRAITS)
    values, clause = _breaks_off(table, rows)
    yield _Feature("maximal length", clause, values, _yes_no(clause), _CUT_REMEDY)


def _content_features(table: _Table, rows: _Rows) -> Iterator[_Feature]:
    yield from (_from_trait(trait, table) for trait in CONTENT_TRAITS)
    unit = "other training responses with the same words"
    yield _Feature("repeated response", unit, _repeats(table, rows), _numeric(unit))
    for column, name in ((2, "first word"), (3, "last word")):
        values, say = _telling(table.ends[:, column], table, rows, f"the {name} is")
        yield _Feature(name, f"log-odds (human) of the {name}", values, say)
    unit = "log-odds (human) of the words"
    words, owner = np.asarray(table.words), np.asarray(table.owner)
    yield _Feature("vocabulary", unit, _scores(words, owner, rows), _numeric(unit))


def _from_trait(trait: Trait, table: _Table) -> _Feature:
    say = _yes_no(trait.measures) if trait.yes_no else _numeric(trait.measures)
    return _Feature(trait.name, trait.measures, table[trait.name], say, trait.remedy)


def _yes_no(clause: str) -> Callable[[_Rule], str]:
    return lambda rule: f"{_side(rule.human[-1])} if {clause}"


def _numeric(unit: str) -> Callable[[_Rule], str]:
    def say(rule: _Rule) -> str:
        bounds = [-np.inf, *rule.cuts, np.inf]
        system = [
            _interval(unit, low, high)
            for low, high, human in zip(bounds, bounds[1:], rule.human, strict=False)
            if not human
        ]
        return f"system if {' or '.join(system)}"

    return say


def _interval(unit: str, low: float, high: float) -> str:
    above = f"{low:.4g} < " if np.isfinite(low) else ""
    if np.isfinite(high):
        return f"{above}{unit} <= {high:.4g}"
    return f"{unit} > {low:.4g}"


def _side(human: bool) -> str:
    return "human" if human else "system"


def _telling(
    codes: np.ndarray, table: _Table, rows: _Rows, clause: str
) -> tuple[np.ndarray, Callable[[_Rule], str]]:
    """Log-odds of each response's category, and a rule on them in words of the categories."""
    names, is_human = ["nothing", *table.names[1:]], rows.is_human
    odds = _log_odds(codes[rows.train], is_human[rows.train])
    human, system = (
        np.bincount(codes[rows.train & side], minlength=len(names)) / (rows.train & side).sum()
        for side in (is_human, ~is_human)
    )
    gap = np.where(human + system > 0, np.abs(human - system), -1)  # the unseen come last
    gap[0] = min(gap[0], 0)  # and before them what has no name
    ranked = np.argsort(-gap, kind="stable")[:_LISTED]

    def say(rule: _Rule) -> str:
        taken = rule(odds(ranked))
        like = [names[code] for code in ranked[(taken == taken[0]) & (gap[ranked] >= 0)]]
        more = " or the like" if len(like) > 3 else ""
        return f"{_side(taken[0])} if {clause} {', '.join(like[:3])}{more}"

    return _scores(codes, np.arange(len(codes)), rows), say


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


def _scores(codes: np.ndarray, owner: np.ndarray, rows: _Rows) -> np.ndarray:
    """Sum of the log-odds of each row's codes, learnt on other dialogues than the row's own.

    Test rows are scored by the training half. Its own rows are scored by one another's halves,
    for a rule learnt on scores of words already counted would expect too much of them.
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


def _repeats(table: _Table, rows: _Rows) -> np.ndarray:
    """How often each response stands in the training half, itself not counted."""
    texts, times = np.unique(table.text[rows.train], return_counts=True)
    at = np.minimum(np.searchsorted(texts, table.text), len(texts) - 1)
    found = np.where(texts[at] == table.text, times[at], 0) - rows.train
    return np.where(table.text == _EMPTY, 0, found).astype(np.float32)  # silence is its own trait


def _breaks_off(table: _Table, rows: _Rows) -> tuple[np.ndarray, str]:
    """Whether a response ends, unfinished, where all responses of one side end."""
    caps = [(*_cap(table.lengths[:, at], rows), at) for at in (0, 1)]
    share, cap, at = max(caps)
    if not share:
        nothing = np.zeros(len(table.lengths), dtype=np.float32)
        return nothing, "it breaks off at the greatest length of one side"
    values = (table.lengths[:, at] == cap) & (table["no final punctuation"] > 0)
    unit = ("tokens", "words")[at]
    return values.astype(np.float32), f"it breaks off at {cap} {unit}, the most that one side has"


def _cap(lengths: np.ndarray, rows: _Rows) -> tuple[float, int]:
    """Share of the responses at the greatest length of the shorter side, and that length.

    A cap shows as a pile at the end of the distribution; without one the share is 0. The
    greatest length is the 99.5th percentile, lest one odd response hide the pile.
    """
    sides = [lengths[rows.train & side] for side in (rows.is_human, ~rows.is_human)]
    tops = [int(np.percentile(side, 99.5, method="inverted_cdf")) for side in sides]
    cap, shorter = min(tops), sides[int(np.argmin(tops))]
    share, before = (shorter == cap).mean(), (shorter == cap - 1).mean()
    if tops[0] == tops[1] or cap < _SHORTEST or share < 2 * before:
        return 0.0, 0
    return float(share), cap


def _max_tokens(
    leaks: list[Leak], features: list[_Feature], table: _Table, rows: _Rows
) -> int | None:
    """One token less than 19 in 20 cut-off responses have, if being cut off is a leak."""
    found = []
    for leak, feature in zip(leaks, features, strict=True):
        if leak.name in _CUT and leak.significant:
            side = rows.is_human == (leak.human > leak.system)
            lengths = table["length in tokens"][rows.train & side & (feature.values > 0)]
            found.append(int(np.percentile(lengths, 5, method="lower")) - 1)
    return max(_SHORTEST, min(found)) if found else None


# The trial: rules learnt on one half of the dialogues, tested on the other.


@dataclass(frozen=True)
class _Trial:
    """Outcome of each rule on the test half, one entry per feature."""

    accuracy: np.ndarray
    ratios: np.ndarray  # (resamples, features) accuracies
    p_values: list[float]

    @property
    def interval(self) -> np.ndarray:
        return np.percentile(self.ratios, [2.5, 97.5], axis=0)


class _Examples:
    """Responses by row."""

    def __init__(self, human: Passages, system: Passages, rows: _Rows):
        self.human, self.system, self.rows = human, system, rows

    def caught(self, taken: np.ndarray, human: bool) -> str | None:
        """The first test response of a side that was told rightly."""
        rows = self.rows
        found = np.flatnonzero(rows.test & (rows.is_human == human) & (taken == human))
        if not len(found):
            return None
        if human:
            return self.human[int(rows.human[found[0]])]["response"]
        return self.system[int(rows.system[found[0] - len(rows.human)])]["response"]


def _judge(
    features: list[_Feature], rows: _Rows, seed: int, alpha: float, examples: _Examples
) -> list[Leak]:
    rules = [_fit(feature.values, rows) for feature in features]
    pairs = list(zip(features, rules, strict=True))
    taken = np.column_stack([rule(feature.values) for feature, rule in pairs])  # for human
    trial = (_paired_trial if rows.paired else _unpaired_trial)(taken, rows, seed)
    low, high = trial.interval
    adjusted = holm(trial.p_values)
    return [
        Leak(
            name=feature.name,
            measures=feature.measures,
            human=feature.mean(rows.test & rows.is_human),
            system=feature.mean(rows.test & ~rows.is_human),
            accuracy=float(trial.accuracy[at]),
            low=float(low[at]),
            high=float(high[at]),
            p_value=trial.p_values[at],
            p_holm=float(adjusted[at]),
            significant=bool(adjusted[at] <= alpha),
            rule=feature.words(rule),
            human_example=examples.caught(taken[:, at], True) if rule else None,
            system_example=examples.caught(taken[:, at], False) if rule else None,
            remedy=feature.remedy,
        )
        for at, (feature, rule) in enumerate(pairs)
    ]


def _fit(values: np.ndarray, rows: _Rows) -> _Rule:
    """At most two cuts, so that a rule can say "between"."""
    values, is_human = values[rows.train], rows.is_human[rows.train]
    tree = DecisionTreeClassifier(
        max_leaf_nodes=3,
        min_samples_leaf=max(5, -(-len(values) // 100)),
        class_weight="balanced",
        random_state=0,
    ).fit(values[:, None], is_human)
    cuts = np.sort(tree.tree_.threshold[tree.tree_.feature >= 0])
    human = np.zeros(len(cuts) + 1, dtype=bool)
    human[np.searchsorted(cuts, values)] = tree.predict(values[:, None])
    changes = human[1:] != human[:-1]
    return _Rule(cuts[changes], human[np.append(True, changes)])


def _paired_trial(taken: np.ndarray, rows: _Rows, seed: int) -> _Trial:
    human, size = _per_dialogue(taken, rows.test & rows.is_human, rows)
    system, _ = _per_dialogue(taken, rows.test & ~rows.is_human, rows)
    right = human + size[:, None] - system  # (dialogues, features)
    return _Trial(
        accuracy=right.sum(0) / (2 * size.sum()),
        ratios=bootstrap_ratios(right, 2 * size, seed),
        p_values=[sign_flip_test(column, seed) for column in (human - system).T],
    )


def _unpaired_trial(taken: np.ndarray, rows: _Rows, seed: int) -> _Trial:
    human, human_size = _per_dialogue(taken, rows.test & rows.is_human, rows)
    system, system_size = _per_dialogue(taken, rows.test & ~rows.is_human, rows)
    drawn_human = bootstrap_ratios(human, human_size, seed)
    drawn_system = bootstrap_ratios(system, system_size, seed + 1)
    rates = (human / human_size[:, None]).T, (system / system_size[:, None]).T
    return _Trial(
        accuracy=(1 + human.sum(0) / human_size.sum() - system.sum(0) / system_size.sum()) / 2,
        ratios=(1 + drawn_human - drawn_system) / 2,
        p_values=[exchange_test(*columns, seed) for columns in zip(*rates, strict=True)],
    )


def _per_dialogue(
    taken: np.ndarray, mask: np.ndarray, rows: _Rows
) -> tuple[np.ndarray, np.ndarray]:
    """How many responses of each dialogue were taken for human, of how many."""
    dialogue = rows.units(mask)
    sizes = np.bincount(dialogue)
    sums = [np.bincount(dialogue, column, minlength=len(sizes)) for column in taken[mask].T]
    return np.column_stack(sums), sizes
