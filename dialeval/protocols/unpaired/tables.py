"""The tables of scores of one system's pile, each computed once and kept in the run folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dialeval.dialogues.types import text_key
from dialeval.protocols.evaluation.crossfit import cached_table
from dialeval.protocols.evaluation.evaluators import FitContext, code_key, fit_function
from dialeval.protocols.evaluation.frozen import FrozenScorer
from dialeval.protocols.unpaired.matching import Matches, matched_rows, matched_test
from dialeval.protocols.unpaired.piles import PilePair
from dialeval.protocols.unpaired.scoring import (
    apply_rows,
    crossfit_rows,
    heldout_rows,
    pile_test,
)
from dialeval.protocols.unpaired.views import PARTNER, RESPONSE, ViewRows, view_rows
from dialeval.run_folder import RunFolder

MIN_ROWS = 20
"""Rows of each pile that a view needs."""


@dataclass
class PileTables:
    """Scores of one system's pile and the human one, by evaluator, view and seed.

    Args:
        piles (`PilePair`):
            Both piles.
        key (`str`):
            A hash of them and of the folds.
        folder (`RunFolder`):
            Keeps tables and p-values.
        folds (`int`):
            Number of folds.
        fit_context (`FitContext`):
            What evaluators share.
        frozen (`Mapping[str, FrozenScorer]`):
            Evaluators that are not trained here.
        on_table (`Callable`):
            Called with what was computed.
    """

    piles: PilePair
    key: str
    folder: RunFolder
    folds: int
    fit_context: FitContext
    frozen: Mapping[str, FrozenScorer]
    on_table: Callable[[str], Any]
    _rows: dict[str, ViewRows] = field(default_factory=dict)
    _tables: dict[tuple[str, str, int], pa.Table] = field(default_factory=dict)

    def rows(self, view: str) -> ViewRows:
        """Both piles in a view."""
        if view not in self._rows:
            self._rows[view] = view_rows(self.piles, view)
        return self._rows[view]

    def has(self, view: str) -> bool:
        """Whether both piles have enough to read in a view."""
        rows = self.rows(view)
        return min(len(rows.human), len(rows.system)) >= MIN_ROWS

    def table(self, evaluator: str, view: str, seed: int) -> pa.Table:
        """Out-of-fold scores of all rows of a view.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            view (`str`):
                What it reads.
            seed (`int`):
                Seed of folds and evaluator.

        Returns:
            `pa.Table`: One row per turn.
        """
        name = (evaluator, view, seed)
        if name not in self._tables:
            path = self.folder.cache(f"{self._key('table', *name)}.parquet")
            self._tables[name] = cached_table(path, lambda: self._score(*name))
            self.on_table(f"{evaluator}, {view}")
        return self._tables[name]

    def _score(self, evaluator: str, view: str, seed: int) -> pa.Table:
        if evaluator in self.frozen:
            return self._apply(evaluator, self.rows(view))
        fit = fit_function(evaluator)
        return crossfit_rows(fit, self.rows(view), self.folds, seed, self.fit_context)

    def _apply(self, evaluator: str, rows: ViewRows) -> pa.Table:
        """Scores by an evaluator that is not trained here; its threshold fits what it reads."""
        return apply_rows(self.frozen[evaluator].for_humans(rows.human), rows)

    def p_value(self, evaluator: str, view: str, seed: int) -> float:
        """P-value of the test on a held-out half of the dialogues.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            view (`str`):
                What it reads.
            seed (`int`):
                Seed of halves and evaluator.

        Returns:
            `float`: One-sided, dialogues being the units.
        """

        def make() -> float:
            if evaluator in self.frozen:  # nothing was learnt here, so all dialogues are held out
                return pile_test(self.table(evaluator, view, seed), seed)
            fit = fit_function(evaluator)
            return pile_test(heldout_rows(fit, self.rows(view), seed, self.fit_context), seed)

        key = self._key("test", evaluator, view, seed)
        return float(self.folder.cached_json(key, make))

    def matched_control(self, evaluator: str, matches: Matches, seed: int) -> pa.Table:
        """Scores of the partners' turns of matched dialogues by an evaluator fitted to such.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            matches (`Matches`):
                Matched dialogues.
            seed (`int`):
                Seed of folds and evaluator.

        Returns:
            `pa.Table`: Units are matches.
        """
        rows = matched_rows(self.rows(PARTNER), matches)
        key = self._key("matched", evaluator, _matches_key(matches), seed)

        def make() -> pa.Table:
            if evaluator in self.frozen:
                return self._apply(evaluator, rows)
            folds = max(2, min(self.folds, len(matches) // 2))
            return crossfit_rows(fit_function(evaluator), rows, folds, seed, self.fit_context)

        return cached_table(self.folder.cache(f"{key}.parquet"), make)

    def matched_p(self, evaluator: str, matches: Matches, seed: int) -> float:
        """P-value of the held-out test within matches.

        Args:
            evaluator (`str`):
                Name of the evaluator.
            matches (`Matches`):
                Matched dialogues.
            seed (`int`):
                Seed of the evaluator.

        Returns:
            `float`: One-sided, matches being the units.
        """
        from dialeval.protocols.unpaired.matching import swap_test, within_matches

        def make() -> float:
            if evaluator in self.frozen:
                table = within_matches(self.table(evaluator, RESPONSE, seed), matches)
                return swap_test(table, matches.number, seed)
            fit = fit_function(evaluator)
            return matched_test(fit, self.rows(RESPONSE), matches, seed, self.fit_context)

        key = self._key("matched test", evaluator, _matches_key(matches), seed)
        return float(self.folder.cached_json(key, make))

    def _key(self, kind: str, evaluator: str, view: str, seed: int) -> str:
        is_frozen = evaluator in self.frozen
        weights = self.frozen[evaluator].key if is_frozen else code_key(evaluator)
        return text_key(["unpaired", kind, self.key, evaluator, weights, view, str(seed)])


def _matches_key(matches: Matches) -> str:
    return text_key([*matches.human.tolist(), *matches.system.tolist()])
