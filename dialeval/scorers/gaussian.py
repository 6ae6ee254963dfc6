"""Gaussian models of how contexts and responses go together, in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.scorers.linear_features import Fold

SHRINKAGE = 0.3
"""Weight of the variances alone in a covariance; more where there are few rows."""
Moments = tuple[np.ndarray, np.ndarray]
"""A mean and a covariance."""


@dataclass(frozen=True)
class QuadraticModel:
    """The log of the ratio of two Gaussian densities: a quadratic function of the features.

    Args:
        matrix (`np.ndarray`):
            Weights of the products, shape `(d, d)`.
        weights (`np.ndarray`):
            Weights of the features, shape `(d,)`.
        intercept (`float`):
            Value of a row of zeros.
    """

    matrix: np.ndarray
    weights: np.ndarray
    intercept: float

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The value of each row."""
        products = ((rows @ self.matrix) * rows).sum(1)
        return np.asarray(products + rows @ self.weights, dtype=np.float64) + self.intercept


def fit_gaussian(
    rows: np.ndarray, labels: np.ndarray, folds: Sequence[Fold], human_only: bool
) -> tuple[QuadraticModel, np.ndarray]:
    """A model fitted on all rows, and the values of each row by models that were not fitted on it.

    Args:
        rows (`np.ndarray`):
            Features, shape `(n, d)`: the first half of the columns describe the context, the
            second half the response.
        labels (`np.ndarray`):
            1 human, 0 machine.
        folds (`Sequence[Fold]`):
            Rows to learn from, and rows that are held out.
        human_only (`bool`):
            Whether the value is the pointwise mutual information of context and response among
            human pairs, whatever the other class is; else the ratio of both classes' densities.

    Returns:
        `tuple[QuadraticModel, np.ndarray]`: The model, and values of shape `(n,)`.
    """
    fit = mutual_information if human_only else class_ratio
    values = np.empty(len(labels))
    for fold in folds:
        values[fold.held_out] = fit(rows[fold.learn], labels[fold.learn])(rows[fold.held_out])
    return fit(rows, labels), values


def class_ratio(rows: np.ndarray, labels: np.ndarray) -> QuadraticModel:
    """log N(row | human) - log N(row | machine): quadratic discriminant analysis."""
    return _ratio(_moments(rows[labels == 1]), _moments(rows[labels == 0]))


def mutual_information(rows: np.ndarray, labels: np.ndarray) -> QuadraticModel:
    """log p(context, response) - log p(context) p(response), fitted to the human pairs.

    It is what human and random pairs differ by, estimated as if with all random pairs at once.
    """
    mean, covariance = _moments(rows[labels == 1])
    half, apart = rows.shape[1] // 2, covariance.copy()
    apart[:half, half:] = apart[half:, :half] = 0
    return _ratio((mean, covariance), (mean, apart))


def _moments(rows: np.ndarray) -> Moments:
    """Mean and shrunk covariance, which is never singular."""
    mean = rows.mean(0, dtype=np.float64)
    centred = rows - mean.astype(rows.dtype)  # products in the precision of the rows: fast
    covariance = (centred.T @ centred).astype(np.float64) / max(1, len(rows) - 1)
    variances = np.diag(covariance) + 1e-6
    share = max(SHRINKAGE, rows.shape[1] / (rows.shape[1] + len(rows)))
    return mean, (1 - share) * covariance + share * np.diag(variances)


def _ratio(first: Moments, second: Moments) -> QuadraticModel:
    (matrix, weights, constant), other = _log_density(*first), _log_density(*second)
    matrix, weights = matrix - other[0], weights - other[1]
    return QuadraticModel(
        matrix.astype(np.float32), weights.astype(np.float32), float(constant - other[2])
    )


def _log_density(mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients of a Gaussian's log density, without the term that all Gaussians share."""
    precision = np.linalg.inv(covariance)
    weights = precision @ mean
    constant = -0.5 * (mean @ weights + np.linalg.slogdet(covariance)[1])
    return -0.5 * precision, weights, float(constant)
