"""Do judges travel? Trained on one system, or on random replies, and applied to every other."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import concatenate_datasets

from dialeval.dialogues import (
    BadInput,
    Pairing,
    Passages,
    atomic_write,
    iterate,
    select,
    to_passages,
)
from dialeval.dialogues.types import text_key
from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.paired import paired_bootstrap
from dialeval.metrics.results import Result, plain, signature, versions
from dialeval.protocols.evaluation.collector import library_versions, turns_of
from dialeval.protocols.evaluation.crossfit import fold_numbers, judged
from dialeval.protocols.evaluation.evaluators import EVALUATORS, FitContext
from dialeval.protocols.evaluation.frozen import (
    AGAINST,
    FrozenScorer,
    frozen_names,
    load_frozen,
    warn_if_trained_against,
)
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.tables import content

RANDOM, ALL, OTHERS = "random replies", "all systems", "others"
"""What a judge may be trained on beside single systems; others are not in this run."""
FEWEST = 5  # dialogues in each half
_BESIDE = ("auroc", "pairwise_accuracy", "machines_predicted_human", "humans_predicted_machine")

OnProgress = Callable[[int, int, str], Any]


@dataclass(frozen=True)
class Transfer:
    """How well one evaluator, trained on each thing, tells each system from humans.

    Args:
        trained_on, tested_on (`list[str]`):
            Rows and columns of the matrix.
        results (`list[Result]`):
            A cell each, row by row; `details["diagonal"]` where both are the same.
    """

    evaluator: str
    trained_on: list[str]
    tested_on: list[str]
    results: list[Result]
    warnings: list[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def matrix(self, part: str = "value") -> np.ndarray:
        """Accuracies, or the `low` or `high` ends of their intervals, `(trained on, tested on)`."""
        numbers = [getattr(each, part) for each in self.results]
        return np.array(numbers, dtype=float).reshape(len(self.trained_on), len(self.tested_on))

    def to_dict(self) -> dict[str, Any]:
        """The matrix as JSON knows it, every cell with its interval and signature."""
        return plain(
            {
                "evaluator": self.evaluator,
                "trained_on": self.trained_on,
                "tested_on": self.tested_on,
                "matrix": self.matrix(),
                "results": [each.to_dict() for each in self.results],
                "warnings": self.warnings,
                "settings": self.settings,
            }
        )


def transfer(
    data: EvaluationData,
    evaluator: str = "svm-unigram",
    seed: int = 0,
    fit_context: FitContext | None = None,
    on_progress: OnProgress = lambda done, total, what: None,
    folder: Path | str = "runs/transfer",
) -> Transfer:
    """The matrix of one evaluator: trained on a row's responses, applied unchanged to a column's.

    One that is saved, or never was trained, gives the single row "others".

    Every judge learns on one half of the dialogues and is tested on the other, the same for all,
    and from the same number of pairs: "all systems" takes turns among the systems. The row
    "random replies" knows human dialogues alone (Bruni and Fernández, 2017, sec. 5.2, apply such a
    judge to a generator); what a judge loses off the diagonal is the worry about one critic for
    all systems (Kannan and Vinyals, 2016, sec. 4).

    Raises:
        BadInput: For an unknown evaluator, or where a half has too few dialogues.
    """
    judge = _fixed(evaluator, data, folder)
    train, test = halves(data, seed)
    columns, fit_context = list(test), fit_context or FitContext()
    train[ALL] = taking_turns([train[name] for name in data.systems], seed)
    train = {OTHERS: None} if judge else train
    sizes = {name: pairs and len(pairs) // 2 for name, pairs in train.items()}
    cells: dict[tuple[str, str], tuple[pa.Table, dict[str, Any]]] = {}
    for row, (name, pairs) in enumerate(train.items()):
        on_progress(row, len(train), f"{evaluator}, trained on {name}")
        scorer = judge or EVALUATORS[evaluator](pairs, seed, fit_context)
        for column in columns:
            table = judged(scorer, test[column])
            cells[name, column] = table, _accuracy(table, scorer, seed)
    on_progress(len(train), len(train), "done")
    name = judge.name if judge else evaluator
    how = {"ctx": turns_of(data.human), "thr": f"{scorer.decision.threshold:.4g}", "seed": seed}
    results = [_result(name, cells, *key, sizes, how) for key in cells]
    settings = {"evaluator": name, "seed": seed, "split": "halves", "n_train": sizes}
    warnings = [*data.warnings, *(_warnings(data, judge) if judge else ())]
    return Transfer(name, list(train), columns, results, warnings, settings)


def _fixed(evaluator: str, data: EvaluationData, folder: Path | str) -> FrozenScorer | None:
    """The judge where it is not to be trained here, with a threshold."""
    named = frozen_names([evaluator], EVALUATORS)
    if not named:
        return None
    judge = load_frozen(*next(iter(named.items())))
    key = text_key([judge.key, content(data.human)])
    judge.decide(data.human, Path(folder) / "cache" / f"{key}.json")
    return judge


def _warnings(data: EvaluationData, judge: FrozenScorer) -> Iterator[str]:
    for system, training in data.training.items():
        if warn_if_trained_against(training, judge):
            yield f"{system}: {judge.name} {AGAINST}"


def halves(data: EvaluationData, seed: int = 0) -> tuple[dict[str, Passages], dict[str, Passages]]:
    """Pairs to learn from and pairs to be tested on, by what stands against the human responses.

    No dialogue is in both halves, random replies are drawn inside theirs, and a context is in the
    same half for every system.
    """
    reserved = [name for name in (RANDOM, ALL) if name in data.systems]
    if reserved:
        hint = "Give the system another name."
        raise BadInput(f"{reserved[0]!r} stands for something else here.", hint=hint)
    number = fold_numbers(data.human, 2, seed)
    parts = [select(data.human, number == half) for half in (0, 1)]
    fewest = min(len(set(part["dialogue_id"])) for part in parts)
    if fewest < FEWEST:
        raise BadInput(
            f"a half has {fewest} dialogues, and at least {FEWEST} are needed.",
            hint="Give more dialogues.",
        )
    found = [{RANDOM: Pairing("human_random", seed=seed)(part)} for part in parts]
    for name, answers in data.systems.items():
        for half, part in enumerate(parts):
            replies = _as_answers(part, select(answers, number == half), name)
            found[half][name] = Pairing("human_machine", seed=seed)(part, replies)
    return found[0], found[1]


def taking_turns(parts: list[Passages], seed: int = 0) -> Passages:
    """As many pairs as one system has, each context with the reply of one of them."""
    count = min(len(part) // 2 for part in parts)
    turn = np.random.default_rng(seed).permutation(count) % len(parts)
    chosen = [
        part.select(np.flatnonzero(np.isin(part["pair"], np.flatnonzero(turn == place))))
        for place, part in enumerate(parts)
    ]
    return concatenate_datasets([part for part in chosen if len(part)])


def write_transfer(found: list[Transfer], folder: Path | str) -> Path:
    """Write the matrices of some evaluators as `transfer.json`, and give its path."""
    path = Path(folder) / "transfer.json"
    told = {"transfers": [each.to_dict() for each in found], "versions": versions()}
    with atomic_write(path) as file:
        json.dump(told, file, ensure_ascii=False, indent=2, allow_nan=False)
        file.write("\n")
    return path


def _as_answers(human: Passages, answers: Passages, system: str) -> Passages:
    """A system's replies under the human rows' ids, so that both sides share their dialogue."""
    rows = zip(iterate(human), answers["response"], strict=True)
    return to_passages(passage.with_response(text, system) for passage, text in rows)


def _accuracy(table: pa.Table, scorer: Any, seed: int) -> dict[str, Any]:
    return adversuc(
        table["score"].to_numpy(),
        table["label"].to_numpy(),
        threshold=scorer.decision.threshold,
        higher_is_human=scorer.higher_is_human,
        groups=table["dialogue_id"].to_pylist(),
        pairs=table["pair"].to_pylist(),
        seed=seed,
    )


def _result(
    evaluator: str,
    cells: Mapping[tuple[str, str], tuple[pa.Table, dict[str, Any]]],
    row: str,
    column: str,
    sizes: Mapping[str, int | None],
    how: Mapping[str, Any],
) -> Result:
    table, found = cells[row, column]
    text = signature(
        metric="transfer_accuracy", evaluator=evaluator, system=column, trained_on=row,
        split="halves", n_train=sizes[row], n=found["n"], **how, **library_versions(),
    )  # fmt: skip
    details = {"trained_on": row, "diagonal": row == column, "n_train": sizes[row]}
    details |= {name: found[name] for name in _BESIDE}
    if row != column and (column, column) in cells:
        details |= _lost(cells[column, column][0], table, how["seed"])
    accuracy, ends = found["accuracy"], (1 - found["high"], 1 - found["low"])
    return Result(
        "transfer_accuracy", column, evaluator, accuracy, *ends, found["n"], text, details
    )


def _lost(own: pa.Table, other: pa.Table, seed: int) -> dict[str, float]:
    """What a judge trained elsewhere loses against the one trained on the column, paired."""
    rights = [
        (table["taken"].to_numpy() == (table["label"].to_numpy() == 1)) for table in (own, other)
    ]
    found = paired_bootstrap(*rights, groups=own["dialogue_id"].to_pylist(), seed=seed)
    return {"lost": found["difference"], "lost_low": found["low"], "lost_high": found["high"]}
