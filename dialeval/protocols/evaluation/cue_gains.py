"""What each cue adds to the stronger ones: the held-out accuracy of the first cue, of two, ..."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

from dialeval.dialogues.storage import Passages
from dialeval.protocols.leaks.features import Feature, content_features, format_features
from dialeval.protocols.leaks.measures import find_markers, measure
from dialeval.protocols.leaks.rows import Rows
from dialeval.protocols.leaks.trial import fit_rule


def leak_features(human: Passages, answers: Passages, rows: Rows) -> Iterator[Feature]:
    """The traits of the leak check, one number per response.

    Args:
        human, answers (`Passages`):
            Human responses and the system's.
        rows (`Rows`):
            Sides, dialogues and halves.

    Returns:
        `Iterator[Feature]`: In the order of the leak check.
    """
    table = measure(human, answers, rows, find_markers(human, answers, rows))
    yield from format_features(table, rows)
    yield from content_features(table, rows)


def cumulative_accuracies(features: Sequence[Feature], rows: Rows) -> list[float]:
    """How often the first cue is right, the first two together, the first three, ...

    Each cue decides by its own rule; the decisions are weighted by a logistic regression. Rules and
    weights are fitted on the training half, and the accuracy, the mean of both sides', is that on
    the other half.

    Args:
        features (`Sequence[Feature]`):
            The cues, the strongest first.
        rows (`Rows`):
            Sides, dialogues and halves.

    Returns:
        `list[float]`: One more cue each; .5 is chance.
    """
    if not features:
        return []
    votes = np.column_stack([fit_rule(item.values, rows)(item.values) for item in features])
    return [
        _accuracy(votes[:, :count].astype(float), rows) for count in range(1, len(features) + 1)
    ]


def _accuracy(votes: np.ndarray, rows: Rows) -> float:
    model = LogisticRegression(class_weight="balanced")
    model.fit(votes[rows.train], rows.is_human[rows.train])
    predicted = model.predict(votes)
    sides = (rows.test & rows.is_human, rows.test & ~rows.is_human)
    return float(np.mean([(predicted[side] == rows.is_human[side]).mean() for side in sides]))


def gains(accuracies: Iterable[float]) -> list[float]:
    """What each one adds to those before it; the first to chance.

    Examples:
        >>> [round(gain, 2) for gain in gains([0.7, 0.8, 0.79])]
        [0.2, 0.1, -0.01]
    """
    return np.diff([0.5, *accuracies]).tolist()
