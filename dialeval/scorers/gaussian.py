"""Gaussian models of how contexts and responses go together, in closed form."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy.linalg.blas import strsm
from scipy.linalg.lapack import spotrf, spotri, spotrs

from dialeval.scorers.linear_solvers import TrainingSet
from dialeval.scorers.row_cache import FitCache

SHRINKAGE = 0.3
"""Weight of the variances alone in a covariance; more where there are few rows."""
_SMALLEST = 1e-6
"""Added to variances, so that no covariance is singular."""
Coefficients = tuple[np.ndarray, np.ndarray, float]
"""Of a log density: those of the products, of the features, and the constant."""
T = TypeVar("T")


@dataclass(frozen=True)
class QuadraticModel:
    """The log of the ratio of two Gaussian densities: a quadratic function of the features.

    Args:
        matrix (`np.ndarray`):
            Weights of the products, shape `(d, d)`; with a `split` those of the products of context
            and response, shape `(split, d - split)`.
        weights (`np.ndarray`):
            Weights of the features, shape `(d,)`.
        intercept (`float`):
            Value of a row of zeros.
        split (`int`, *optional*):
            Columns that describe the context, where no other products count.
    """

    matrix: np.ndarray
    weights: np.ndarray
    intercept: float
    split: int | None = None

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The value of each row."""
        products = _dots(rows[:, : self.split] @ self.matrix, rows[:, self.split or 0 :])
        return np.asarray(products + rows @ self.weights, dtype=np.float64) + self.intercept


@dataclass(frozen=True)
class Density:
    """A Gaussian density.

    Args:
        mean (`np.ndarray`):
            Shape `(d,)`.
        factor (`np.ndarray`):
            Cholesky factor of the covariance, shape `(d, d)`; only its lower triangle is valid.
    """

    mean: np.ndarray
    factor: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The log density of each row, without the term that all Gaussians share."""
        return self.conditional(rows, 0)

    def conditional(self, rows: np.ndarray, split: int) -> np.ndarray:
        """The same of the columns from `split` on, given those before them.

        Each column of whitened rows is the deviation of a feature from what the ones before it
        predict. Solving for a few rows takes less time than inverting the covariance.
        """
        centred = (rows - self.mean).T
        whitened = strsm(1.0, self.factor, centred, lower=1, overwrite_b=1).T[:, split:]
        return -0.5 * _dots(whitened, whitened).astype(np.float64) - self._log_scale(split)

    def coefficients(self) -> Coefficients:
        """The same function as coefficients; products of two columns count once."""
        inverse, _ = spotri(self.factor, lower=1)
        products = -np.tril(inverse)
        products[np.diag_indices_from(products)] /= 2
        weights, _ = spotrs(self.factor, self.mean, lower=1)
        return products, weights, float(-0.5 * (self.mean @ weights)) - self._log_scale(0)

    def _log_scale(self, split: int) -> float:
        return float(np.log(np.diag(self.factor)[split:]).sum(dtype=np.float64))


@dataclass(frozen=True)
class Association:
    """log p(context, response) - log p(context) p(response) of human pairs.

    It is what human and random pairs differ by, estimated as if with all random pairs at once.

    Args:
        both (`Density`):
            Of context and response.
        response (`Density`):
            Of the response alone.
        split (`int`):
            Columns that describe the context.
    """

    both: Density
    response: Density
    split: int

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The pointwise mutual information of each row."""
        alone = self.response(rows[:, self.split :])
        return self.both.conditional(rows, self.split) - alone

    def quadratic(self) -> QuadraticModel:
        """The same function as coefficients, which are smaller on disk."""
        at = self.split
        products, weights, constant = self.both.coefficients()
        context = Density(self.both.mean[:at], np.asfortranarray(self.both.factor[:at, :at]))
        for part, density in ((slice(at), context), (slice(at, None), self.response)):
            alone = density.coefficients()
            products[part, part] -= alone[0]
            weights[part] -= alone[1]
            constant -= alone[2]
        return QuadraticModel(products, weights, constant)


@dataclass(frozen=True)
class DensityRatio:
    """log N(row | human) - log N(row | machine): quadratic discriminant analysis.

    Args:
        human, machine (`Density`):
            Of the two classes.
    """

    human: Density
    machine: Density

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """The log ratio of each row."""
        return self.human(rows) - self.machine(rows)

    def quadratic(self) -> QuadraticModel:
        """The same function as coefficients, which are smaller on disk."""
        first, second = self.human.coefficients(), self.machine.coefficients()
        return QuadraticModel(first[0] - second[0], first[1] - second[1], first[2] - second[2])


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
        """A Gaussian fitted to some rows, given by their numbers."""
        return self._cached("density", rows, lambda: self._fit(rows))

    def association(self, rows: np.ndarray) -> Association:
        """How context and response go together in some rows, given by their numbers."""
        return self._cached("association", rows, lambda: self._association(rows))

    def _association(self, rows: np.ndarray) -> Association:
        split = self.matrix.shape[1] // 2 if self.split is None else self.split
        both = self.density(rows)
        lower = np.tril(both.factor)[split:]
        response = Density(both.mean[split:], _cholesky(lower @ lower.T))
        return Association(both, response, split)

    def _fit(self, rows: np.ndarray) -> Density:
        mean, covariance = _moments(self.matrix[rows], self.shrinkage)
        return Density(mean, _cholesky(covariance))

    def _cached(self, what: str, rows: np.ndarray, fit: Callable[[], T]) -> T:
        facts = (
            f"{what} {self.space} {self.shrinkage}".encode()
            + np.ascontiguousarray(self.names[rows]).tobytes()
        )
        return self.cache(hashlib.blake2b(facts).hexdigest(), fit)


def fit_gaussian(
    features: GaussianRows, one: TrainingSet, human_only: bool
) -> tuple[Association | DensityRatio, np.ndarray]:
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
        `tuple[Association | DensityRatio, np.ndarray]`: The model, and values of shape `(n,)`.
    """

    def fit(learn: np.ndarray) -> Association | DensityRatio:
        human, machine = (one.rows[learn & (one.labels == label)] for label in (1, 0))
        if human_only:
            return features.association(human)
        return DensityRatio(features.density(human), features.density(machine))

    values = np.empty(len(one.rows))
    for fold in one.folds:
        held_out = features.matrix[one.rows[fold.held_out]]
        values[fold.held_out] = fit(fold.learn)(held_out)
    return fit(np.ones(len(one.rows), bool)), values


def _moments(rows: np.ndarray, shrinkage: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and shrunk covariance, which is never singular; in single precision, which is fast."""
    n, width = rows.shape
    mean = rows.mean(0, dtype=np.float64).astype(np.float32)
    centred = np.asarray(rows, np.float32) - mean
    covariance = centred.T @ centred
    covariance /= max(1, n - 1)
    share = max(shrinkage, width / (width + n))
    variances = np.diag(covariance) + share * _SMALLEST
    covariance *= 1 - share
    covariance[np.diag_indices_from(covariance)] = variances
    return mean, covariance


def _cholesky(covariance: np.ndarray) -> np.ndarray:
    """The lower factor of a positive definite matrix, which is overwritten."""
    return spotrf(covariance.T, lower=1, clean=0, overwrite_a=1)[0]


def _dots(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The scalar product of each row with the same row of another matrix."""
    return np.einsum("ij,ij->i", first, second)
