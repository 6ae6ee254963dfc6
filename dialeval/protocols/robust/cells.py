"""Cells of the table: values with intervals, differences with p-values, and verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.metrics.overlap import bleu
from dialeval.metrics.robust_results import NOT_MEASURED, Comparison, RobustVerdict, verdict_of
from dialeval.protocols.robustness.effects import Columns, Effect, effects, mean_of

Numbers = Mapping[str, np.ndarray]
"""Values of each test context by measure, `(n,)`; counts `(n, 10)` for BLEU."""


def average(tables: Sequence[Numbers]) -> dict[str, np.ndarray]:
    """Values of several seeds in one: means, and summed counts for BLEU.

    Examples:
        >>> average([{"chrf": np.array([0.2, 0.4])}, {"chrf": np.array([0.4, 0.4])}])["chrf"]
        array([0.3, 0.4])
    """
    return {
        name: np.sum([table[name] for table in tables], 0) / (1 if name == "bleu" else len(tables))
        for name in tables[0]
        if all(name in table for table in tables)
    }


@dataclass(frozen=True)
class CellStatistics:
    """Statistics over test contexts, resampled by dialogue.

    Args:
        groups (`Sequence[str]`):
            The dialogue of each test context.
        resamples (`int`):
            Resamples of the paired bootstrap.
        seed (`int`, *optional*, defaults to 0):
            Seed of the resamples.
    """

    groups: Sequence[str]
    resamples: int
    seed: int = 0

    def values(self, numbers: Numbers) -> dict[str, Effect]:
        """The mean of each measure, or corpus BLEU, with its interval."""
        return self._effects({name: _value(name, array) for name, array in numbers.items()})

    def differences(self, first: Numbers, second: Numbers) -> dict[str, Comparison]:
        """First minus second for each measure that both have, by a paired bootstrap."""
        shared = [name for name in first if name in second]
        parts = {name: _difference(name, first[name], second[name]) for name in shared}
        return {
            name: Comparison(effect.value, effect.low, effect.high, effect.p)
            for name, effect in self._effects(parts).items()
        }

    def _effects(self, parts: Mapping[str, Columns]) -> dict[str, Effect]:
        if not parts:
            return {}
        return effects(parts, self.groups, resamples=self.resamples, seed=self.seed)


def _value(name: str, values: np.ndarray) -> Columns:
    if name == "bleu":
        return Columns(values, bleu, int(np.count_nonzero(values[:, -1])))
    return mean_of(values)


def _difference(name: str, first: np.ndarray, second: np.ndarray) -> Columns:
    if name != "bleu":
        return mean_of(first - second)
    width = first.shape[1]

    def statistic(sums: np.ndarray) -> np.ndarray:
        return bleu(sums[..., :width]) - bleu(sums[..., width:])

    return Columns(np.hstack([first, second]), statistic, int(np.count_nonzero(first[:, -1])))


@dataclass(frozen=True)
class StrategyCells:
    """The four cells of one target and one strategy, in the order of the paper's columns."""

    normal_on_perturbed: Numbers
    hardened_on_perturbed: Numbers
    normal_on_normal: Numbers
    hardened_on_normal: Numbers
    control_on_perturbed: Numbers | None = None
    control_on_normal: Numbers | None = None

    def verdicts(
        self, target: str, strategy: str, kind: str, statistics: CellStatistics
    ) -> list[RobustVerdict]:
        """A verdict by each measure.

        Args:
            target, strategy, kind (`str`):
                The generator, and the strategy with its kind.
            statistics (`CellStatistics`):
                The bootstrap.

        Returns:
            `list[RobustVerdict]`: One per measure.
        """
        attack = statistics.differences(self.normal_on_perturbed, self.normal_on_normal)
        gain = statistics.differences(self.hardened_on_perturbed, self.normal_on_perturbed)
        clean = statistics.differences(self.hardened_on_normal, self.normal_on_normal)
        control = self._against_control(kind, statistics)
        return [
            RobustVerdict(
                target, strategy, kind, name, attack[name], gain[name], clean[name],
                _verdict(kind, gain[name], clean[name]), control.get(name, NOT_MEASURED),
            )
            for name in gain
        ]  # fmt: skip

    def _against_control(self, kind: str, statistics: CellStatistics) -> dict[str, str]:
        """The verdict by each measure with the control in place of N-train."""
        if self.control_on_perturbed is None or self.control_on_normal is None:
            return {}
        gain = statistics.differences(self.hardened_on_perturbed, self.control_on_perturbed)
        clean = statistics.differences(self.hardened_on_normal, self.control_on_normal)
        return {name: _verdict(kind, gain[name], clean[name]) for name in gain}


def _verdict(kind: str, gain: Comparison, clean: Comparison) -> str:
    measured = np.isfinite(gain.p) and np.isfinite(clean.p)
    return verdict_of(kind, gain, clean) if measured else NOT_MEASURED
