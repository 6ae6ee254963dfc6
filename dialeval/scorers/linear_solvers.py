"""Linear models of one family of features, fitted to many training sets at once.

The folds of a cross-fit share most of their rows, and each of them is divided again into inner
folds. All those regressions are solved together, so that the features are read once per step for
all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import expit
from sklearn import config_context
from sklearn.linear_model import SGDClassifier

from dialeval.scorers.linear_features import Fold

_TINY = 1e-6
_CONSTANT = 1e-5
"""A feature that varies by less, relative to its mean, is constant: the rest may be rounding."""
_TOLERANCE, _MAX_STEPS = 1e-4, 500  # of conjugate gradients
_GRADIENT, _MAX_NEWTON = 1e-6, 50  # of Newton's method; the gradient is per row
Matrix = Any
"""A dense or sparse matrix."""


@dataclass(frozen=True)
class LinearModel:
    """A weighted sum of features.

    Args:
        weights (`np.ndarray`):
            Weight of each feature.
        intercept (`float`):
            Value of a row of zeros.
        columns (`np.ndarray`, *optional*):
            Numbers of the features that the weights are of; all others have none. By default the
            weights are of all features.
        width (`int`, *optional*, defaults to 0):
            Number of features, where `columns` are given.
    """

    weights: np.ndarray
    intercept: float
    columns: np.ndarray | None = None
    width: int = 0

    def __call__(self, matrix: Matrix) -> np.ndarray:
        """The value of each row."""
        weights = self.weights
        if self.columns is not None:
            weights = np.zeros(self.width)
            weights[self.columns] = self.weights
        return np.asarray(matrix @ weights, dtype=np.float64) + self.intercept


@dataclass(frozen=True)
class TrainingSet:
    """Which rows of a matrix a model is fitted to.

    Args:
        rows (`np.ndarray`):
            Numbers of the rows, shape `(n,)`.
        labels (`np.ndarray`):
            1 human, 0 machine, for each of them.
        folds (`Sequence[Fold]`):
            Inner folds, as masks of shape `(n,)`: rows to learn from, and rows that are held out.
    """

    rows: np.ndarray
    labels: np.ndarray
    folds: Sequence[Fold]


def fit_family(
    matrix: Matrix, sets: Sequence[TrainingSet], seed: int, strength: float
) -> list[tuple[LinearModel, np.ndarray]]:
    """For each training set a model, and the values of its rows by models not fitted on them.

    Args:
        matrix (`np.ndarray` or `csr_matrix`):
            Features, one row per response.
        sets (`Sequence[TrainingSet]`):
            Which rows each model is fitted to.
        seed (`int`):
            Seed of the stochastic solver of sparse features.
        strength (`float`):
            Penalty: of the mean squared error per row, or `alpha` of the stochastic solver.

    Returns:
        `list[tuple[LinearModel, np.ndarray]]`: For each set the model, and values of shape `(n,)`.
    """
    if issparse(matrix):
        return _fit_sparse(matrix, sets, seed, strength)
    return _fit_dense(matrix, sets, strength)


def logistic_regression(features: np.ndarray, labels: np.ndarray) -> LinearModel:
    """A logistic regression on few features by Newton's method.

    It minimises half the squared norm of the weights plus the log loss, as scikit-learn does with
    its default settings; on a handful of columns most of that one's time would be spent on checks.

    Args:
        features (`np.ndarray`):
            Shape `(n, d)`.
        labels (`np.ndarray`):
            1 human, 0 machine.

    Returns:
        `LinearModel`: The fitted model.
    """
    columns = np.hstack([features, np.ones((len(features), 1))])
    penalty = np.append(np.ones(features.shape[1]), 0.0)

    def loss_of(weights: np.ndarray) -> float:
        values = columns @ weights
        loss = np.logaddexp(0, values).sum() - labels @ values
        return float(loss + (penalty * weights**2).sum() / 2)

    weights = np.zeros(len(penalty))
    for _ in range(_MAX_NEWTON):
        share = expit(columns @ weights)
        gradient = columns.T @ (share - labels) + penalty * weights
        if np.abs(gradient).max() < _GRADIENT * len(labels):
            break
        hessian = (columns.T * (share * (1 - share) + _TINY)) @ columns + np.diag(penalty)
        step, loss = np.linalg.solve(hessian, gradient), loss_of(weights)
        while loss_of(weights - step) > loss and np.abs(step).max() > _TINY:
            step = step / 2  # it went too far
        weights = weights - step
    return LinearModel(weights[:-1], float(weights[-1]))


def _fit_dense(
    matrix: np.ndarray, sets: Sequence[TrainingSet], strength: float
) -> list[tuple[LinearModel, np.ndarray]]:
    """Ridge regressions of labels -1 and 1 on standardised features.

    The columns of a set are its inner folds and then all of its rows.
    """
    learned = [np.stack([*(fold.learn for fold in one.folds), np.ones(len(one.rows), bool)], 1)
               for one in sets]  # fmt: skip
    problem = _ridge_problem(matrix, sets, learned)
    weights = problem.solve(strength) / problem.scale
    intercepts = -(problem.mean * weights).sum(0)
    values = matrix @ weights + intercepts
    fitted, column = [], 0
    for one in sets:
        held_out = np.empty(len(one.rows))
        for number, fold in enumerate(one.folds):
            held_out[fold.held_out] = values[one.rows[fold.held_out], column + number]
        column += len(one.folds) + 1
        model = LinearModel(weights[:, column - 1].copy(), float(intercepts[column - 1]))
        fitted.append((model, held_out))
    return fitted


@dataclass(frozen=True)
class _RidgeProblem:
    """Weighted ridge regressions on the same rows, a column for each.

    Args:
        matrix (`np.ndarray`):
            Features, shape `(rows, d)`.
        counts (`np.ndarray`):
            How often a regression has each row, shape `(rows, columns)`.
        targets (`np.ndarray`):
            Sums of the targets of a row in each regression, shape `(rows, columns)`.
        mean, scale (`np.ndarray`):
            By which each regression standardises the features, shape `(d, columns)`.
    """

    matrix: np.ndarray
    counts: np.ndarray
    targets: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    def solve(self, strength: float) -> np.ndarray:
        """Weights of the standardised features, shape `(d, columns)`, by conjugate gradients."""
        penalty = strength * self.counts.sum(0)
        residual = self._gradient(self.targets)
        weights, direction = np.zeros_like(residual), residual.copy()
        norms = first = (residual**2).sum(0)
        for _ in range(_MAX_STEPS):
            active = norms > _TOLERANCE**2 * first  # more steps of the others would be rounding
            if not active.any():
                break
            image = self._gradient(self.counts * self._values(direction)) + penalty * direction
            step = _ratio(norms, (direction * image).sum(0), active)
            weights += step * direction
            residual -= step * image
            norms, previous = (residual**2).sum(0), norms
            direction = residual + _ratio(norms, previous, active) * direction
        return weights

    def _values(self, weights: np.ndarray) -> np.ndarray:
        scaled = weights / self.scale
        return self.matrix @ scaled - (self.mean * scaled).sum(0)

    def _gradient(self, values: np.ndarray) -> np.ndarray:
        return (self.matrix.T @ values - self.mean * values.sum(0)) / self.scale


def _ridge_problem(
    matrix: np.ndarray, sets: Sequence[TrainingSet], learned: Sequence[np.ndarray]
) -> _RidgeProblem:
    """The problem of all columns of all sets; features are standardised by all rows of a set."""
    counts, targets, means, scales = [], [], [], []
    center = matrix.mean(0)
    centered = matrix - center
    squares = centered**2
    for one, mask in zip(sets, learned, strict=True):
        signs = (2.0 * one.labels - 1)[:, None] * mask
        counts.append(_sum_by_row(one.rows, mask, len(matrix), matrix.dtype))
        targets.append(_sum_by_row(one.rows, signs, len(matrix), matrix.dtype))
        share = counts[-1][:, -1] / len(one.rows)
        shift = share @ centered
        spread = np.sqrt(np.maximum(share @ squares - shift**2, 0))
        is_constant = spread <= _CONSTANT * np.abs(center)  # up to rounding
        shape = (mask.shape[1], matrix.shape[1])
        means.append(np.broadcast_to(center + shift, shape).T)
        scales.append(np.broadcast_to(np.where(is_constant, np.inf, spread + _TINY), shape).T)
    return _RidgeProblem(matrix, *map(np.hstack, (counts, targets, means, scales)))


def _ratio(numerator: np.ndarray, denominator: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The quotients where a mask is true, and 0 elsewhere."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=mask)


def _sum_by_row(rows: np.ndarray, values: np.ndarray, n: int, dtype: Any) -> np.ndarray:
    """Sums of the values of equal rows, shape `(n, columns)`."""
    numbers = np.arange(len(rows))
    selection = csr_matrix((np.ones(len(rows)), (rows, numbers)), shape=(n, len(rows)))
    return np.asarray(selection @ values, dtype=dtype)


def _fit_sparse(
    matrix: Any, sets: Sequence[TrainingSet], seed: int, strength: float
) -> list[tuple[LinearModel, np.ndarray]]:
    """Logistic regressions by averaged stochastic gradients, whose cost is linear in the rows."""
    width = matrix.shape[1]
    columns, matrix = _present_columns(matrix)
    fitted = []
    for one in sets:
        rows, values = matrix[one.rows], np.empty(len(one.rows))
        for fold in one.folds:
            model = _logistic(rows[fold.learn], one.labels[fold.learn], seed, strength)
            values[fold.held_out] = model(rows[fold.held_out])
        model = _logistic(rows, one.labels, seed, strength)
        fitted.append((replace(model, columns=columns, width=width), values))
    return fitted


def _present_columns(matrix: Any) -> tuple[np.ndarray, Any]:
    """Numbers of the columns with any value, and the matrix without the others.

    The solver's vectors have an entry for each column; of a million hashed ones few are used.
    """
    used = np.zeros(matrix.shape[1], bool)
    used[matrix.indices] = True
    number = np.cumsum(used, dtype=np.int32) - 1
    parts = (matrix.data, number[matrix.indices], matrix.indptr)
    columns = np.flatnonzero(used).astype(np.int32)
    return columns, csr_matrix(parts, shape=(matrix.shape[0], len(columns)))


def _logistic(matrix: Any, labels: np.ndarray, seed: int, strength: float) -> LinearModel:
    solver = SGDClassifier(
        loss="log_loss", alpha=strength, average=True, max_iter=10, tol=None, random_state=seed
    )
    with config_context(assume_finite=True, skip_parameter_validation=True):  # it takes as long
        solver.fit(matrix, labels)
    return LinearModel(solver.coef_[0], float(solver.intercept_[0]))
