"""Gaussian models of how contexts and responses go together, in closed form."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import spotrf, spotri

from dialeval.scorers.linear_solvers import TrainingSet

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
    matrix: np.ndarray, one: TrainingSet, human_only: bool
) -> tuple[QuadraticModel, np.ndarray]:
    """A model fitted on all rows of a set, and their values by models not fitted on them.

    Args:
        matrix (`np.ndarray`):
            Features, shape `(rows, d)`: the first half of the columns describe the context, the
            second half the response.
        one (`TrainingSet`):
            Which rows the model is fitted to.
        human_only (`bool`):
            Whether the value is the pointwise mutual information of context and response among
            human pairs, whatever the other class is; else the ratio of both classes' densities.

    Returns:
        `tuple[QuadraticModel, np.ndarray]`: The model, and values of shape `(n,)`.
    """
    fit = mutual_information if human_only else class_ratio
    rows, labels = matrix[one.rows], one.labels
    values = np.empty(len(labels))
    for fold in one.folds:
        values[fold.held_out] = fit(rows[fold.learn], labels[fold.learn])(rows[fold.held_out])
    return fit(rows, labels), values


def class_ratio(rows: np.ndarray, labels: np.ndarray) -> QuadraticModel:
    """log N(row | human) - log N(row | machine): quadratic discriminant analysis."""
    human, machine = (_log_density(*_moments(rows[labels == label])) for label in (1, 0))
    matrix, weights = human[0] - machine[0], human[1] - machine[1]
    return QuadraticModel(matrix, weights.astype(np.float32), human[2] - machine[2])


def mutual_information(rows: np.ndarray, labels: np.ndarray) -> QuadraticModel:
    """log p(context, response) - log p(context) p(response), fitted to the human pairs.

    It is what human and random pairs differ by, estimated as if with all random pairs at once.
    """
    mean, covariance = _moments(rows[labels == 1])
    matrix, weights, constant = _log_density(mean, covariance)
    half = rows.shape[1] // 2
    for part in (slice(half), slice(half, None)):
        alone = _log_density(mean[part], covariance[part, part])
        matrix[part, part] -= alone[0]
        weights[part] -= alone[1]
        constant -= alone[2]
    return QuadraticModel(matrix, weights.astype(np.float32), constant)


def _moments(rows: np.ndarray) -> Moments:
    """Mean and shrunk covariance, which is never singular."""
    mean = rows.mean(0, dtype=np.float64)
    centred = rows - mean.astype(rows.dtype)  # products in the precision of the rows: fast
    covariance = (centred.T @ centred).astype(np.float64) / max(1, len(rows) - 1)
    variances = np.diag(covariance) + 1e-6
    share = max(SHRINKAGE, rows.shape[1] / (rows.shape[1] + len(rows)))
    return mean, (1 - share) * covariance + share * np.diag(variances)


def _log_density(mean: np.ndarray, covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients of a Gaussian's log density, without the term that all Gaussians share."""
    factor, _ = spotrf(covariance, lower=1, clean=1)  # positive definite: see `_moments`
    lower, _ = spotri(factor, lower=1)
    precision = lower + lower.T
    precision[np.diag_indices_from(precision)] /= 2
    weights = precision @ mean
    constant = -0.5 * (mean @ weights) - np.log(np.diag(factor)).sum()
    return -0.5 * precision, weights, float(constant)
