"""Linear models of one family of features, fitted to many training sets at once.

The folds of a cross-fit share most of their rows, and each of them is divided again into inner
folds. All those regressions are solved together, so that the features are read once per step for
all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.special import expit

from dialeval.scorers.linear_features import Fold

_TINY = 1e-6
_CONSTANT = 1e-5
"""A feature that varies by less, relative to its mean, is constant: the rest may be rounding."""
_TOLERANCE, _SPARSE_TOLERANCE, _MAX_STEPS = 1e-4, 1e-3, 500  # of conjugate gradients
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
            weights = np.zeros(self.width, self.weights.dtype)
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
    matrix: Matrix, sets: Sequence[TrainingSet], strength: float
) -> list[tuple[LinearModel, np.ndarray]]:
    """For each training set a model, and the values of its rows by models not fitted on them.

    Args:
        matrix (`np.ndarray` or `csr_matrix`):
            Features, one row per response.
        sets (`Sequence[TrainingSet]`):
            Which rows each model is fitted to.
        strength (`float`):
            Penalty of the squared weights, relative to the squared error per row. Dense features
            are standardised before.

    Returns:
        `list[tuple[LinearModel, np.ndarray]]`: For each set the model, and values of shape `(n,)`.
    """
    if issparse(matrix):
        return _fit_sparse(matrix, sets, strength)
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
    problem = _ridge_problem(matrix, sets, _learned(sets))
    weights = problem.solve(strength) / problem.scale
    intercepts = -(problem.mean * weights).sum(0)
    values = _held_out_values(matrix @ weights + intercepts, sets)
    full = np.cumsum([len(one.folds) + 1 for one in sets]) - 1
    models = [LinearModel(weights[:, at].copy(), float(intercepts[at])) for at in full]
    return list(zip(models, values, strict=True))


def _learned(sets: Sequence[TrainingSet]) -> list[np.ndarray]:
    """For each set the rows of its regressions: of each inner fold, and then all of them."""
    return [np.stack([*(fold.learn for fold in one.folds), np.ones(len(one.rows), bool)], 1)
            for one in sets]  # fmt: skip


def _held_out_values(values: np.ndarray, sets: Sequence[TrainingSet]) -> list[np.ndarray]:
    """The values of the rows of each set by the regressions that were not fitted to them."""
    held_out, column = [], 0
    for one in sets:
        held_out.append(np.empty(len(one.rows)))
        for number, fold in enumerate(one.folds):
            held_out[-1][fold.held_out] = values[one.rows[fold.held_out], column + number]
        column += len(one.folds) + 1
    return held_out


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
    counts, targets = _columns_of(matrix, sets, learned)
    means, scales, column = [], [], 0
    center = matrix.mean(0)
    centered = matrix - center
    squares = centered**2
    for one, mask in zip(sets, learned, strict=True):
        column += mask.shape[1]
        share = counts[:, column - 1] / len(one.rows)
        shift = share @ centered
        spread = np.sqrt(np.maximum(share @ squares - shift**2, 0))
        is_constant = spread <= _CONSTANT * np.abs(center)  # up to rounding
        shape = (mask.shape[1], matrix.shape[1])
        means.append(np.broadcast_to(center + shift, shape).T)
        scales.append(np.broadcast_to(np.where(is_constant, np.inf, spread + _TINY), shape).T)
    return _RidgeProblem(matrix, counts, targets, *map(np.hstack, (means, scales)))


def _columns_of(
    matrix: Matrix, sets: Sequence[TrainingSet], learned: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """`counts` and `targets` of [`_RidgeProblem`]: the columns of all sets."""
    counts, targets = [], []
    for one, mask in zip(sets, learned, strict=True):
        signs = (2.0 * one.labels - 1)[:, None] * mask
        counts.append(_sum_by_row(one.rows, mask, matrix.shape[0], matrix.dtype))
        targets.append(_sum_by_row(one.rows, signs, matrix.shape[0], matrix.dtype))
    return np.hstack(counts), np.hstack(targets)


def _ratio(numerator: np.ndarray, denominator: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The quotients where a mask is true, and 0 elsewhere."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=mask)


def _sum_by_row(rows: np.ndarray, values: np.ndarray, n: int, dtype: Any) -> np.ndarray:
    """Sums of the values of equal rows, shape `(n, columns)`."""
    numbers = np.arange(len(rows))
    selection = csr_matrix((np.ones(len(rows)), (rows, numbers)), shape=(n, len(rows)))
    return np.asarray(selection @ values, dtype=dtype)


def _fit_sparse(
    matrix: Any, sets: Sequence[TrainingSet], strength: float
) -> list[tuple[LinearModel, np.ndarray]]:
    """Ridge regressions of labels -1 and 1 on features that are used as they are."""
    width = matrix.shape[1]
    columns, matrix = _present_columns(matrix)
    problem = _SparseProblem(matrix, *_columns_of(matrix, sets, _learned(sets)))
    coefficients, values = problem.solve(strength)
    full = np.cumsum([len(one.folds) + 1 for one in sets]) - 1
    weights = matrix.T @ np.ascontiguousarray(coefficients[:, full])
    intercepts = problem.intercepts(values)
    models = [
        LinearModel(weights[:, number].copy(), float(intercepts[column]), columns, width)
        for number, column in enumerate(full)
    ]
    return list(zip(models, _held_out_values(values + intercepts, sets), strict=True))


@dataclass(frozen=True)
class _SparseProblem:
    """Weighted ridge regressions on the same rows, a column for each.

    The weights are a combination of the rows, and there are many more features than rows: the
    unknowns are the coefficients of that combination.

    Args:
        matrix (`csr_matrix`):
            Features, shape `(rows, d)`.
        counts, targets (`np.ndarray`):
            See [`_RidgeProblem`].
    """

    matrix: Any
    counts: np.ndarray
    targets: np.ndarray

    def solve(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the rows, and values without intercept, by conjugate gradients.

        Both have the shape `(rows, columns)`.
        """
        penalty = strength * self.counts.sum(0)
        transposed = self.matrix.T.tocsr()
        residual = self._centred(self.targets)
        image = self.matrix @ (transposed @ residual)
        direction, along = residual.copy(), image.copy()
        coefficients, values = np.zeros_like(residual), np.zeros_like(residual)
        norms = _column_dots(residual, image)
        # Where equal rows have opposite targets, all that is left of them is rounding errors.
        uncancelled = _squared_norms(self.matrix) @ residual**2
        smallest = _SPARSE_TOLERANCE**2 * np.maximum(norms, uncancelled)
        for _ in range(_MAX_STEPS):
            active = norms > smallest
            if not active.any():
                break
            gradient = self._centred(self.counts * along) + penalty * direction
            step = _ratio(norms, _column_dots(gradient, along), active)
            coefficients += step * direction
            values += step * along
            residual -= step * gradient
            image = self.matrix @ (transposed @ residual)
            norms, previous = _column_dots(residual, image), norms
            ratio = _ratio(norms, previous, active)
            direction, along = residual + ratio * direction, image + ratio * along
        return coefficients, values

    def intercepts(self, values: np.ndarray) -> np.ndarray:
        """The intercept of each column, from its values without one."""
        sums: np.ndarray = (self.targets - self.counts * values).sum(0)
        return sums / self.counts.sum(0)

    def _centred(self, values: np.ndarray) -> np.ndarray:
        """Sums over the rows minus what an intercept makes of them."""
        centred: np.ndarray = values - self.counts * (values.sum(0) / self.counts.sum(0))
        return centred


def _present_columns(matrix: Any) -> tuple[np.ndarray, Any]:
    """Numbers of the columns with any value, and the matrix without the others.

    A million columns are hashed into, of which few are used.
    """
    used = np.zeros(matrix.shape[1], bool)
    used[matrix.indices] = True
    number = np.cumsum(used, dtype=np.int32) - 1
    parts = (matrix.data, number[matrix.indices], matrix.indptr)
    columns = np.flatnonzero(used).astype(np.int32)
    return columns, csr_matrix(parts, shape=(matrix.shape[0], len(columns)))


def _squared_norms(matrix: Any) -> np.ndarray:
    """The squared norm of each row, shape `(rows,)`."""
    squares = csr_matrix((matrix.data**2, matrix.indices, matrix.indptr), matrix.shape)
    return np.asarray(squares.sum(1)).ravel()


def _column_dots(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", first, second)
