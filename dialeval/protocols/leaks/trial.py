"""Rules on one trait each, learnt on one half of the dialogues and tested on the other."""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dialeval.dialogues.storage import Passages
from dialeval.metrics.intervals import wilson
from dialeval.metrics.leak_results import Leak
from dialeval.metrics.significance import bootstrap_ratios, exchange_test, holm, sign_flip_test
from dialeval.protocols.leaks.features import Feature, Rule
from dialeval.protocols.leaks.rows import Rows


@dataclass(frozen=True)
class _Trial:
    """Outcome of each rule on the test half, one entry per feature."""

    accuracy: np.ndarray
    ratios: np.ndarray  # (resamples, features) accuracies
    p_values: list[float]
    dialogues: int

    @property
    def interval(self) -> np.ndarray:
        """Bounds of the accuracies; Wilson's where a rule is always right, or always wrong."""
        bounds = np.percentile(self.ratios, [2.5, 97.5], axis=0)
        for value in (0.0, 1.0):
            limits = wilson(value * self.dialogues, self.dialogues)
            bounds[:, self.accuracy == value] = np.array(limits)[:, None]
        return bounds


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
    low, high = trial.interval
    adjusted = holm(trial.p_values)
    return [
        Leak(
            name=feature.name,
            measures=feature.measures,
            human=feature.mean(rows.test & rows.is_human),
            system=feature.mean(rows.test & ~rows.is_human),
            accuracy=float(trial.accuracy[index]),
            low=float(low[index]),
            high=float(high[index]),
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
        ratios=bootstrap_ratios(correct, 2 * size, seed),
        p_values=[sign_flip_test(column, seed) for column in (human - system).T],
        dialogues=len(size),
    )


def _unpaired_trial(predicted: np.ndarray, rows: Rows, seed: int) -> _Trial:
    human, human_size = _per_dialogue(predicted, rows.test & rows.is_human, rows)
    system, system_size = _per_dialogue(predicted, rows.test & ~rows.is_human, rows)
    drawn_human = bootstrap_ratios(human, human_size, seed)
    drawn_system = bootstrap_ratios(system, system_size, seed + 1)
    rates = (human / human_size[:, None]).T, (system / system_size[:, None]).T
    return _Trial(
        accuracy=(1 + human.sum(0) / human_size.sum() - system.sum(0) / system_size.sum()) / 2,
        ratios=(1 + drawn_human - drawn_system) / 2,
        p_values=[exchange_test(*columns, seed) for columns in zip(*rates, strict=True)],
        dialogues=min(len(human_size), len(system_size)),
    )


def _per_dialogue(
    predicted: np.ndarray, mask: np.ndarray, rows: Rows
) -> tuple[np.ndarray, np.ndarray]:
    """How many responses of each dialogue are predicted to be human, and how many it has."""
    dialogue = rows.units(mask)
    sizes = np.bincount(dialogue)
    sums = [np.bincount(dialogue, column, minlength=len(sizes)) for column in predicted[mask].T]
    return np.column_stack(sums), sizes
