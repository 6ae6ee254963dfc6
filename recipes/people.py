"""Scores of a rated corpus, for `dialeval agreement` to correlate with the ratings.

python recipes/people.py --data FOLDER --output scores.csv
dialeval agreement JUDGEMENTS --scores scores.csv
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import Passage, Passages, count_tokens, folds, iterate, read, to_passages
from dialeval.files import atomic_write
from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.analysis.decisions import with_random_replies
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.scorers.linear import SvmScorer
from dialeval.terminal import SafeConsole
from dialeval.training.cores import use_cores


@dataclass
class PeopleRun:
    """A corpus with rated systems."""

    data: str = field(metadata={"help": "File or folder with human and rated system responses."})
    output: str = field(default="scores.csv", metadata={"help": "Table to write."})
    folds: int = field(default=5, metadata={"help": "Number of cross-fitting folds, by dialogue."})
    limit: int = field(default=-1, metadata={"help": "Contexts at most; -1 for all."})
    seed: int = field(default=0, metadata={"help": "Seed of folds and random replies."})


def main(run: PeopleRun) -> None:
    """Write one row per reply."""
    by_author: dict[str, dict[str, Passage]] = {}
    for passage in iterate(read(run.data)[0]):
        by_author.setdefault(passage.author, {})[passage.id] = passage
    human = by_author.pop("human")
    keys = [key for key in human if all(key in rows for rows in by_author.values())]
    keys = keys if run.limit < 0 else keys[: run.limit]
    fold = folds(to_passages(human[key] for key in keys), run.folds, run.seed)
    embed, console = CachedEmbedder(), SafeConsole(stderr=True)
    columns = {"relevance": relevance(human, by_author, keys, fold, embed, run.seed)}
    console.print("relevance done")
    for name, fit in (("svm", SvmScorer.fit), ("embedding", EmbeddingScorer.fit)):
        options = {"embed": embed} if name == "embedding" else {}
        for system, rows in by_author.items():
            success, probability = adversarial(human, rows, keys, fold, fit, options, run.seed)
            columns.setdefault(f"adversuc_{name}", {})[system] = success
            columns.setdefault(f"p_human_{name}", {})[system] = probability
            console.print(f"{name} on {system}: AdverSuc {success.mean():.3f}")
    columns["length"] = {
        system: np.array([count_tokens(rows[key].response) for key in keys], dtype=float)
        for system, rows in by_author.items()
    }
    columns["bleu"] = {
        system: np.array([bleu(rows[key].response, human[key].response) for key in keys])
        for system, rows in by_author.items()
    }
    write(run.output, columns, keys)
    console.print(f"{len(keys):,} contexts, {len(by_author)} systems: {run.output}")


def relevance(
    human: dict[str, Passage],
    systems: dict[str, dict[str, Passage]],
    keys: Sequence[str],
    fold: np.ndarray,
    embed: CachedEmbedder,
    seed: int,
) -> dict[str, np.ndarray]:
    """P(real) of each system's reply by an evaluator of human against random replies, held out."""
    scores = {system: np.zeros(len(keys)) for system in systems}
    for number in np.unique(fold):
        learn = [human[key] for key, part in zip(keys, fold, strict=True) if part != number]
        scorer = EmbeddingScorer.fit(labelled(learn, with_random_replies(learn, seed)), embed=embed)
        held_out = np.flatnonzero(fold == number)
        for system, rows in systems.items():
            scores[system][held_out] = scorer(to_passages(rows[keys[row]] for row in held_out))
    return scores


def adversarial(
    human: dict[str, Passage],
    system: dict[str, Passage],
    keys: Sequence[str],
    fold: np.ndarray,
    fit,
    options: dict,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Share of wrong decisions about each context's two replies, and P(human) of the system's."""
    errors, probability = np.zeros(len(keys)), np.zeros(len(keys))
    for number in np.unique(fold):
        rows = [index for index, part in enumerate(fold) if part != number]
        learn = [[side[keys[row]] for row in rows] for side in (human, system)]
        scorer = fit(labelled(*learn), seed=seed, **options)
        held_out = np.flatnonzero(fold == number)
        first, second = (
            scorer(to_passages(side[keys[row]] for row in held_out)) for side in (human, system)
        )
        errors[held_out] = ((first < 0.5).astype(float) + (second >= 0.5)) / 2
        probability[held_out] = second
    return errors, probability


def labelled(positive: Sequence[Passage], negative: Sequence[Passage]) -> Passages:
    """Pairs with a column `label`; both sides of a context share their dialogue."""
    rows = [replace(row, dialogue_id=row.dialogue_id or row.id) for row in (*positive, *negative)]
    labels = [1] * len(positive) + [0] * len(negative)
    return to_passages(rows).add_column("label", labels)


def bleu(reply: str, reference: str) -> float:
    """Sentence BLEU against the human reply."""
    import sacrebleu

    return sacrebleu.sentence_bleu(reply, [reference]).score


def write(path: str, columns: dict[str, dict[str, np.ndarray]], keys: Sequence[str]) -> None:
    """A table with item, system and a column per metric."""
    with atomic_write(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["item", "system", *columns])
        for system in next(iter(columns.values())):
            for row, key in enumerate(keys):
                values = [f"{columns[name][system][row]:.6g}" for name in columns]
                writer.writerow([key, system, *values])


if __name__ == "__main__":
    plain_errors()
    use_cores()
    main(*parse_config(PeopleRun))
