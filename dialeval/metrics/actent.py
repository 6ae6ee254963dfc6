"""Activity and Entity F1: does a reply do and name what the reference does and names?

(Serban et al., 2017, Multiresolution Recurrent Neural Networks; Niu and Bansal, 2018, Table 2)
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

SKIPS = ("none", "released", "no-activity")
_ACTIVITY, _ENTITY = "_activity", "_entity"
_NO_ACTIVITY = "none_activity"
END = "__eou__"


class Utterance(NamedTuple):
    """What one utterance does and what it names."""

    activities: frozenset[str]
    entities: frozenset[str]


@dataclass(frozen=True)
class ActEnt:
    """The activities and entities of a text, utterance by utterance."""

    utterances: tuple[Utterance, ...]

    @property
    def activities(self) -> frozenset[str]:
        """Activities of all utterances."""
        return frozenset().union(*(each.activities for each in self.utterances))

    @property
    def entities(self) -> frozenset[str]:
        """Entities of all utterances."""
        return frozenset().union(*(each.entities for each in self.utterances))


def parse_actent(line: str) -> ActEnt:
    """A line of the released tool's representation, its tenses and commands left aside.

    Example:
        >>> found = parse_actent("past_tenses try_activity usb_entity no_cmd __eou__")
        >>> sorted(found.activities), sorted(found.entities)
        (['try'], ['usb'])
    """
    parts = line.split(END)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()  # the mark ends an utterance, it does not begin one
    return ActEnt(tuple(_utterance(part.split()) for part in parts))


def _utterance(words: Sequence[str]) -> Utterance:
    done = (word for word in words if word != _NO_ACTIVITY)
    return Utterance(
        frozenset(word.removesuffix(_ACTIVITY) for word in done if word.endswith(_ACTIVITY)),
        frozenset(word.removesuffix(_ENTITY) for word in words if word.endswith(_ENTITY)),
    )


class Overlap(NamedTuple):
    """Precision, recall and F1 of two sets."""

    precision: float
    recall: float
    f1: float


def set_overlap(found: Collection[str], wanted: Collection[str]) -> Overlap:
    """How far a set is another one; all three are 0 when they share nothing, empty ones too.

    Example:
        >>> set_overlap({"install", "boot"}, {"install", "mount", "try"}).f1
        0.4
    """
    found, wanted = set(found), set(wanted)
    shared = len(found & wanted)
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    return Overlap(
        shared / len(found), shared / len(wanted), 2 * shared / (len(found) + len(wanted))
    )


def kept(references: Iterable[ActEnt], skip: str = "none") -> np.ndarray:
    """Which references count.

    Args:
        skip (`str`, *optional*, defaults to `"none"`):
            `"none"` counts all. `"released"` leaves out a reference when *any* of its utterances
            has no activity, as the released evaluation does, also for entities. `"no-activity"`
            leaves it out only when none of them has one.

    Example:
        >>> both = parse_actent("a_activity __eou__ none_activity __eou__")
        >>> [bool(kept([both], skip)[0]) for skip in ("none", "released", "no-activity")]
        [True, False, True]
    """
    if skip not in SKIPS:
        raise ValueError(f"Unknown skip rule {skip!r}. Choose one of {', '.join(SKIPS)}.")
    return np.array([_counts(each, skip) for each in references], dtype=bool)


def _counts(reference: ActEnt, skip: str) -> bool:
    if skip == "none":
        return True
    has = [bool(each.activities) for each in reference.utterances]
    return all(has) and bool(has) if skip == "released" else any(has)


def actent_f1(
    responses: Sequence[ActEnt], references: Sequence[ActEnt], skip: str = "none"
) -> dict[str, Any]:
    """Activity and Entity F1: the mean over responses, which are compared one by one.

    Returns:
        `dict`: `activity_f1` and `entity_f1` in [0, 1] (papers print them times 100), `n` that
        count, and `rows`: the F1s of each response, shape `(responses, 2)`, NaN where skipped.

    Example:
        >>> said = parse_actent("try_activity usb_entity __eou__")
        >>> gold = parse_actent("try_activity boot_activity disk_entity __eou__")
        >>> found = actent_f1([said], [gold])
        >>> round(found["activity_f1"], 3), found["entity_f1"]
        (0.667, 0.0)
    """
    if len(responses) != len(references):
        raise ValueError(
            f"There are {len(responses)} responses for {len(references)} references. "
            "Pass one reference for each response."
        )
    rows = np.array(list(_rows(responses, references)), dtype=float).reshape(-1, 2)
    counts = kept(references, skip)
    rows[~counts] = np.nan
    activity, entity = rows[counts].mean(0) if counts.any() else (float("nan"), float("nan"))
    return {
        "activity_f1": float(activity),
        "entity_f1": float(entity),
        "n": int(counts.sum()),
        "rows": rows,
    }


def _rows(
    responses: Sequence[ActEnt], references: Sequence[ActEnt]
) -> Iterator[tuple[float, float]]:
    for said, gold in zip(responses, references, strict=True):
        yield (
            set_overlap(said.activities, gold.activities).f1,
            set_overlap(said.entities, gold.entities).f1,
        )
