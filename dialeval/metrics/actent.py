"""Activity and Entity F1: overlap of the activities and entities of reply and reference.

(Serban et al., 2017, Multiresolution Recurrent Neural Networks; Niu and Bansal, 2018, Table 2)
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np

SKIPS = ("none", "released", "no-activity")
_ACTIVITY, _ENTITY = "_activity", "_entity"
_NO_ACTIVITY = "none_activity"
END = "__eou__"


class Utterance(NamedTuple):
    """The activities and entities of one utterance."""

    activities: frozenset[str]
    entities: frozenset[str]


@dataclass(frozen=True)
class ActEnt:
    """The activities and entities of a text, utterance by utterance."""

    utterances: tuple[Utterance, ...]

    @property
    def activities(self) -> frozenset[str]:
        """Activities of all utterances."""
        return frozenset().union(*(utterance.activities for utterance in self.utterances))

    @property
    def entities(self) -> frozenset[str]:
        """Entities of all utterances."""
        return frozenset().union(*(utterance.entities for utterance in self.utterances))


def parse_actent(line: str) -> ActEnt:
    """Parse a line of the released tool's representation, ignoring tenses and commands.

    Examples:
        >>> parsed = parse_actent("past_tenses try_activity usb_entity no_cmd __eou__")
        >>> sorted(parsed.activities), sorted(parsed.entities)
        (['try'], ['usb'])
    """
    parts = line.split(END)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()  # the mark ends an utterance, it does not begin one
    return ActEnt(tuple(_utterance(part.split()) for part in parts))


def _utterance(words: Sequence[str]) -> Utterance:
    actions = (word for word in words if word != _NO_ACTIVITY)
    return Utterance(
        frozenset(word.removesuffix(_ACTIVITY) for word in actions if word.endswith(_ACTIVITY)),
        frozenset(word.removesuffix(_ENTITY) for word in words if word.endswith(_ENTITY)),
    )


class Overlap(NamedTuple):
    """Precision, recall and F1 of two sets."""

    precision: float
    recall: float
    f1: float


class ActEntResult(TypedDict):
    """What `actent_f1` returns."""

    activity_f1: float
    entity_f1: float
    n: int
    rows: np.ndarray


def set_overlap(predicted: Collection[str], reference: Collection[str]) -> Overlap:
    """Precision, recall and F1 of a set against a reference; all are 0 if they share nothing.

    Examples:
        >>> set_overlap({"install", "boot"}, {"install", "mount", "try"}).f1
        0.4
    """
    sizes = len(set(predicted)), len(set(reference))
    shared = len(set(predicted) & set(reference))
    if not shared:
        return Overlap(0.0, 0.0, 0.0)
    return Overlap(shared / sizes[0], shared / sizes[1], 2 * shared / sum(sizes))


def counted_references(references: Iterable[ActEnt], skip: str = "none") -> np.ndarray:
    """Which references count, as booleans.

    Args:
        references (`Iterable[ActEnt]`):
            The references.
        skip (`str`, *optional*, defaults to `"none"`):
            `"none"` counts all. `"released"` skips a reference if *any* of its utterances has no
            activity, as the released evaluation does, also for entities. `"no-activity"` skips it
            only if none of them has one.

    Examples:
        >>> mixed = parse_actent("a_activity __eou__ none_activity __eou__")
        >>> [bool(counted_references([mixed], skip)[0]) for skip in SKIPS]
        [True, False, True]
    """
    if skip not in SKIPS:
        raise ValueError(f"Unknown skip rule {skip!r}. Choose one of {', '.join(SKIPS)}.")
    return np.array([_counts(reference, skip) for reference in references], dtype=bool)


def _counts(reference: ActEnt, skip: str) -> bool:
    if skip == "none":
        return True
    active = [bool(utterance.activities) for utterance in reference.utterances]
    return all(active) and bool(active) if skip == "released" else any(active)


def actent_f1(
    responses: Sequence[ActEnt], references: Sequence[ActEnt], skip: str = "none"
) -> ActEntResult:
    """Activity and Entity F1, averaged over responses.

    Args:
        responses (`Sequence[ActEnt]`):
            The activities and entities of each response.
        references (`Sequence[ActEnt]`):
            Those of the reference to each response.
        skip (`str`, *optional*, defaults to `"none"`):
            Which references do not count: see `counted_references`.

    Returns:
        `ActEntResult`: `activity_f1` and `entity_f1` in [0, 1] (papers print them times 100), the
        number `n` of counted references, and `rows`: the F1s of each response, shape
        `(responses, 2)`, NaN where skipped.

    Examples:
        >>> response = parse_actent("try_activity usb_entity __eou__")
        >>> gold = parse_actent("try_activity boot_activity disk_entity __eou__")
        >>> result = actent_f1([response], [gold])
        >>> round(result["activity_f1"], 3), result["entity_f1"]
        (0.667, 0.0)
    """
    if len(responses) != len(references):
        raise ValueError(
            f"There are {len(responses)} responses for {len(references)} references. "
            "Pass one reference for each response."
        )
    rows = np.array(list(_rows(responses, references)), dtype=float).reshape(-1, 2)
    counts = counted_references(references, skip)
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
    for response, gold in zip(responses, references, strict=True):
        yield (
            set_overlap(response.activities, gold.activities).f1,
            set_overlap(response.entities, gold.entities).f1,
        )
