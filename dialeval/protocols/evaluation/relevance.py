"""The second axis: how closely a system's replies follow their contexts.

The control evaluators, which were trained on human and random replies and never saw a machine, are
applied to every system. Nothing is trained for it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from dialeval.dialogues import Passages
from dialeval.dialogues.splits import row_hashes
from dialeval.files import atomic_write
from dialeval.metrics.relevance import relevance
from dialeval.protocols.evaluation.crossfit import crossfit, finite_scores
from dialeval.protocols.evaluation.evaluators import fit_function
from dialeval.protocols.evaluation.folds import fold_numbers
from dialeval.protocols.evaluation.measures import Measure
from dialeval.protocols.evaluation.tables import RESPONSE_EVALUATORS, ScoreTables

CONTROL = "human_random"
_COLUMNS = pa.schema({"id": pa.string(), "dialogue_id": pa.string(), "score": pa.float64()})


class ControlScores:
    """Scores of the systems' replies by an evaluator that was trained on human and random ones.

    Each reply is scored by the evaluator that did not see its dialogue. All systems that have no
    scores yet are scored in one pass over the folds.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        evaluator (`str`):
            Name of the evaluator.
    """

    def __init__(self, tables: ScoreTables, evaluator: str):
        self.tables, self.evaluator = tables, evaluator
        names = () if evaluator in RESPONSE_EVALUATORS else tables.data.names
        self.keys = {name: tables.key(evaluator, name, "relevance") for name in names}

    def compute(self) -> pa.Table:
        """The table of the control; systems are scored on the way.

        Raises:
            BadInput: The data are too few.
        """
        tables, evaluator = self.tables, self.evaluator
        missing = [name for name, key in self.keys.items() if not self._path(key).is_file()]
        if evaluator in tables.frozen or not missing:
            return tables.table(evaluator, "", CONTROL)
        folds = tables.fold_pairs("", CONTROL, tables.folds, tables.run.seed)
        sides = {name: self._by_fold(tables.data.answers(name)) for name in missing}
        parts: dict[str, list[pa.Table]] = {name: [] for name in missing}

        def score_systems(number: int, scorer: Any) -> None:
            for name, (passages, fold) in sides.items():
                rows = np.flatnonzero(fold == number)
                if len(rows):
                    parts[name].append(_scored(scorer, passages.select(rows)))

        def make() -> pa.Table:
            what = f"{evaluator}, humans, {CONTROL}"
            return crossfit(
                fit_function(evaluator), folds, tables.run.seed, tables.fit_context, shuffled=True,
                on_fold=lambda: tables.step(1, what), on_scorer=score_systems,
            )  # fmt: skip

        table = make()  # also where the control is cached: new systems need its evaluators
        _write(tables.table_path(evaluator, "", CONTROL), table)
        for name, scored in parts.items():
            _write(self._path(self.keys[name]), pa.concat_tables(scored))
        tables.main[evaluator, "", CONTROL] = table
        return table

    def relevance(self, system: str, control: pa.Table) -> Measure | None:
        """The relevance of a system's replies.

        Args:
            system (`str`):
                Name of the system.
            control (`pa.Table`):
                What `compute` returned.

        Returns:
            `Measure` or `None`: `None` where the evaluator does not read the context, or does not
            prefer human replies to random ones.
        """
        if system not in self.keys or self.evaluator in self.tables.frozen:
            return None
        scored = parquet.read_table(self._path(self.keys[system]))
        human, random = (_by_id(control, label) for label in (1, 0))
        names = scored["id"].to_pylist()
        try:
            numbers = relevance(
                scored["score"].to_numpy(),
                [human[name] for name in names],
                [random[name] for name in names],
                groups=scored["dialogue_id"].to_pylist(),
                seed=self.tables.run.seed,
            )
        except ValueError:
            return None
        details = {key: numbers[key] for key in ("system_score", "human_score", "random_score")}
        return Measure(numbers["relevance"], numbers["low"], numbers["high"], numbers["n"], details)

    def _by_fold(self, answers: Passages) -> tuple[Passages, np.ndarray]:
        """A system's replies, and the fold of the dialogue of each."""
        tables = self.tables
        human = tables.data.human
        number = fold_numbers(human, tables.folds, tables.run.seed)
        dialogues = row_hashes(human, ["dialogue_id"])
        fold_of: Mapping[int, int] = dict(zip(dialogues.tolist(), number.tolist(), strict=True))
        return answers, np.array(
            [fold_of[key] for key in row_hashes(answers, ["dialogue_id"]).tolist()]
        )

    def _path(self, key: str) -> Path:
        return self.tables.folder.cache(f"{key}.parquet")


def _write(path: Path, table: pa.Table) -> None:
    with atomic_write(path, "wb") as file:
        parquet.write_table(table, file)


def _scored(scorer: Any, passages: Passages) -> pa.Table:
    columns = {name: passages[name][:] for name in ("id", "dialogue_id")}
    return pa.table({**columns, "score": finite_scores(scorer, passages)}, _COLUMNS)


def _by_id(table: pa.Table, label: int) -> dict[str, float]:
    """The score of each context's response of one class."""
    part = table.filter(pc.equal(table["label"], label))
    return dict(zip(part["id"].to_pylist(), part["score"].to_pylist(), strict=True))
