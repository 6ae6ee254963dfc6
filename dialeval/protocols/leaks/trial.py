"""The trial: rules learnt on one half of the dialogues, tested on the other."""

from dataclasses import dataclass

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from dialeval.dialogues.storage import Passages
from dialeval.metrics.significance import bootstrap_ratios, exchange_test, holm, sign_flip_test
from dialeval.protocols.leaks.features import Feature, Rule
from dialeval.protocols.leaks.rows import Rows


@dataclass(frozen=True)
class Leak:
    """How far one trait alone tells a system from people.

    Means, accuracy and interval are those of the held-out half.

    Args:
        measures (`str`):
            What the numbers are.
        accuracy (`float`):
            Balanced accuracy of the rule; 0.5 is chance.
        low, high (`float`):
            95 % percentile bootstrap interval over dialogues.
        p_value, p_holm (`float`):
            One-sided, against chance; and adjusted for the number of traits.
        rule (`str`):
            What the judge does, learnt on the training half.
        human_example, system_example (`str`, *optional*):
            Held-out responses that the rule catches.
        remedy (`str`):
            What levels it; empty for content.
    """

    name: str
    measures: str
    human: float
    system: float
    accuracy: float
    low: float
    high: float
    p_value: float
    p_holm: float
    significant: bool
    rule: str
    human_example: str | None
    system_example: str | None
    hint: str


@dataclass(frozen=True)
class _Trial:
    """Outcome of each rule on the test half, one entry per feature."""

    accuracy: np.ndarray
    ratios: np.ndarray  # (resamples, features) accuracies
    p_values: list[float]

    @property
    def interval(self) -> np.ndarray:
        return np.percentile(self.ratios, [2.5, 97.5], axis=0)


class Examples:
    """Responses by row."""

    def __init__(self, human: Passages, system: Passages, rows: Rows):
        self.human, self.system, self.rows = human, system, rows

    def caught(self, taken: np.ndarray, human: bool) -> str | None:
        """The first test response of a side that was told rightly."""
        rows = self.rows
        found = np.flatnonzero(rows.test & (rows.is_human == human) & (taken == human))
        if not len(found):
            return None
        if human:
            return self.human[int(rows.human[found[0]])]["response"]
        return self.system[int(rows.system[found[0] - len(rows.human)])]["response"]


def judge(
    features: list[Feature], rows: Rows, seed: int, alpha: float, examples: Examples
) -> list[Leak]:
    rules = [_fit(feature.values, rows) for feature in features]
    pairs = list(zip(features, rules, strict=True))
    taken = np.column_stack([rule(feature.values) for feature, rule in pairs])  # for human
    trial = (_paired_trial if rows.paired else _unpaired_trial)(taken, rows, seed)
    low, high = trial.interval
    adjusted = holm(trial.p_values)
    return [
        Leak(
            name=feature.name,
            measures=feature.measures,
            human=feature.mean(rows.test & rows.is_human),
            system=feature.mean(rows.test & ~rows.is_human),
            accuracy=float(trial.accuracy[at]),
            low=float(low[at]),
            high=float(high[at]),
            p_value=trial.p_values[at],
            p_holm=float(adjusted[at]),
            significant=bool(adjusted[at] <= alpha),
            rule=feature.words(rule),
            human_example=examples.caught(taken[:, at], True) if rule else None,
            system_example=examples.caught(taken[:, at], False) if rule else None,
            hint=feature.hint,
        )
        for at, (feature, rule) in enumerate(pairs)
    ]


def _fit(values: np.ndarray, rows: Rows) -> Rule:
    """At most two cuts, so that a rule can say "between"."""
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


def _paired_trial(taken: np.ndarray, rows: Rows, seed: int) -> _Trial:
    human, size = _per_dialogue(taken, rows.test & rows.is_human, rows)
    system, _ = _per_dialogue(taken, rows.test & ~rows.is_human, rows)
    right = human + size[:, None] - system  # (dialogues, features)
    return _Trial(
        accuracy=right.sum(0) / (2 * size.sum()),
        ratios=bootstrap_ratios(right, 2 * size, seed),
        p_values=[sign_flip_test(column, seed) for column in (human - system).T],
    )


def _unpaired_trial(taken: np.ndarray, rows: Rows, seed: int) -> _Trial:
    human, human_size = _per_dialogue(taken, rows.test & rows.is_human, rows)
    system, system_size = _per_dialogue(taken, rows.test & ~rows.is_human, rows)
    drawn_human = bootstrap_ratios(human, human_size, seed)
    drawn_system = bootstrap_ratios(system, system_size, seed + 1)
    rates = (human / human_size[:, None]).T, (system / system_size[:, None]).T
    return _Trial(
        accuracy=(1 + human.sum(0) / human_size.sum() - system.sum(0) / system_size.sum()) / 2,
        ratios=(1 + drawn_human - drawn_system) / 2,
        p_values=[exchange_test(*columns, seed) for columns in zip(*rates, strict=True)],
    )


def _per_dialogue(taken: np.ndarray, mask: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """How many responses of each dialogue were taken for human, of how many."""
    dialogue = rows.units(mask)
    sizes = np.bincount(dialogue)
    sums = [np.bincount(dialogue, column, minlength=len(sizes)) for column in taken[mask].T]
    return np.column_stack(sums), sizes
