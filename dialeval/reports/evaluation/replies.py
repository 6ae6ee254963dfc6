"""Every reply in its context with its scores, as far as a page of a few megabytes holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.metrics.results import REFERENCES, REPLIES
from dialeval.reports.format import format_share, shorten

BUDGET = 3_200_000
"""Characters of the page for replies."""
_MARKUP = 900  # characters around the texts of a reply
_TURNS = 6
View = dict[str, Any]
Decision = tuple[float, bool]
"""The score of a response, and whether it was predicted to be human."""


@dataclass(frozen=True)
class Replies:
    """Replies with their scores.

    Args:
        rows (`Sequence[Mapping]`):
            Rows of `replies.parquet`: id, system, context, human, response, cut.
        scores (`Mapping`):
            Decisions by system, evaluator, whether it is the human response, and id.
        evaluators (`Sequence[str]`):
            Names of the evaluators.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    scores: Mapping[tuple[str, str, bool, str], Decision] | None = None
    evaluators: Sequence[str] = ()


def read_replies(folder: Path) -> Replies:
    """The replies of a run; none where it has no file of them, as those of 0.2."""
    import pyarrow.parquet as parquet

    path, scores = folder / REPLIES, folder / "scores.parquet"
    if not path.is_file() or not scores.is_file():
        return Replies()
    rows = parquet.read_table(path).to_pylist()
    names = ["system", "evaluator", "label", "id", "score", "predicted_human"]
    table = parquet.read_table(scores, columns=names, filters=[("scenario", "=", "human_machine")])
    columns = [table[name].to_pylist() for name in names]
    decisions = {
        (system, evaluator, label == 1, key): (score, predicted)
        for system, evaluator, label, key, score, predicted in zip(*columns, strict=True)
        if evaluator not in REFERENCES and score is not None
    }
    evaluators = dict.fromkeys(evaluator for _, evaluator, _, _ in decisions)
    return Replies(rows, decisions, list(evaluators))


def reply_views(replies: Replies, systems: Mapping[str, int]) -> View:
    """The replies that the page shows, with what its filters need.

    Args:
        replies (`Replies`):
            Replies with their scores.
        systems (`Mapping[str, int]`):
            The number of each system.

    Returns:
        `View`: A list `items`, and how many contexts are `shown` of `total`.
    """
    rows = [row for row in replies.rows if row["system"] in systems]
    names = list(dict.fromkeys(row["id"] for row in rows))
    shown = set(_within_budget(rows, names))
    items = [_view(row, replies, systems) for row in rows if row["id"] in shown]
    present = dict.fromkeys(row["system"] for row in rows)
    return {
        "items": items,
        "shown": len(shown),
        "total": len(names),
        "evaluators": list(replies.evaluators),
        "systems": [(systems[name], name) for name in present],
    }


def _within_budget(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """The ids of as many contexts as fit the page, drawn at random."""
    sizes = dict.fromkeys(names, 0)
    for row in rows:
        texts = (*row["context"][-_TURNS:], row["human"], row["response"])
        sizes[row["id"]] += _MARKUP + sum(min(len(text or ""), 800) for text in texts)
    order = np.random.default_rng(0).permutation(len(names))
    total = np.cumsum([sizes[names[index]] for index in order])
    return [names[index] for index, size in zip(order, total, strict=True) if size <= BUDGET]


def _view(row: Mapping[str, Any], replies: Replies, systems: Mapping[str, int]) -> View:
    scores = replies.scores or {}
    machine = [scores.get((row["system"], name, False, row["id"])) for name in replies.evaluators]
    human = [scores.get((row["system"], name, True, row["id"])) for name in replies.evaluators]
    return {
        "number": systems[row["system"]],
        "system": row["system"],
        "earlier": max(0, len(row["context"]) - _TURNS),
        "context": [shorten(turn) for turn in row["context"][-_TURNS:]],
        "response": shorten(row["response"]),
        "human": shorten(row["human"]),
        "cut": bool(row["cut"]),
        "words": len(str(row["response"] or "").split()),
        "scores": list(map(_score, replies.evaluators, machine)),
        "human_scores": list(map(_score, replies.evaluators, human)),
        "sort": ",".join("" if item is None else f"{item[0]:.3f}" for item in machine),
        "correct": "".join("-" if item is None else str(int(not item[1])) for item in machine),
    }  # fmt: skip


def _score(evaluator: str, decision: Decision | None) -> tuple[str, str, str]:
    """Name, score, and what it was classified as."""
    if decision is None:
        return evaluator, format_share(None), ""
    return evaluator, format_share(decision[0], 2), "human" if decision[1] else "machine"
