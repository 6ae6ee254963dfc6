"""The replies of an audit: the data, and replies of known origin, each with dialogue and group."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, Turn, iterate, to_passages
from dialeval.dialogues.splits import row_hashes
from dialeval.protocols.unpaired.piles import language_warnings
from dialeval.scorers.baselines import NEUTRAL

DATA, REFERENCE, MACHINE = "data", "reference", "machine"
"""The data in question; replies that are known to be human; replies of machines."""
MIN_UNITS = 20
"""Dialogues that each sample needs."""
FEW_UNITS = 100
"""Dialogues of a known sample below which there is a warning."""
LONG_REPLY = 8
"""Words from which an equal reply is a copy; shorter ones ("I see.") are common property."""
COLUMNS = ("speaker", "corpus", "language", "author")
"""Columns of a passage that can name its group; all others are further columns of the file."""


@dataclass(frozen=True)
class Sample:
    """Replies without their contexts.

    Args:
        name (`str`):
            `DATA`, `REFERENCE` or `MACHINE`.
        replies (`Passages`):
            What an evaluator reads.
        dialogues (`np.ndarray`):
            The dialogue of each reply, unique over all samples.
        groups (`np.ndarray`, *optional*):
            The worker or source of each reply, where it is known.
        contexts (`Passages`):
            The same replies in their contexts.
    """

    name: str
    replies: Passages
    dialogues: np.ndarray
    groups: np.ndarray | None
    contexts: Passages

    def __len__(self) -> int:
        return len(self.replies)

    @property
    def dialogue_numbers(self) -> np.ndarray:
        """The number of the dialogue of each reply."""
        return np.unique(self.dialogues, return_inverse=True)[1]

    def units(self, least_groups: int) -> np.ndarray:
        """What is resampled: groups where there are enough of them, else dialogues; numbered.

        The data are always resampled by dialogue: the question is what share of *these* data is
        of machines, and not of what other workers would deliver. Replies without a group are of
        different people, so each of their dialogues is a unit.
        """
        if self.groups is None or self.group_count < least_groups:
            return self.dialogue_numbers
        names = np.where(self.groups == "", self.dialogues, self.groups)
        return np.unique(names, return_inverse=True)[1]

    @property
    def group_count(self) -> int:
        """How many groups are named."""
        return 0 if self.groups is None else len(set(self.groups.tolist()) - {""})

    def without(self, rows: np.ndarray) -> "Sample":
        """The sample without some rows, given as a mask."""
        keep = np.flatnonzero(~rows)
        return Sample(
            self.name,
            self.replies.select(keep),
            self.dialogues[keep],
            None if self.groups is None else self.groups[keep],
            self.contexts.select(keep),
        )


def make_sample(name: str, passages: Passages, by: str | None = None) -> Sample:
    """A sample from passages; empty replies are left out.

    Args:
        name (`str`):
            `DATA`, `REFERENCE` or `MACHINE`.
        passages (`Passages`):
            Replies in their contexts.
        by (`str`, *optional*):
            Column that names the group of a reply.

    Returns:
        `Sample`: Without groups where no reply has that column.
    """
    filled = np.flatnonzero([bool(text.strip()) for text in passages["response"][:]])
    contexts = passages if len(filled) == len(passages) else passages.select(filled)
    dialogues: list[str] = []
    groups: list[str] = []

    def alone() -> Iterator[Passage]:
        for row, passage in enumerate(iterate(contexts)):
            key = f"{name}/{passage.dialogue_id or passage.id or row}"
            dialogues.append(key)
            groups.append(_group(passage, by) if by else "")
            turns = (Turn("A", NEUTRAL),)
            yield replace(passage, context=turns, dialogue_id=key, following=None, extra={})

    replies = to_passages(alone())
    known = np.array(groups) if by and any(groups) else None
    return Sample(name, replies, np.array(dialogues), known, contexts)


def _group(passage: Passage, by: str) -> str:
    value = passage.extra.get(by)
    if value is None and by in COLUMNS:
        value = getattr(passage, by)
    return "" if value is None else str(value)


def check_samples(
    data: Sample, known: list[Sample], by: str | None
) -> tuple[Sample, list[Sample], list[str]]:
    """The samples without what they share, and warnings.

    Args:
        data (`Sample`):
            The data in question.
        known (`list[Sample]`):
            Replies of known origin.
        by (`str`, *optional*):
            Column of groups.

    Returns:
        `tuple[Sample, list[Sample], list[str]]`: The data, the known samples, and warnings.

    Raises:
        BadInput: A sample has too few dialogues, or the column is not there.
    """
    if by and data.groups is None:
        raise BadInput(f"no reply of the data has a column {by!r}.", hint=_columns_hint(data))
    warnings = []
    for index, sample in enumerate(known):
        shared = _copied(data, sample) if sample.name == REFERENCE else _copied(sample, data)
        count = int(shared.sum())
        if count and sample.name == REFERENCE:
            data = data.without(shared)
            warnings.append(
                f"{count:,} replies of the data are in the reference too, word for word; they "
                "were left out, so the share is that of the other replies."
            )
        elif count:
            known[index] = sample.without(shared)
            warnings.append(
                f"{count:,} replies of the machine file are in the data too, word for word; they "
                "were left out of the machine file, not of the data."
            )
    for sample in (data, *known):
        warnings += _size_warnings(sample)
    warnings += language_warnings({sample.name: sample.replies for sample in (data, *known)})
    return data, known, warnings


def _copied(sample: Sample, other: Sample) -> np.ndarray:
    """Which long replies of a sample are in another one."""
    texts = sample.replies["response"][:]
    long = np.array([len(text.split()) >= LONG_REPLY for text in texts], dtype=bool)
    hashes = [row_hashes(side.replies, ["response"]) for side in (sample, other)]
    return np.isin(hashes[0], hashes[1]) & long


def _size_warnings(sample: Sample) -> list[str]:
    dialogues = len(np.unique(sample.dialogues))
    label = "data" if sample.name == DATA else f"{sample.name} sample"
    if dialogues < MIN_UNITS:
        plural = "" if dialogues == 1 else "s"
        raise BadInput(
            f"the {label} has {dialogues} dialogue{plural} with {len(sample):,} replies that can "
            f"be used, and at least {MIN_UNITS} are needed.",
            hint="Give more dialogues, each with its own id.",
        )
    text, times = Counter(sample.replies["response"][:]).most_common(1)[0]
    warnings = []
    if times > len(sample) / 5:
        warnings.append(f"{times:,} of the {len(sample):,} replies of the {label} are {text!r}.")
    if sample.name != DATA and dialogues < FEW_UNITS:
        warnings.append(f"The {label} has {dialogues} dialogues: more make the interval narrower.")
    return warnings


def _columns_hint(data: Sample) -> str:
    extra = {name for passage in iterate(data.contexts.select(range(1))) for name in passage.extra}
    names = ", ".join([*sorted(extra), *COLUMNS[:2]])
    return f"Columns of the first reply: {names}."
