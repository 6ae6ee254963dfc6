"""Pairs: human responses, and others that an evaluator has to distinguish from them."""

import logging
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from dialeval.dialogues.authors import MORE_DATA, authors, human_passages, system_passages
from dialeval.dialogues.matching import derangement, partners
from dialeval.dialogues.pair_tables import PairSide, response_lengths, write_pairs
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import folds, row_hashes, select
from dialeval.dialogues.storage import Passages, batches
from dialeval.dialogues.types import text_hash

logger = logging.getLogger(__name__)

SCENARIOS = ("human_machine", "human_random", "human_next", "human_human", "machine_machine")


@dataclass(frozen=True)
class Pairing:
    """Makes the balanced two-class data of a scenario; its `repr` is the signature.

    Args:
        scenario (`str`, *optional*, defaults to `"human_machine"`):
            `human_machine` sets a system's responses against the human ones; `human_random` the
            human responses of other dialogues; `human_next` the utterance after the true
            response; `human_human` and `machine_machine` split one author's responses into two
            disjoint, indistinguishable halves (Li et al., 2017, sec. 4.2).
        paired (`bool`, *optional*, defaults to `True`):
            Both classes on each context; otherwise each context in one class (Kannan and
            Vinyals, 2016, sec. 3.1), with the dialogues divided by a hash.
        random (`str`, *optional*, defaults to `"response"`):
            A random `"response"` after the true context (Bruni and Fernández, 2017), or a
            `"dialogue"` in which every turn is random (Li et al., 2017).
        match_length (`int`, *optional*):
            Give both classes the same histogram of response lengths, in bins of so many tokens.
        match_position (`bool`, *optional*, defaults to `False`):
            Leave out pairs of `human_next` whose true response opens its dialogue's replies, or
            whose next turn closes them: such turns are only ever in one of the two classes.
        single_replies (`bool`, *optional*, defaults to `False`):
            Allow `human_next` from dialogues with one reply each, in which the position in the
            dialogue gives the next turn away.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.

    Random replies are a permutation of the human ones in which each goes to another dialogue. So
    both classes have exactly the same responses, and an evaluator that ignores the context is
    correct in exactly half of the cases: anything else is a leak.
    """

    scenario: str = "human_machine"
    paired: bool = True
    random: Literal["response", "dialogue"] = "response"
    match_length: int | None = None
    match_position: bool = False
    single_replies: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scenario not in SCENARIOS:
            choices = ", ".join(SCENARIOS)
            raise BadInput(f"Unknown scenario {self.scenario!r}.", hint=f"Choose one of {choices}.")
        if self.random not in ("response", "dialogue"):
            raise BadInput(f"A random response or dialogue, but got {self.random!r}.")
        if self.match_length is not None and self.match_length < 1:
            raise BadInput(f"Length bins are at least 1 token wide, but got {self.match_length}.")

    def __call__(self, passages: Passages, machine: Passages | None = None) -> Passages:
        """Pairs from human passages, and a system's where the scenario has one.

        Args:
            passages (`Passages`):
                Human passages, or passages of several authors.
            machine (`Passages`, *optional*):
                The system's; by default those in `passages` that are not human.
        """
        if self.scenario == "human_machine":
            sides = _join(human_passages(passages), system_passages(passages, machine))
        elif self.scenario == "human_next":
            sides = self._next(human_passages(passages))
        elif self.scenario == "human_random" and self.paired:
            sides = self._random(human_passages(passages))
        else:
            return self._in_halves(passages, machine)
        if self.paired:
            return write_pairs(self.scenario, *self._same_lengths(*sides))
        return self._one_class_per_context(*sides)

    def _next(self, human: Passages) -> tuple[PairSide, PairSide]:
        """The true response, and the utterance after it."""
        has_next = [pc.is_valid(batch["following"]).to_numpy(False) for batch in batches(human)]
        mask = np.concatenate(has_next) if has_next else np.zeros(0, dtype=bool)
        if self.match_position:
            mask = mask & in_both_classes(human)
        human = select(human, mask)
        dialogues = np.unique(row_hashes(human, ["dialogue_id"]))
        if not len(human):
            raise BadInput("No passage has the turn after its response.", hint=_EVERY)
        if len(dialogues) == len(human) > 1 and not (self.single_replies or self.match_position):
            raise BadInput(
                "Needs two or more replies per conversation; here every dialogue has one.",
                hint=_EVERY,
            )
        other = PairSide.all_rows(human, author="next", column="following")
        return PairSide.all_rows(human), other

    def _random(self, human: Passages) -> tuple[PairSide, PairSide]:
        groups, bins = row_hashes(human, ["dialogue_id"]), None
        if self.match_length:
            bins = response_lengths(human, "response") // self.match_length
            human, groups, bins = _drop_unmatched(human, groups, bins)
        rng = np.random.default_rng(self.seed)
        replies = derangement(groups, rng, bins)
        turns = self._random_turns(human, np.arange(len(human)), rng)
        other = PairSide.all_rows(human, author="random", replies=replies, turns=turns)
        return PairSide.all_rows(human), other

    def _random_turns(
        self, human: Passages, rows: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """For each position in the context, from its end, the rows whose turns replace it."""
        if self.random == "response":
            return ()
        groups = row_hashes(human, ["dialogue_id"])[rows]
        sizes = np.concatenate([pc.list_value_length(b["context"]) for b in batches(human)])[rows]
        sources = []
        for position in range(sizes.max()):
            have = np.flatnonzero(sizes > position)
            source = rows.copy()
            source[have] = rows[have][derangement(groups[have], rng)]
            sources.append(source)
        return tuple(sources)

    def _in_halves(self, passages: Passages, machine: Passages | None) -> Passages:
        """Two disjoint halves of one author's passages, as the two classes."""
        is_machine = self.scenario == "machine_machine"
        author = system_passages(passages, machine) if is_machine else human_passages(passages)
        first = _half(author, self.seed)
        side = PairSide.all_rows(author)
        ones, zeros = self._balanced(side, side, np.flatnonzero(first), np.flatnonzero(~first))
        other = PairSide(author, zeros)
        if self.scenario == "human_random":  # the second half gets the first half's responses
            rng = np.random.default_rng(self.seed)
            turns = self._random_turns(author, zeros, rng)
            other = PairSide(author, zeros, "random", rng.permutation(ones), turns)
        return write_pairs(self.scenario, PairSide(author, ones), other)

    def _one_class_per_context(self, human: PairSide, other: PairSide) -> Passages:
        first = _half(human.table, self.seed)[human.rows]
        ones, zeros = self._balanced(human, other, np.flatnonzero(first), np.flatnonzero(~first))
        return write_pairs(self.scenario, human.take(ones), other.take(zeros))

    def _balanced(
        self, human: PairSide, other: PairSide, ones: np.ndarray, zeros: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Equally many of each class; within each length bin where lengths are to be matched."""
        one_bins, zero_bins = self._length_bins(human, ones), self._length_bins(other, zeros)
        rng = np.random.default_rng(self.seed)
        kept_ones, kept_zeros = [], []
        for length in np.intersect1d(one_bins, zero_bins):
            one_rows = rng.permutation(ones[one_bins == length])
            zero_rows = rng.permutation(zeros[zero_bins == length])
            size = min(len(one_rows), len(zero_rows))
            kept_ones.append(one_rows[:size])
            kept_zeros.append(zero_rows[:size])
        if not kept_ones:
            raise BadInput("The two classes have no responses to compare.", hint=MORE_DATA)
        return np.sort(np.concatenate(kept_ones)), np.sort(np.concatenate(kept_zeros))

    def _length_bins(self, side: PairSide, rows: np.ndarray) -> np.ndarray:
        if not self.match_length or self.scenario == "human_random":  # one set of responses
            return np.zeros_like(rows)
        return side.lengths()[rows] // self.match_length

    def _same_lengths(self, human: PairSide, other: PairSide) -> tuple[PairSide, PairSide]:
        if not self.match_length or self.scenario == "human_random":
            return human, other
        same = human.lengths() // self.match_length == other.lengths() // self.match_length
        logger.info("Lengths match in %d of %d pairs.", same.sum(), len(same))
        if not same.any():
            raise BadInput("No pair has responses of similar length.", hint="Widen `match_length`.")
        return human.take(same), other.take(same)


def pair_folds(
    passages: Passages,
    pairing: Pairing,
    k: int = 5,
    machine: Passages | None = None,
    seed: int = 0,
) -> list[Passages]:
    """The pairs of each fold, drawn inside it, so that no fold has seen another's replies.

    Args:
        passages (`Passages`):
            Human passages, or passages of several authors.
        pairing (`Pairing`):
            How pairs are made.
        k (`int`, *optional*, defaults to 5):
            Number of folds.
        machine (`Passages`, *optional*):
            The system's passages.
        seed (`int`, *optional*, defaults to 0):
            Seed of the folds.

    Returns:
        `list[Passages]`: The pairs of each fold.
    """
    number = folds(passages, k, seed)
    others = np.zeros(0) if machine is None else folds(machine, k, seed)
    return [
        pairing(
            select(passages, number == fold),
            None if machine is None else select(machine, others == fold),
        )
        for fold in range(k)
    ]


def _join(human: Passages, machine: Passages) -> tuple[PairSide, PairSide]:
    """The rows of two authors that answer the same question."""
    ones, zeros = partners(human, machine)
    if not len(ones):
        raise BadInput("The system answers none of the human contexts.", hint=MORE_DATA)
    left_out = max(len(human), len(machine)) - len(ones)
    if left_out:
        logger.warning(
            "%d contexts are answered by both authors; %d of one only are left out.",
            len(ones), left_out,
        )  # fmt: skip
    author = None if authors(machine).keys() != {"human"} else "machine"
    return PairSide(human, ones), PairSide(machine, zeros, author)


_EVERY = "Cut every turn of whole dialogues: responses='every'."


def in_both_classes(human: Passages) -> np.ndarray:
    """Which passages have a response that is also a next turn, and a next turn that is a response.

    The first reply of a dialogue is never a next turn, and its last turn is never a response that
    has one, so both reveal their class by their position.
    """
    response = row_hashes(human, ["dialogue_id", "response"])
    following = row_hashes(human, ["dialogue_id", "following"])
    followed = np.concatenate(
        [pc.is_valid(batch["following"]).to_numpy(False) for batch in batches(human)]
    )
    is_next = np.isin(response, following[followed])
    return is_next & followed & np.isin(following, response[followed])


def _half(passages: Passages, seed: int) -> np.ndarray:
    """Whether each passage's dialogue falls into the first half."""
    return folds(passages, 2, text_hash(["half", str(seed)]) % 2**31) == 0


def _drop_unmatched(
    human: Passages, groups: np.ndarray, bins: np.ndarray
) -> tuple[Passages, np.ndarray, np.ndarray]:
    """Leave out lengths at which one dialogue has more than half of the responses."""
    keep = np.ones(len(bins), dtype=bool)
    for length in np.unique(bins):
        rows = bins == length
        if 2 * np.unique(groups[rows], return_counts=True)[1].max() > rows.sum():
            keep &= ~rows
    logger.info("Lengths match for %d of %d passages.", keep.sum(), len(keep))
    if not keep.any():
        raise BadInput("No length is shared by two dialogues.", hint="Widen `match_length`.")
    return select(human, keep), groups[keep], bins[keep]
