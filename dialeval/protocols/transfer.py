"""Transfer of evaluators: trained on one system, or on random replies, applied to the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import concatenate_datasets

from dialeval.dialogues import (
    BadInput,
    Pairing,
    Passages,
    iterate,
    select,
    to_passages,
)
from dialeval.dialogues.types import text_key
from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.paired import paired_bootstrap
from dialeval.metrics.results import Result, signature, versions
from dialeval.metrics.transfer_results import Transfer
from dialeval.protocols.evaluation.collector import library_versions, turns_of
from dialeval.protocols.evaluation.crossfit import score_pairs
from dialeval.protocols.evaluation.evaluators import FitContext, fit_function, fitted_names
from dialeval.protocols.evaluation.folds import fold_numbers, renumbered
from dialeval.protocols.evaluation.frozen import (
    AGAINST,
    FrozenScorer,
    frozen_names,
    load_frozen,
    warn_if_trained_against,
)
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.measures import correct
from dialeval.protocols.evaluation.tables import content_key
from dialeval.run_folder import RunFolder

RANDOM, ALL, OTHERS = "random replies", "all systems", "others"
"""Training data other than single systems; `OTHERS` are data outside this run."""
MIN_DIALOGUES = 5  # in each half
_DETAILS = ("auroc", "pairwise_accuracy", "machines_predicted_human", "humans_predicted_machine")

OnProgress = Callable[[int, int, str], Any]


@dataclass(frozen=True)
class _Cell:
    """Scores of an evaluator on the test half of a system, and numbers from them."""

    table: pa.Table
    numbers: Mapping[str, Any]


def transfer(
    data: EvaluationData,
    evaluator: str = "svm-unigram",
    seed: int = 0,
    fit_context: FitContext | None = None,
    on_progress: OnProgress = lambda done, total, what: None,
    folder: Path | str = "runs/transfer",
) -> Transfer:
    """The matrix of one evaluator: trained on a row's responses, applied unchanged to a column's.

    Every evaluator is trained on one half of the dialogues and tested on the other, the same for
    all, and on the same number of pairs: "all systems" alternates between the systems. The row
    "random replies" is trained on human dialogues alone (Bruni and Fernández, 2017, sec. 5.2,
    apply such a discriminator to a generator); the loss off the diagonal shows whether one
    evaluator serves for all systems (Kannan and Vinyals, 2016, sec. 4).

    Args:
        data (`EvaluationData`):
            Human passages and systems.
        evaluator (`str`, *optional*, defaults to `"svm-unigram"`):
            Name of the evaluator; a saved or untrained one gives the single row "others".
        seed (`int`, *optional*, defaults to 0):
            Seed of halves, pairs, evaluator and intervals.
        fit_context (`FitContext`, *optional*):
            What evaluators share.
        on_progress (`Callable`, *optional*):
            Called with the number of rows done, their total, and a description.
        folder (`Path` or `str`, *optional*, defaults to `"runs/transfer"`):
            Folder of the cache.

    Returns:
        `Transfer`: The matrix.

    Raises:
        BadInput: The evaluator is unknown, or a half has too few dialogues.
    """
    frozen = _load_frozen(evaluator, data, folder)
    train, test = halves(data, seed)
    context = fit_context or FitContext()
    train[ALL] = alternate([train[name] for name in data.systems], seed)
    rows: dict[str, Passages | None] = {OTHERS: None} if frozen else {**train}
    sizes = {name: pairs and len(pairs) // 2 for name, pairs in rows.items()}
    cells: dict[tuple[str, str], _Cell] = {}
    scorer: Any = frozen
    for number, (name, pairs) in enumerate(rows.items()):
        on_progress(number, len(rows), f"{evaluator}, trained on {name}")
        if pairs is not None:
            scorer = fit_function(evaluator)(pairs, seed, context)
        for column, test_pairs in test.items():
            table = score_pairs(scorer, test_pairs)
            cells[name, column] = _Cell(table, _numbers(table, scorer, seed))
    on_progress(len(rows), len(rows), "done")
    name = frozen.name if frozen else evaluator
    parts = {"ctx": turns_of(data.human), "thr": f"{scorer.decision.threshold:.4g}", "seed": seed}
    results = [_result(name, cells, *key, sizes, parts) for key in cells]
    settings = {"evaluator": name, "seed": seed, "split": "halves", "n_train": sizes}
    warnings = [*data.warnings, *(_training_warnings(data, frozen) if frozen else ())]
    return Transfer(name, list(rows), list(test), results, warnings, settings)


def _load_frozen(evaluator: str, data: EvaluationData, folder: Path | str) -> FrozenScorer | None:
    """The evaluator, with a threshold, if it is not to be trained here."""
    names = frozen_names([evaluator], fitted_names([evaluator]))
    if not names:
        return None
    frozen = load_frozen(*next(iter(names.items())))
    key = text_key([frozen.key, content_key(data.human)])
    frozen.choose_threshold(data.human, RunFolder(folder), key)
    return frozen


def _training_warnings(data: EvaluationData, frozen: FrozenScorer) -> Iterator[str]:
    seen = frozen.check_seen(data.human)
    if seen:
        yield seen
    for system, training in data.training.items():
        if warn_if_trained_against(training, frozen):
            yield f"{system}: {frozen.name} {AGAINST}"


def halves(data: EvaluationData, seed: int = 0) -> tuple[dict[str, Passages], dict[str, Passages]]:
    """Pairs for training and pairs for testing, by what is compared with the human responses.

    No dialogue is in both halves, random replies are drawn within a half, and a context is in the
    same half for every system. Human replies of the other half that a system repeats are left out.
    """
    reserved = [name for name in (RANDOM, ALL) if name in data.systems]
    if reserved:
        hint = "Give the system another name."
        raise BadInput(f"{reserved[0]!r} is a reserved name here.", hint=hint)
    number = fold_numbers(data.human, 2, seed)
    parts = [select(data.human, number == half) for half in (0, 1)]
    fewest = min(len(set(part["dialogue_id"])) for part in parts)
    if fewest < MIN_DIALOGUES:
        raise BadInput(
            f"a half has {fewest} dialogues, and at least {MIN_DIALOGUES} are needed.",
            hint="Give more dialogues.",
        )
    pairs = [{RANDOM: Pairing("human_random", seed=seed)(part)} for part in parts]
    for name, answers in data.systems.items():
        for half, part in enumerate(parts):
            replies = _with_human_ids(part, select(answers, number == half), name)
            made = Pairing("human_machine", seed=seed)(part, replies)
            pairs[half][name] = _without_replies_of(parts[1 - half], made)
    return pairs[0], pairs[1]


def _without_replies_of(other: Passages, pairs: Passages) -> Passages:
    """The pairs without those whose reply was said in a dialogue of the other half."""
    dialogues = set(other["dialogue_id"][:])
    known = np.array([source in dialogues for source in pairs["source_dialogue_id"][:]])
    if not known.any():
        return pairs
    numbers = np.asarray(pairs["pair"])
    kept = ~np.isin(numbers, numbers[known])
    if not kept.any():
        raise BadInput("a system only repeats human replies of the other half.",
                       hint="Let it take its replies from other data.")  # fmt: skip
    return renumbered(select(pairs, kept), np.unique(numbers[kept], return_inverse=True)[1])


def alternate(parts: list[Passages], seed: int = 0) -> Passages:
    """As many pairs as one system has, each context with the reply of one of the systems."""
    count = min(len(part) // 2 for part in parts)
    turn = np.random.default_rng(seed).permutation(count) % len(parts)
    selected = [
        part.select(np.flatnonzero(np.isin(part["pair"], np.flatnonzero(turn == index))))
        for index, part in enumerate(parts)
    ]
    return concatenate_datasets([part for part in selected if len(part)])


def write_transfer(transfers: Sequence[Transfer], folder: Path | str) -> Path:
    """Write the matrices of some evaluators as `transfer.json`; returns its path."""
    content = {"transfers": [matrix.to_dict() for matrix in transfers], "versions": versions()}
    return RunFolder(folder).write_json("transfer.json", content)


def _with_human_ids(human: Passages, answers: Passages, system: str) -> Passages:
    """A system's replies under the human rows' ids, so that both sides share their dialogue."""
    rows = zip(iterate(human), iterate(answers), strict=True)
    return to_passages(
        replace(
            passage.with_response(answer.response, system),
            source_dialogue_id=answer.source_dialogue_id,
        )
        for passage, answer in rows
    )


def _numbers(table: pa.Table, scorer: Any, seed: int) -> Mapping[str, Any]:
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
    cells: Mapping[tuple[str, str], _Cell],
    row: str,
    column: str,
    sizes: Mapping[str, int | None],
    parts: Mapping[str, Any],
) -> Result:
    table, numbers = cells[row, column].table, cells[row, column].numbers
    text = signature(
        metric="transfer_accuracy", evaluator=evaluator, system=column, trained_on=row,
        split="halves", n_train=sizes[row], n=numbers["n"], interval="auto", **parts,
        **library_versions(),
    )  # fmt: skip
    details = {"trained_on": row, "diagonal": row == column, "n_train": sizes[row]}
    details |= {name: numbers[name] for name in _DETAILS}
    if row != column and (column, column) in cells:
        details |= _loss(cells[column, column].table, table, parts["seed"])
    low, high, n = 1 - numbers["high"], 1 - numbers["low"], numbers["n"]
    accuracy = numbers["accuracy"]
    return Result("transfer_accuracy", column, evaluator, accuracy, low, high, n, text, details)


def _loss(diagonal: pa.Table, other: pa.Table, seed: int) -> dict[str, float]:
    """Accuracy lost against the evaluator that was trained on the tested system, paired."""
    groups = diagonal["dialogue_id"].to_pylist()
    test = paired_bootstrap(correct(diagonal), correct(other), groups=groups, seed=seed)
    return {"lost": test["difference"], "lost_low": test["low"], "lost_high": test["high"]}
