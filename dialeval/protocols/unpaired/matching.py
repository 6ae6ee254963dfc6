"""Dialogues of two piles whose partners say comparable things, and the comparison within them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import TfidfVectorizer

from dialeval.dialogues import Passages
from dialeval.dialogues.types import text_hash
from dialeval.metrics.pooling import log_odds
from dialeval.metrics.propensity import caliper_matches
from dialeval.metrics.significance import sign_flip_test
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.unpaired.piles import MIN_DIALOGUES
from dialeval.protocols.unpaired.scoring import dialogue_means, score_rows
from dialeval.protocols.unpaired.views import ViewRows, training_pairs

MIN_MATCHES = 10
"""Matched pairs of dialogues that a comparison within them needs."""
MOST_DIALOGUES = 2_000
"""Dialogues of a pile that are matched; more are drawn at random."""


@dataclass(frozen=True)
class Matches:
    """Matched dialogues, one of each pile.

    Args:
        human, system (`np.ndarray`):
            Ids of the dialogues, match by match.
        share (`float`):
            Share of the smaller pile's dialogues that are matched.
    """

    human: np.ndarray
    system: np.ndarray
    share: float

    def __len__(self) -> int:
        return len(self.human)

    @property
    def number(self) -> dict[str, int]:
        """The match of each dialogue."""
        pairs = enumerate(zip(self.human.tolist(), self.system.tolist(), strict=True))
        return {name: index for index, pair in pairs for name in pair}


def match_dialogues(control: pa.Table, seed: int) -> Matches:
    """The closest dialogues of the two piles within calipers of the topic control's score.

    The propensity is how much the partners' turns look like those of the human pile, to an
    evaluator that was not trained on them. Within its calipers dialogues are paired by the words
    of the partners (TF-IDF).

    Args:
        control (`pa.Table`):
            Out-of-fold scores of the partners' turns.
        seed (`int`):
            Seed of the draw where a pile is large.

    Returns:
        `Matches`: One to one.
    """
    names, label, means = dialogue_means(control)
    propensity = log_odds(means)
    sides = [_at_most(np.flatnonzero(side), seed) for side in (label, ~label)]
    texts = _partner_texts(control)
    vectors = TfidfVectorizer(sublinear_tf=True).fit_transform(
        [texts[names[index]] or "-" for side in sides for index in side]
    )
    split = len(sides[0])
    distances = 1 - (vectors[:split] @ vectors[split:].T).toarray()
    left, right = caliper_matches(propensity[sides[0]], propensity[sides[1]], distances)
    smaller = min(map(len, sides))
    return Matches(names[sides[0][left]], names[sides[1][right]], len(left) / max(1, smaller))


def _at_most(rows: np.ndarray, seed: int) -> np.ndarray:
    if len(rows) <= MOST_DIALOGUES:
        return rows
    return np.sort(np.random.default_rng(seed).permutation(rows)[:MOST_DIALOGUES])


def _partner_texts(control: pa.Table) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    for name, text in zip(
        control["dialogue_id"].to_pylist(), control["response"].to_pylist(), strict=True
    ):
        texts.setdefault(name, []).append(text)
    return {name: " ".join(parts) for name, parts in texts.items()}


def within_matches(table: pa.Table, matches: Matches) -> pa.Table:
    """The rows of matched dialogues, with the match as their unit."""
    number = matches.number
    rows = [index for index, name in enumerate(table["dialogue_id"].to_pylist()) if name in number]
    part = table.take(pa.array(rows, pa.int64()))
    units = [f"match {number[name]}" for name in part["dialogue_id"].to_pylist()]
    column = part.schema.get_field_index("unit")
    return part.set_column(column, "unit", pa.array(units, pa.string()))


def matched_rows(rows: ViewRows, matches: Matches) -> ViewRows:
    """The rows of matched dialogues; both dialogues of a match are one unit."""
    number = matches.number
    sides, units = [], []
    for side in (rows.human, rows.system):
        names = side["dialogue_id"][:]
        index = [row for row, name in enumerate(names) if name in number]
        sides.append(side.select(index))
        units.append(np.array([f"match {number[names[row]]}" for row in index]))
    return ViewRows(sides[0], sides[1], (units[0], units[1]))


def matched_test(
    fit: Fit, rows: ViewRows, matches: Matches, seed: int, fit_context: FitContext
) -> float:
    """One-sided p-value that the human dialogue of a match has the higher score.

    The evaluator is fitted to all other dialogues and tested on matches that it has not seen, by
    swapping the two dialogues of a match. With many matches half of them are for the test; with
    few ones all, if there are enough unmatched dialogues to learn from.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        rows (`ViewRows`):
            Responses of both piles.
        matches (`Matches`):
            Matched dialogues.
        seed (`int`):
            Seed of the draw and of the evaluator.
        fit_context (`FitContext`):
            What evaluators share.

    Returns:
        `float`: The p-value; 1 where there is nothing to learn from.
    """
    number = matches.number
    tested = _test_matches(len(matches), seed)
    known = (_matches_of(side, number) for side in (rows.human, rows.system))
    test = tuple(np.isin(index, tested) for index in known)
    held_out = np.concatenate([units[held] for units, held in zip(rows.units, test, strict=True)])
    learn = tuple(~np.isin(units, held_out) for units in rows.units)
    counts = (
        len(set(np.asarray(side["dialogue_id"][:])[chosen].tolist()))
        for side, chosen in zip((rows.human, rows.system), learn, strict=True)
    )
    if min(counts) < MIN_DIALOGUES:
        return 1.0
    scorer = fit(training_pairs(rows, (learn[0], learn[1]), seed), seed, fit_context)
    table = pa.concat_tables(score_rows(scorer, rows, (test[0], test[1]), 1))
    return swap_test(table, number, seed)


def _test_matches(count: int, seed: int) -> np.ndarray:
    """The matches that are tested: all, or half of them where there are many."""
    if count < 4 * MIN_MATCHES:
        return np.arange(count)
    keys = [text_hash(["match", str(seed), str(index)]) for index in range(count)]
    return np.argsort(keys)[: count // 2]


def _matches_of(passages: Passages, number: Mapping[str, int]) -> np.ndarray:
    return np.array([number.get(name, -1) for name in passages["dialogue_id"][:]])


def swap_test(table: pa.Table, number: Mapping[str, int], seed: int) -> float:
    """The test, from scores of both dialogues of every match.

    Args:
        table (`pa.Table`):
            Scores of matched dialogues.
        number (`Mapping[str, int]`):
            The match of each dialogue.
        seed (`int`):
            Seed of random signs.

    Returns:
        `float`: One-sided p-value.
    """
    names, label, means = dialogue_means(table)
    match = np.array([number[name] for name in names.tolist()])
    difference = np.zeros(int(match.max()) + 1)
    np.add.at(difference, match, np.where(label, means, -means))
    return sign_flip_test(difference[np.unique(match)], seed)
