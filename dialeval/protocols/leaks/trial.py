"""Rules on one trait each, learnt on one half of the dialogues and tested on the other."""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dialeval.dialogues.storage import Passages
from dialeval.metrics.leak_results import Leak
from dialeval.metrics.share_intervals import clustered_wilson
from dialeval.metrics.significance import exchange_test, holm, sign_flip_test
from dialeval.protocols.leaks.features import Feature, Rule
from dialeval.protocols.leaks.rows import Rows


@dataclass(frozen=True)
class _Trial:
    """Outcome of each rule on the test half, one entry per feature."""

    accuracy: np.ndarray
    bounds: list[tuple[float, float]]
    p_values: list[float]


class Examples:
    """Responses by row."""

    def __init__(self, human: Passages, system: Passages, rows: Rows):
        self.human, self.system, self.rows = human, system, rows

    def first_correct(self, predicted: np.ndarray, human: bool) -> str | None:
        """The first test response of a side that was classified correctly."""
        rows = self.rows
        correct_rows = np.flatnonzero(rows.test & (rows.is_human == human) & (predicted == human))
        if not len(correct_rows):
            return None
        if human:
            return self.human[int(rows.human[correct_rows[0]])]["response"]
        return self.system[int(rows.system[correct_rows[0] - len(rows.human)])]["response"]


def measure_leaks(
    features: list[Feature], rows: Rows, seed: int, alpha: float, examples: Examples
) -> list[Leak]:
    """The outcome of each trait.

    Args:
        features (`list[Feature]`):
            The traits.
        rows (`Rows`):
            Sides, dialogues and halves.
        seed (`int`):
            Seed of resampling.
        alpha (`float`):
            Chance of any false alarm.
        examples (`Examples`):
            Responses to quote.

    Returns:
        `list[Leak]`: In the order of the features.
    """
    rules = [fit_rule(feature.values, rows) for feature in features]
    pairs = list(zip(features, rules, strict=True))
    predicted = np.column_stack([rule(feature.values) for feature, rule in pairs])  # for human
    trial = (_paired_trial if rows.paired else _unpaired_trial)(predicted, rows, seed)
    adjusted = holm(trial.p_values)
    return [
        Leak(
            name=feature.name,
            measures=feature.measures,
            human=feature.mean(rows.test & rows.is_human),
            system=feature.mean(rows.test & ~rows.is_human),
            accuracy=float(trial.accuracy[index]),
            low=trial.bounds[index][0],
            high=trial.bounds[index][1],
            p_value=trial.p_values[index],
            p_holm=float(adjusted[index]),
            significant=bool(adjusted[index] <= alpha),
            rule=feature.rule_text(rule),
            human_example=examples.first_correct(predicted[:, index], True) if rule else None,
            system_example=examples.first_correct(predicted[:, index], False) if rule else None,
            hint=feature.hint,
        )
        for index, (feature, rule) in enumerate(pairs)
    ]


def fit_rule(values: np.ndarray, rows: Rows) -> Rule:
    """The rule on one number, learnt on the training half.

    It has at most two cuts, so that it can say "between".
    """
    values, is_human = values[rows.train], rows.is_human[rows.train]
    tree = DecisionTreeClassifier(
        max_leaf_nodes=3,
        min_samples_leaf=max(5, -(-len(values) // 100)),
        class_weight="balanced",
        random_state=0,
    ).fit(values[:, None], is_human)
    cuts = np.sort(tree.tree_.threshold[tree.tree_.feature >= 0])
    human = np.zeros(len(cuts) + 1, dtype=bool)
    human[np.searchsorted(cuts, values)] = tree.predict(values[:, None])
    changes = human[1:] != human[:-1]
    return Rule(cuts[changes], human[np.append(True, changes)])


def _paired_trial(predicted: np.ndarray, rows: Rows, seed: int) -> _Trial:
    human, size = _per_dialogue(predicted, rows.test & rows.is_human, rows)
    system, _ = _per_dialogue(predicted, rows.test & ~rows.is_human, rows)
    correct = human + size[:, None] - system  # (dialogues, features)
    return _Trial(
        accuracy=correct.sum(0) / (2 * size.sum()),
        bounds=_bounds(human, size, size[:, None] - system, size),
        p_values=[sign_flip_test(column, seed) for column in (human - system).T],
    )


def _unpaired_trial(predicted: np.ndarray, rows: Rows, seed: int) -> _Trial:
    human, human_size = _per_dialogue(predicted, rows.test & rows.is_human, rows)
    system, system_size = _per_dialogue(predicted, rows.test & ~rows.is_human, rows)
    rates = (human / human_size[:, None]).T, (system / system_size[:, None]).T
    return _Trial(
        accuracy=(1 + human.sum(0) / human_size.sum() - system.sum(0) / system_size.sum()) / 2,
        bounds=_bounds(*_padded(human, human_size, system_size[:, None] - system, system_size)),
        p_values=[exchange_test(*columns, seed) for columns in zip(*rates, strict=True)],
    )


def _bounds(
    human: np.ndarray, human_size: np.ndarray, system: np.ndarray, system_size: np.ndarray
) -> list[tuple[float, float]]:
    """Intervals of the mean of both sides' accuracies, from correct decisions by dialogue."""
    rates = np.stack([human.sum(0) / human_size.sum(), system.sum(0) / system_size.sum()])
    variances = (rates * (1 - rates)).mean(0)
    return [
        clustered_wilson(np.column_stack([one, human_size, two, system_size]), float(variance))
        for one, two, variance in zip(human.T, system.T, variances, strict=True)
    ]


def _padded(
    human: np.ndarray, human_size: np.ndarray, system: np.ndarray, system_size: np.ndarray
) -> list[np.ndarray]:
    """The same for dialogues that have only one side: zeros on the other one."""

    def pad(part: np.ndarray, before: int, after: int) -> np.ndarray:
        return np.pad(part, [(before, after)] + [(0, 0)] * (part.ndim - 1))

    first, second = len(human_size), len(system_size)
    sides = [pad(part, 0, second) for part in (human, human_size)]
    return sides + [pad(part, first, 0) for part in (system, system_size)]


def _per_dialogue(
    predicted: np.ndarray, mask: np.ndarray, rows: Rows
) -> tuple[np.ndarray, np.ndarray]:
    """How many responses of each dialogue are predicted to be human, and how many it has."""
    dialogue = rows.units(mask)
    sizes = np.bincount(dialogue)
    sums = [np.bincount(dialogue, column, minlength=len(sizes)) for column in predicted[mask].T]
    return np.column_stack(sums), sizes
