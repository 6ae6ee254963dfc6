"""Correlation of discriminators and simple baselines with the ratings of replies.

python recipes/rated.py --data FILE --discriminators runs/a --likelihood smollm2 --references CORPUS
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.table import Table

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import (
    BadInput,
    Passage,
    Turn,
    count_tokens,
    iterate,
    read,
    to_passages,
)
from dialeval.judgements import Correlation, correlate
from dialeval.metrics.distinct import distinct
from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.people.systems import sentence_bleu, sentence_chrf
from dialeval.responders.task import mean_likelihoods
from dialeval.scorers import load_scorer
from dialeval.scorers.base import Scorer
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores

LOG_P = "log p per token"
"""Name of the likelihood in tables."""


@dataclass
class RatedRun:
    """Replies with a mean rating each: JSON lines with context, response and ratings."""

    data: list[str] = field(metadata={"help": "Files of JSON lines."})
    discriminators: list[str] = field(
        default_factory=list, metadata={"help": "Folders of saved discriminators."}
    )
    likelihood: str | None = field(
        default=None, metadata={"help": "A local model for log p(reply | context)."}
    )
    references: list[str] = field(
        default_factory=list,
        metadata={"help": "Corpora that the contexts are from, for BLEU, chrF and similarity."},
    )
    seed: int = field(default=0, metadata={"help": "Seed of the bootstrap over contexts."})


def main(run: RatedRun) -> None:
    """Print a table per file."""
    scorers = [load_scorer(name) for name in run.discriminators]
    known = read_known(run.references)
    for path in run.data:
        table = Table("metric", "Pearson", "Spearman", "95 %", "replies", title=Path(path).stem)
        made = correlations(Path(path), scorers, known, run.likelihood, run.seed)
        for name, (first, second) in made.items():
            bounds = f"{second.low:+.3f} to {second.high:+.3f}"
            table.add_row(name, f"{first.value:+.3f}", f"{second.value:+.3f}", bounds, str(first.n))
        SafeConsole().print(table)


def read_known(references: Sequence[str]) -> list[Passage]:
    """Passages of the corpora that contexts are from."""
    return list(iterate(read(list(references))[0])) if references else []


def correlations(
    path: Path,
    scorers: Sequence[Scorer],
    known: Sequence[Passage] = (),
    likelihood: str | None = None,
    seed: int = 0,
) -> dict[str, tuple[Correlation, Correlation]]:
    """Pearson and Spearman of every metric with the ratings; intervals draw contexts.

    Args:
        path (`Path`):
            JSON lines with context, response and ratings.
        scorers (`Sequence[Scorer]`):
            Discriminators.
        known (`Sequence[Passage]`, *optional*):
            Passages of the corpora that the contexts are from, for BLEU, chrF and similarity.
        likelihood (`str`, *optional*):
            A local model for log p(reply | context).
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `dict[str, tuple[Correlation, Correlation]]`: By the name of the metric.
    """
    passages, ratings = read_rated(path)
    scores = scores_by_name(scorers, passages)
    scores["length"] = np.array([count_tokens(row.response) for row in passages], float)
    scores["distinct-2"] = np.array([distinct([row.response])["distinct_2"] for row in passages])
    if known:
        scores |= reference_scores(passages, references_of(passages, known))
    if likelihood:
        scores[LOG_P] = mean_likelihoods(likelihood, passages)
    made = {}
    for name, values in scores.items():
        sides = by_context(passages, values, ratings)
        first = correlate(*sides, "pearson", "item", resampled="items", resamples=1)
        made[name] = first, correlate(*sides, "spearman", "item", resampled="items", seed=seed)
    return made


def scores_by_name(scorers: Sequence[Scorer], passages: Sequence[Passage]) -> dict[str, np.ndarray]:
    """Scores of which higher ones mean human; discriminators of one name are numbered."""
    rows, times = to_passages(passages), Counter(scorer.name for scorer in scorers)
    scores: dict[str, np.ndarray] = {}
    for number, scorer in enumerate(scorers, 1):
        name = scorer.name if times[scorer.name] == 1 else f"{scorer.name} {number}"
        scores[name] = np.asarray(scorer(rows)) * (1 if scorer.higher_is_human else -1)
    return scores


def read_rated(path: Path) -> tuple[list[Passage], np.ndarray]:
    """Passages and their ratings."""
    passages, ratings = [], []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            turns = tuple(Turn("AB"[at % 2], text) for at, text in enumerate(row["context"]))
            ratings.append(float(row["ratings"]))
            passages.append(Passage(turns, row["response"], "system", id=str(number)))
        except (ValueError, KeyError, TypeError) as error:
            hint = "A line has context (a list of turns), response and ratings (a number)."
            raise BadInput(f"expected a rated reply, but {error!r}.", path, number, hint) from None
    return passages, np.array(ratings)


def references_of(passages: Sequence[Passage], known: Sequence[Passage]) -> dict[int, list[str]]:
    """By row, the replies that follow the same turns in a corpus.

    Rows are left out where the corpus does not have the context, or the reply itself is such a
    reply: copies of the reference would be compared with themselves.
    """
    by_last: dict[str, list[tuple[str, str]]] = {}
    for row in known:
        by_last.setdefault(letters(row.context[-1].text), []).append(
            (context_letters(row), row.response)
        )
    references = {}
    for index, row in enumerate(passages):
        before = context_letters(row)
        replies = [
            reply
            for context, reply in by_last.get(letters(row.context[-1].text), [])
            if context.endswith(before) or before.endswith(context)
        ]
        if replies and letters(row.response) not in map(letters, replies):
            references[index] = replies
    return references


def reference_scores(
    passages: Sequence[Passage], references: Mapping[int, Sequence[str]]
) -> dict[str, np.ndarray]:
    """BLEU, chrF and the highest cosine of sentence vectors; NaN where there is no reference."""
    embed = CachedEmbedder()
    functions = {
        "BLEU": lambda reply, others: sentence_bleu(reply.lower(), [t.lower() for t in others]),
        "chrF": lambda reply, others: sentence_chrf(reply.lower(), [t.lower() for t in others]),
        "similarity": lambda reply, others: float((embed([reply]) @ embed(list(others)).T).max()),
    }
    texts = [
        text for row, others in references.items() for text in (passages[row].response, *others)
    ]
    embed(texts or [""])  # all at once, which is faster
    scores = {name: np.full(len(passages), np.nan) for name in functions}
    for row, others in references.items():
        for name, function in functions.items():
            scores[name][row] = function(passages[row].response, others)
    return scores


def letters(text: str) -> str:
    """Letters and digits in lower case: corpora differ in spaces, apostrophes and case."""
    return "".join(filter(str.isalnum, text.lower()))


def context_letters(passage: Passage) -> str:
    """The letters of all turns."""
    return "".join(letters(turn.text) for turn in passage.context)


def by_context(
    passages: list[Passage], values: np.ndarray, ratings: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays with a column per context, so that the interval draws contexts."""
    columns: dict[tuple[Turn, ...], list[int]] = {}
    for index, passage in enumerate(passages):
        columns.setdefault(passage.context, []).append(index)
    shape = (max(map(len, columns.values())), len(columns))
    first, second = np.full(shape, np.nan), np.full(shape, np.nan)
    for column, rows in enumerate(columns.values()):
        first[: len(rows), column], second[: len(rows), column] = values[rows], ratings[rows]
    return first, second


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(RatedRun))
