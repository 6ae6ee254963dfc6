"""Whole dialogues: turn scores pooled, and how many turns it takes until a dialogue is spotted."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dialeval.metrics.calibration import expected_calibration_error
from dialeval.metrics.intervals import balanced_interval
from dialeval.metrics.pooling import calibrated_log_odds, log_odds, pooled
from dialeval.metrics.unpaired_results import TurnPoint
from dialeval.protocols.unpaired.scoring import Accuracy, in_dialogue_order, participants

MOST_TURNS = 30
"""Last point of the curve; it ends earlier where nine in ten dialogues are shorter."""
SPOTTED = 0.9
"""Accuracy from which dialogues count as spotted."""


@dataclass(frozen=True)
class PooledDialogues:
    """Log odds of every turn, and the dialogues that they belong to.

    Args:
        turns (`np.ndarray`):
            Calibrated log odds of each turn.
        dialogue (`np.ndarray`):
            Number of the dialogue of each turn.
        label, fold (`np.ndarray`):
            Of each dialogue.
        units (`list[str]`):
            What each dialogue is resampled with.
    """

    turns: np.ndarray
    dialogue: np.ndarray
    label: np.ndarray
    fold: np.ndarray
    units: list[str]

    @classmethod
    def from_table(cls, table: pa.Table) -> "PooledDialogues":
        """Turns with log odds that were calibrated on the other folds."""
        ordered = in_dialogue_order(table)
        dialogue = np.unique(participants(ordered)[0], return_inverse=True)[1]
        label, fold = (ordered[name].to_numpy() for name in ("label", "fold"))
        first = np.unique(dialogue, return_index=True)[1]
        if len(np.unique(fold)) < 2:  # an evaluator that is not trained here
            fold = dialogue % 5
        turns = calibrated_log_odds(log_odds(ordered["score"].to_numpy()), label, fold)
        units = ordered["unit"].take(pa.array(first)).to_pylist()
        return cls(turns, dialogue, label[first], fold[first], units)

    def log_odds(self, seen: int | None = None) -> np.ndarray:
        """Log odds of every dialogue after some turns.

        Turns of one dialogue are not independent, so a plain sum is too sure of itself; it is
        calibrated on the dialogues of the other folds.
        """
        return calibrated_log_odds(pooled(self.turns, self.dialogue, seen), self.label, self.fold)

    def accuracy(self, seed: int, seen: int | None = None, level: float = 0.95) -> Accuracy:
        """Balanced accuracy on dialogues after some turns.

        Args:
            seed (`int`):
                Seed of the bootstrap.
            seen (`int`, *optional*):
                Number of turns; all by default.
            level (`float`, *optional*, defaults to 0.95):
                Confidence level.

        Returns:
            `Accuracy`: With an interval over units.
        """
        human = self.label == 1
        values = ((self.log_odds(seen) > 0) == human).astype(float)
        low, high = balanced_interval(values, self.label, self.units, level=level, seed=seed)
        value = (values[human].mean() + values[~human].mean()) / 2
        return Accuracy(float(value), low, high, len(values))

    def calibration_error(self) -> float:
        """Expected calibration error of the dialogues' probabilities."""
        return expected_calibration_error(1 / (1 + np.exp(-self.log_odds())), self.label, bins=10)


def turn_curve(
    dialogues: PooledDialogues, names: tuple[str, str, str], seed: int
) -> list[TurnPoint]:
    """Accuracy on dialogues against the number of turns that were read.

    Args:
        dialogues (`PooledDialogues`):
            Turns of one evaluator.
        names (`tuple[str, str, str]`):
            System, evaluator and view.
        seed (`int`):
            Seed of the bootstrap.

    Returns:
        `list[TurnPoint]`: From one turn on.
    """
    sizes = np.bincount(dialogues.dialogue)
    last = int(min(MOST_TURNS, max(1, np.quantile(sizes, 0.9))))
    points = []
    for seen in range(1, last + 1):
        measure = dialogues.accuracy(seed, seen)
        points.append(TurnPoint(*names, seen, measure.value, measure.low, measure.high))
    return points


def turns_until(points: list[TurnPoint], accuracy: float = SPOTTED) -> int | None:
    """The first number of turns from which on the accuracy stays at or above a value."""
    above = [point.accuracy >= accuracy for point in points]
    for index, point in enumerate(points):
        if all(above[index:]):
            return point.turns
    return None
