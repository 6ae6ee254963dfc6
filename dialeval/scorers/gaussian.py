"""Gaussian models of how contexts and responses go together, in closed form."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.linalg.lapack import spotrf, spotri

from dialeval.scorers.linear_solvers import TrainingSet
from dialeval.scorers.row_cache import FitCache

SHRINKAGE = 0.3
"""Weight of the variances alone in a covariance; more where there are few rows."""
Moments = tuple[np.ndarray, np.ndarray]
"""A mean and a covariance."""
Density = tuple[np.ndarray, np.ndarray, float]
"""Coefficients of a log density: of the products, of the features, and the constant."""
T = TypeVar("T")


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


@dataclass(frozen=True)
class GaussianRows:
    """Rows of features, with a cache of the densities of parts of them.

    The systems of a run answer the same contexts, so that the Gaussian of the human pairs of a fold
    is needed for each of them, and by several families.

    Args:
        matrix (`np.ndarray`):
            Features, shape `(rows, d)`: the first columns describe the context, the others the
            response.
        names (`np.ndarray`):
            A number for what each row describes, the same in every matrix.
        space (`str`):
            A name for what the columns are.
        cache (`FitCache`):
            Keeps densities by a hash of their rows.
        split (`int`, *optional*):
            Columns that describe the context; half of them by default.
        shrinkage (`float`, *optional*):
            Weight of the variances alone in a covariance.
    """

    matrix: np.ndarray
    names: np.ndarray
    space: str
    cache: FitCache
    split: int | None = None
    shrinkage: float = SHRINKAGE

    def density(self, rows: np.ndarray) -> Density:
        """The log density of a Gaussian fitted to some rows, given by their numbers."""
        return self._cached(
            "density", rows, lambda: _log_density(*_moments(self.matrix[rows], self.shrinkage))
        )

    def association(self, rows: np.ndarray) -> QuadraticModel:
        """What [`mutual_information`] gives for some rows."""
        split = self.matrix.shape[1] // 2 if self.split is None else self.split
        return self._cached(
            "association",
            rows,
            lambda: mutual_information(self.matrix[rows], split, self.shrinkage),
        )

    def _cached(self, what: str, rows: np.ndarray, fit: Callable[[], T]) -> T:
        facts = (
            f"{what} {self.space} {self.shrinkage}".encode()
            + np.ascontiguousarray(self.names[rows]).tobytes()
        )
        return self.cache(hashlib.blake2b(facts).hexdigest(), fit)


def fit_gaussian(
    features: GaussianRows, one: TrainingSet, human_only: bool
) -> tuple[QuadraticModel, np.ndarray]:
    """A model fitted on all rows of a set, and their values by models not fitted on them.

    Args:
        features (`GaussianRows`):
            Features of the rows.
        one (`TrainingSet`):
            Which rows the model is fitted to.
        human_only (`bool`):
            Whether the value is the pointwise mutual information of context and response among
            human pairs, whatever the other class is; else the ratio of both classes' densities.

    Returns:
        `tuple[QuadraticModel, np.ndarray]`: The model, and values of shape `(n,)`.
    """

    def fit(learn: np.ndarray) -> QuadraticModel:
        human, machine = (one.rows[learn & (one.labels == label)] for label in (1, 0))
        if human_only:
            return features.association(human)
        return class_ratio(features.density(human), features.density(machine))

    values = np.empty(len(one.rows))
    for fold in one.folds:
        held_out = features.matrix[one.rows[fold.held_out]]
        values[fold.held_out] = fit(fold.learn)(held_out)
    return fit(np.ones(len(one.rows), bool)), values


def class_ratio(human: Density, machine: Density) -> QuadraticModel:
    """log N(row | human) - log N(row | machine): quadratic discriminant analysis."""
    matrix, weights = human[0] - machine[0], human[1] - machine[1]
    return QuadraticModel(matrix, weights.astype(np.float32), human[2] - machine[2])


def mutual_information(rows: np.ndarray, split: int, shrinkage: float) -> QuadraticModel:
    """log p(context, response) - log p(context) p(response), fitted to human pairs.

    It is what human and random pairs differ by, estimated as if with all random pairs at once.

    Args:
        rows (`np.ndarray`):
            Features of human pairs, shape `(n, d)`.
        split (`int`):
            Columns that describe the context.
        shrinkage (`float`):
            Weight of the variances alone in the covariance.

    Returns:
        `QuadraticModel`: The pointwise mutual information.
    """
    mean, covariance = _moments(rows, shrinkage)
    matrix, weights, constant = _log_density(mean, covariance)
    for part in (slice(split), slice(split, None)):
        alone = _log_density(mean[part], covariance[part, part])
        matrix[part, part] -= alone[0]
        weights[part] -= alone[1]
        constant -= alone[2]
    return QuadraticModel(matrix, weights.astype(np.float32), constant)


def _moments(rows: np.ndarray, shrinkage: float) -> Moments:
    """Mean and shrunk covariance, which is never singular."""
    mean = rows.mean(0, dtype=np.float64)
    centred = rows - mean.astype(rows.dtype)  # products in the precision of the rows: fast
    covariance = (centred.T @ centred).astype(np.float64) / max(1, len(rows) - 1)
    variances = np.diag(covariance) + 1e-6
    share = max(shrinkage, rows.shape[1] / (rows.shape[1] + len(rows)))
    return mean, (1 - share) * covariance + share * np.diag(variances)


def _log_density(mean: np.ndarray, covariance: np.ndarray) -> Density:
    """Coefficients of a Gaussian's log density, without the term that all Gaussians share."""
    factor, _ = spotrf(covariance, lower=1, clean=1)  # positive definite: see `_moments`
    lower, _ = spotri(factor, lower=1)
    precision = lower + lower.T
    precision[np.diag_indices_from(precision)] /= 2
    weights = precision @ mean
    constant = -0.5 * (mean @ weights) - np.log(np.diag(factor)).sum()
    return -0.5 * precision, weights, float(constant)
