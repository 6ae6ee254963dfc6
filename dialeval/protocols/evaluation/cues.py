"""What gives a system away: single words, phrases, punctuation, formats and lengths.

Candidates are chosen on one half of the dialogues by their log-odds with an informative prior
(Monroe et al., 2008); traits of format and length are those of the leak check. Each becomes one
rule ("system if the response contains it"), which is tested on the other half, with Holm's
correction for all of them. They are ranked by how often that rule alone is right there; what a cue
adds to the stronger ones is given beside it.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput
from dialeval.dialogues.storage import Passages
from dialeval.dialogues.tokens import lower_tokens, tokens
from dialeval.metrics.cue_results import LEXICAL, TOO_FEW, Cue
from dialeval.metrics.leak_results import Leak, LeakReport
from dialeval.metrics.log_odds import LogOdds, log_odds
from dialeval.metrics.significance import holm
from dialeval.protocols.analysis.features import opener_of, words_of
from dialeval.protocols.evaluation.cue_gains import cumulative_accuracies, gains, leak_features
from dialeval.protocols.evaluation.cue_marks import (
    Span,
    lexical_examples,
    trait_examples,
    trait_presence,
)
from dialeval.protocols.evaluation.cue_traits import contexts_of, further_examples, further_features
from dialeval.protocols.leaks import find_leaks
from dialeval.protocols.leaks.features import Feature, Rule
from dialeval.protocols.leaks.measures import responses
from dialeval.protocols.leaks.rows import Rows, align
from dialeval.protocols.leaks.trial import Examples, measure_leaks

ALPHA = 0.05
CANDIDATES = 6
"""Words, phrases etc. of each kind and side that are tested."""
MIN_COUNT = 4
NOTICEABLE = 1.96
"""Log-odds in standard deviations from which a candidate is tested."""
SHOWN = 10
MIN_DIALOGUES = 8
"""Dialogues that each half needs: fewer than for the leak check, because Holm's correction lets
only clear cues pass."""
SAME = 0.8
"""Correlation within one side from which two cues are the same thing."""
MOST_RESPONSES = 20_000
"""Responses of each side in which cues are looked for."""
SHOUTS = 0.3
"""Share of upper-case letters above which the capital at the start is not worth mentioning."""
_RESPONSE = ""
"""Counted once in every response, so that odds are also known of a side that uses only one mark,
or none."""
_COMPOSITE = ("first word", "last word", "vocabulary")
_SAME = ({"upper-case letters", "capital at the start"},)
"""Traits of which the weaker one adds nothing."""


def plain_words_of(text: str) -> list[str]:
    """The words of a response without punctuation, each once."""
    return [word for word in words_of(text) if _is_word(word)]


def punctuation_of(text: str) -> list[str]:
    """The punctuation marks of a response, each once."""
    return [word for word in words_of(text) if not _is_word(word)]


def phrases_of(text: str) -> list[str]:
    """Two and three consecutive words of a response, each once.

    Examples:
        >>> phrases_of("I think so, yes")
        ['i think', 'i think so', 'think so']
    """
    words = lower_tokens(text)
    grams = [
        words[start : start + n] for start in range(len(words)) for n in (2, 3)
        if start + n <= len(words)
    ]  # fmt: skip
    return list(dict.fromkeys(" ".join(gram) for gram in grams if all(map(_is_word, gram))))


def closer_of(text: str) -> list[str]:
    """The last two words of a response, with its punctuation."""
    words = lower_tokens(text)
    return [" ".join(words[-2:])] if len(words) > 1 else []


@lru_cache(maxsize=1 << 16)
def _is_word(token: str) -> bool:
    return any(char.isalnum() for char in token)


KINDS: dict[str, Callable[[str], list[str]]] = {
    "word": plain_words_of,
    "phrase": phrases_of,
    "opener": opener_of,
    "closer": closer_of,
    "punctuation": punctuation_of,
}


_POSITIONS: dict[str, Callable[[Span, str], bool]] = {
    "opener": lambda span, text: not tokens(text[: span[0]]),
    "closer": lambda span, text: not tokens(text[span[1] :]),
}


@dataclass(frozen=True)
class Candidate:
    """A word, phrase etc. that is typical of one side in the training half.

    Args:
        kind (`str`):
            One of `KINDS`.
        text (`str`):
            The word or phrase.
        odds (`LogOdds`):
            Its log-odds; positive where it is typical of the system.
        present (`np.ndarray`):
            Which responses have it, `(rows,)`.
    """

    kind: str
    text: str
    odds: LogOdds
    present: np.ndarray

    def feature(self) -> Feature:
        """The same as one number per response, for a rule."""

        def describe(rule: Rule) -> str:
            side = "human" if rule.human[-1] else "system"
            return f"{side} if the response {_VERBS[self.kind]} “{self.text}”"

        return Feature(self.text, "", self.present.astype(np.float32), describe)


_VERBS = {
    "word": "contains", "phrase": "contains", "punctuation": "contains", "opener": "begins with",
    "closer": "ends with",
}  # fmt: skip


@dataclass(frozen=True)
class Texts:
    """The responses that are compared, in the order of the rows.

    Args:
        rows (`Rows`):
            Sides, dialogues and halves.
        texts (`Sequence[str]`):
            The responses.
        contexts (`Sequence`):
            The turns before each of them.
    """

    rows: Rows
    texts: Sequence[str]
    contexts: Sequence[Sequence[str]]

    @classmethod
    def read(cls, human: Passages, answers: Passages, seed: int) -> "Texts":
        """The responses of both sides.

        Args:
            human, answers (`Passages`):
                Human responses and the system's.
            seed (`int`):
                Seed of the halves.

        Returns:
            `Texts`: Human responses first.
        """
        rows = align(human, answers, seed, MIN_DIALOGUES)
        first, second = dict(responses(human, rows.human)), dict(responses(answers, rows.system))
        texts = [side[at] for side in (first, second) for at in range(len(side))]
        contexts = [*contexts_of(human, rows.human), *contexts_of(answers, rows.system)]
        return cls(rows, texts, contexts)

    def of(self, side: str) -> list[str]:
        """The responses of the `"human"` or the `"system"` side."""
        mask = self.rows.is_human == (side == "human")
        return [self.texts[at] for at in np.flatnonzero(mask).tolist()]

    def contexts_of(self, side: str) -> list[Sequence[str]]:
        """The contexts of the responses of a side."""
        mask = self.rows.is_human == (side == "human")
        return [self.contexts[at] for at in np.flatnonzero(mask).tolist()]


def find_cues(
    system: str, human: Passages, answers: Passages, report: LeakReport | None, seed: int = 0
) -> list[Cue]:
    """What gives a system away, the most telling first.

    Args:
        system (`str`):
            Its name.
        human, answers (`Passages`):
            Human responses and the system's.
        report (`LeakReport`, *optional*):
            Its leak check, whose traits are cues too; made here if there is none, because a run
            with too few dialogues for a leak check may still have clear cues.
        seed (`int`, *optional*, defaults to 0):
            Seed of the halves and of resampling; that of the leak check.

    Returns:
        `list[Cue]`: Significant ones, at most `SHOWN`, without near duplicates.

    Raises:
        BadInput: There are too few dialogues for two halves.
    """
    human, answers = (_first_rows(side) for side in (human, answers))
    texts = Texts.read(human, answers, seed)
    candidates = [row for kind in KINDS for row in candidates_of(kind, texts)]
    further = further_features(texts.texts, texts.contexts)
    features = [*(candidate.feature() for candidate in candidates), *further]
    examples = Examples(human, answers, texts.rows)
    tested = measure_leaks(features, texts.rows, seed, ALPHA, examples)
    report = report or find_leaks(human, answers, seed, min_dialogues=MIN_DIALOGUES)
    leaks: list[tuple[Leak, Candidate | None]] = [*zip(tested, candidates, strict=False)]
    leaks += [(leak, None) for leak in (*tested[len(candidates) :], *_traits(report))]
    adjusted = holm([leak.p_value for leak, _ in leaks])
    ranked = sorted(
        (pair for pair in zip(leaks, adjusted, strict=True) if pair[1] <= ALPHA),
        key=lambda pair: _rank(*pair[0]),
    )
    kept = _without_duplicates(ranked, texts)
    traits = further
    if any(candidate is None for (_, candidate), _ in kept):
        traits = [*further, *leak_features(human, answers, texts.rows)]
    by_name = {feature.name: feature for feature in traits}
    chosen = [by_name.get(leak.name) if candidate is None else candidate.feature()
              for (leak, candidate), _ in kept]  # fmt: skip
    known = [feature for feature in chosen if feature is not None]
    added = gains(cumulative_accuracies(known, texts.rows)) if len(known) == len(kept) else []
    return [
        _cue(system, leak, candidate, float(p), texts, gain)
        for ((leak, candidate), p), gain in zip_longest(kept, added)
    ]


def cues_of(
    systems: Mapping[str, Passages],
    human: Passages,
    reports: Mapping[str, LeakReport],
    seed: int,
    warn: Callable[[str], Any] | None = None,
) -> tuple[Cue, ...]:
    """What gives each system away; nothing about those with too few dialogues.

    Args:
        systems (`Mapping[str, Passages]`):
            Responses of each system.
        human (`Passages`):
            Human responses.
        reports (`Mapping[str, LeakReport]`):
            The leak check of each system.
        seed (`int`):
            Seed of the leak check.
        warn (`Callable`, *optional*):
            Called with a sentence where there are too few dialogues.

    Returns:
        `tuple[Cue, ...]`: Of one system after the other.
    """
    cues: list[Cue] = []
    for system, answers in systems.items():
        try:
            cues += find_cues(system, human, answers, reports.get(system), seed)
        except BadInput:
            if warn is not None:
                warn(f"{TOO_FEW} {system} away.")
    return tuple(cues)


def _rank(leak: Leak, candidate: Candidate | None) -> tuple[float, int, float]:
    """The most telling first; of equal ones the longest, which says best what to change."""
    words = 1 if candidate is None else len(candidate.text.split())
    return -round(leak.accuracy, 2), -words, -leak.accuracy


def _first_rows(passages: Passages) -> Passages:
    return passages.select(range(min(len(passages), MOST_RESPONSES)))


def candidates_of(kind: str, texts: Texts) -> Iterator[Candidate]:
    """What is most typical of either side in the training half, at most `CANDIDATES` of each."""
    features = [KINDS[kind](text) for text in texts.texts]
    counts: dict[bool, Counter[Hashable]] = {True: Counter(), False: Counter()}
    for names, is_human, train in zip(features, texts.rows.is_human, texts.rows.train, strict=True):
        if train:
            counts[bool(is_human)].update([_RESPONSE, *names])
    if len(counts[True] | counts[False]) < 2:  # no response has such a feature
        return
    rows = log_odds(counts[False], counts[True], min_count=MIN_COUNT)
    rows = [row for row in rows if row.word != _RESPONSE]
    chosen = [row for row in rows if row.z >= NOTICEABLE][:CANDIDATES]
    chosen += [row for row in rows[::-1] if row.z <= -NOTICEABLE][:CANDIDATES]
    for row in chosen:
        present = np.array([row.word in names for names in features])
        yield Candidate(kind, str(row.word), row, present)


def _traits(report: LeakReport) -> list[Leak]:
    """The traits of the leak check that say what to change."""
    leaks = {leak.name: leak for leak in (*report.format, *report.content)}
    shouts = "upper-case letters" in leaks and leaks["upper-case letters"].system > SHOUTS
    left_out = [*_COMPOSITE, "capital at the start" if shouts else ""]
    return [leak for name, leak in leaks.items() if name not in left_out]


def _without_duplicates(
    ranked: Iterable[tuple[tuple[Leak, Candidate | None], float]], texts: Texts
) -> list[tuple[tuple[Leak, Candidate | None], float]]:
    """At most `SHOWN`, without those that say the same as a stronger one."""
    kept: list[tuple[tuple[Leak, Candidate | None], float]] = []
    columns: list[np.ndarray | None] = []
    for pair in ranked:
        (leak, candidate), _ = pair
        if len(kept) == SHOWN or any(_is_same(leak, candidate, *other) for other, _ in kept):
            continue
        column = _presence(leak, candidate, texts)
        if not any(_is_correlated(column, other, texts.rows.is_human) for other in columns):
            kept.append(pair)
            columns.append(column)
    return kept


def _presence(leak: Leak, candidate: Candidate | None, texts: Texts) -> np.ndarray | None:
    """Which responses have a cue; `None` for a cue that is not yes or no."""
    return trait_presence(texts.texts, leak.name) if candidate is None else candidate.present


def _is_correlated(first: np.ndarray | None, second: np.ndarray | None, human: np.ndarray) -> bool:
    """Whether two cues come together within a side: between the sides all cues correlate."""
    if first is None or second is None:
        return False
    sides = [(first[side], second[side]) for side in (human, ~human)]
    varied = [pair for pair in sides if all(0 < column.sum() < len(column) for column in pair)]
    return any(abs(np.corrcoef(*pair)[0, 1]) >= SAME for pair in varied)


def _is_same(
    leak: Leak, candidate: Candidate | None, other_leak: Leak, other: Candidate | None
) -> bool:
    """Whether a cue contains the other, or measures the same."""
    if candidate is None or other is None:
        names = {leak.name, other_leak.name}
        is_length = all(name.startswith("length in") for name in names)
        return candidate is other and (is_length or any(names <= group for group in _SAME))
    shorter, longer = sorted([candidate.text, other.text], key=len)
    if f" {shorter} " not in f" {longer} ":
        return False
    both = (candidate.present & other.present).sum()
    return bool(both >= 0.5 * min(candidate.present.sum(), other.present.sum()))


def _cue(
    system: str, leak: Leak, candidate: Candidate | None, p_holm: float, texts: Texts,
    gain: float | None,
) -> Cue:  # fmt: skip
    side = "system" if leak.system >= leak.human else "human"
    if candidate is not None:
        kind, odds = candidate.kind, candidate.odds.log_odds
        keep = _POSITIONS.get(kind, lambda span, text: True)
        mask = candidate.present & (texts.rows.is_human == (side == "human"))
        having = (texts.texts[at] for at in np.flatnonzero(mask).tolist())
        examples = lexical_examples(having, candidate.text.split(" "), keep)
    else:
        kind, odds = _kind(leak), None
        # What a system lacks can only be shown in human replies; of a measure, it has its own.
        side = side if trait_presence([], leak.name) is not None else "system"
        replies, has_more = texts.of(side), side == "human" or leak.system >= leak.human
        examples = further_examples(leak.name, replies, texts.contexts_of(side)) or trait_examples(
            replies, leak.name, has_more
        )
    return Cue(
        system, kind, leak.name, side, leak.system, leak.human, leak.accuracy, leak.low, leak.high,
        p_holm, leak.rule, "" if kind in LEXICAL else leak.measures, odds, leak.hint, examples,
        gain,
    )  # fmt: skip


def _kind(leak: Leak) -> str:
    if leak.name.startswith("length in") or leak.name == "maximal length":
        return "length"
    return "format" if leak.hint else "content"
