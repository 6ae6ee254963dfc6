"""The authors of passages: counting them, and selecting the responses of one."""

import numpy as np
import pyarrow.compute as pc

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import select
from dialeval.dialogues.storage import Passages, batches

MORE_DATA = "Give more dialogues, or check that both authors answer the same contexts."


def authors(passages: Passages) -> dict[str, int]:
    """How many responses each author has."""
    counts: dict[str, int] = {}
    for batch in batches(passages):
        for row in pc.value_counts(batch["author"]).to_pylist():
            counts[row["values"]] = counts.get(row["values"], 0) + row["counts"]
    return counts


def by_author(passages: Passages, author: str) -> Passages:
    """The passages of one author."""
    if set(authors(passages)) == {author}:
        return passages
    mask = [pc.equal(batch["author"], author).to_numpy(False) for batch in batches(passages)]
    return select(passages, np.concatenate(mask) if mask else np.zeros(0, dtype=bool))


def machine_passages(passages: Passages) -> Passages:
    """The responses that are not human; all, where the data name no other author."""
    if set(authors(passages)) == {"human"}:
        return passages
    mask = [pc.not_equal(batch["author"], "human").to_numpy(False) for batch in batches(passages)]
    return select(passages, np.concatenate(mask) if mask else np.zeros(0, dtype=bool))


def human_passages(passages: Passages) -> Passages:
    """The human responses; raises if there are none."""
    human = by_author(passages, "human")
    if not len(human):
        names = ", ".join(map(repr, authors(passages))) or "no author"
        raise BadInput(f"No human responses here, only those of {names}.", hint=MORE_DATA)
    return human


def system_passages(passages: Passages, machine: Passages | None) -> Passages:
    """The responses of the one system: all of `machine`, or what is not human in `passages`."""
    pool = passages if machine is None else machine
    names = [name for name in authors(pool) if name != "human"]
    if machine is not None and not names:
        return machine  # a file that does not name its author
    if len(names) != 1:
        given = ", ".join(map(repr, names)) or "none"
        raise BadInput(f"Expected one system, found {given}.", hint="Pass one with by_author().")
    return by_author(pool, names[0])
