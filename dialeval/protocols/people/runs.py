"""A run of `dialeval evaluate` as a source of items, and of scores on the same items."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.dialogues import BadInput, Passage, Passages, Turn, iterate, to_passages
from dialeval.judgements.items import Item
from dialeval.metrics.results import PILES_HINT, REFERENCES, SECOND_HUMAN
from dialeval.protocols.people.sampling import HUMAN, RANDOM, AnnotationData
from dialeval.protocols.people.scores import MetricScores

_SCENARIOS = ("human_machine", "human_random")
_HINT = "Give the --output-dir of a finished `dialeval evaluate`."


def data_of_run(folder: Path | str, human: Passages) -> AnnotationData:
    """The contexts of a run with the systems' and the random replies that its evaluators judged.

    Args:
        folder (`Path` or `str`):
            Output folder of `dialeval evaluate`.
        human (`Passages`):
            Its human passages; a run keeps responses but not contexts.

    Raises:
        BadInput: The run has no scores, or the passages are not its own.
    """
    rows = _score_rows(Path(folder))
    systems: dict[str, dict[str, str]] = {}
    random: dict[str, str] = {}
    responses: dict[str, str] = {}
    for row in rows:
        if row["scenario"] not in _SCENARIOS:
            continue
        if row["label"] == 1:
            responses[row["id"]] = row["response"]
        elif row["scenario"] == "human_random":
            random.setdefault(row["id"], row["response"])
        elif row["system"] != SECOND_HUMAN:
            systems.setdefault(row["system"], {})[row["id"]] = row["response"]
    passages = [row for row in iterate(human) if responses.get(row.id) == row.response]
    if not passages:
        raise BadInput(
            "the human file has none of the contexts of this run.",
            folder,
            hint="Give the human file of the run as ITEMS, read with the same options.",
        )
    return AnnotationData(_one_per_id(passages), systems, random)


def scores_of_run(folder: Path | str, items: Iterable[Item]) -> list[MetricScores]:
    """P(human) of the run's evaluators on items of the task `real`.

    An evaluator is trained for each kind of negative, so its scores count for that kind only.

    Args:
        folder (`Path` or `str`):
            Output folder of `dialeval evaluate`.
        items (`Iterable[Item]`):
            Items that were made from the run.

    Returns:
        `list[MetricScores]`: One per evaluator and kind of negative, without baselines.
    """
    decisions: dict[tuple[str, str], dict[tuple[str, str], bool]] = {}
    for row in _score_rows(Path(folder)):
        if row["evaluator"] in REFERENCES or row["scenario"] not in _SCENARIOS:
            continue
        negative = RANDOM if row["scenario"] == "human_random" else row["system"]
        author = HUMAN if row["label"] == 1 else negative
        by_reply = decisions.setdefault((row["evaluator"], negative), {})
        by_reply[row["id"], author] = row["predicted_human"]
    kept = [item for item in items if not item.test and len(item.candidates) == 1]
    # The evaluators' decisions and not their scores, because thresholds differ between folds.
    return [
        MetricScores(evaluator, dict(_by_item(kept, decided)), 0.5, negative=negative)
        for (evaluator, negative), decided in decisions.items()
    ]


def scores_of_scorer(scorer: Any, items: Iterable[Item]) -> MetricScores:
    """Decisions of a saved discriminator about the items of the tasks `real` and `rating`."""
    kept = [item for item in items if not item.test and len(item.candidates) == 1]
    scores = np.asarray(scorer(to_passages(map(_passage, kept))), dtype=float)
    values = {
        (item.id, item.candidates[0].author): float(score)
        for item, score in zip(kept, scores, strict=True)
    }
    return MetricScores(scorer.name, values, scorer.decision.threshold, scorer.higher_is_human)


def _passage(item: Item) -> Passage:
    [candidate] = item.candidates
    turns = tuple(Turn(speaker, text) for speaker, text in item.context)
    return Passage(turns, candidate.turns[-1], candidate.author, id=item.id)


def _by_item(
    items: Iterable[Item], values: Mapping[tuple[str, str], Any]
) -> Iterator[tuple[tuple[str, str], float]]:
    for item in items:
        author = item.candidates[0].author
        if (item.passage, author) in values:
            yield (item.id, author), float(values[item.passage, author])


def _score_rows(folder: Path) -> list[dict[str, Any]]:
    path = folder / "scores.parquet"
    if not path.is_file():
        raise BadInput("no scores.parquet here.", folder, hint=_HINT)
    names = ["scenario", "evaluator", "system", "id", "label", "response", "predicted_human"]
    try:
        rows: list[dict[str, Any]] = parquet.read_table(path, columns=names).to_pylist()
    except (pa.ArrowInvalid, KeyError) as error:
        raise BadInput(f"could not read the scores: {error}.", path, hint=_HINT) from None
    if rows and not any(row["scenario"] in _SCENARIOS for row in rows):
        raise BadInput("this run has no contexts that both sides answer.", folder, hint=PILES_HINT)
    return rows


def _one_per_id(passages: Iterable[Passage]) -> list[Passage]:
    seen: dict[str, Passage] = {}
    for passage in passages:
        seen.setdefault(passage.id, passage)
    return list(seen.values())
