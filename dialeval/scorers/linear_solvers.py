"""Linear models of one family of features, with their values on rows that are held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.sparse import issparse
from sklearn.linear_model import SGDClassifier

from dialeval.scorers.linear_features import Fold

_TINY = 1e-6
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
    """

    weights: np.ndarray
    intercept: float

    def __call__(self, matrix: Matrix) -> np.ndarray:
        """The value of each row."""
        return np.asarray(matrix @ self.weights, dtype=np.float64) + self.intercept


def fit_family(
    matrix: Matrix, labels: np.ndarray, folds: Sequence[Fold], seed: int, strength: float
) -> tuple[LinearModel, np.ndarray]:
    """A model fitted on all rows, and the values of each row by models that were not fitted on it.

    Args:
        matrix (`np.ndarray` or `csr_matrix`):
            Features, one row per response.
        labels (`np.ndarray`):
            1 human, 0 machine.
        folds (`Sequence[Fold]`):
            Rows to learn from, and rows that are held out.
        seed (`int`):
            Seed of the stochastic solver of sparse features.
        strength (`float`):
            Penalty: of the mean squared error per row, or `alpha` of the stochastic solver.

    Returns:
        `tuple[LinearModel, np.ndarray]`: The model, and values of shape `(n,)`.
    """
    if issparse(matrix):
        return _fit_sparse(matrix, labels, folds, seed, strength)
    return _fit_dense(matrix, labels, folds, strength)


def _fit_dense(
    matrix: np.ndarray, labels: np.ndarray, folds: Sequence[Fold], strength: float
) -> tuple[LinearModel, np.ndarray]:
    """Ridge regression of labels -1 and 1 on standardised features, in closed form.

    Products are computed once for all folds, of columns or of rows, whichever are fewer.
    """
    mean, scale = matrix.mean(0), matrix.std(0) + _TINY
    rows, targets = (matrix - mean) / scale, (2.0 * labels - 1).astype(matrix.dtype)
    few = len(rows) < 2 * rows.shape[1]
    weights, values = (_dual if few else _primal)(rows, targets, folds, strength)
    weights = weights / scale
    return LinearModel(weights, float(-mean @ weights)), values


def _primal(
    rows: np.ndarray, targets: np.ndarray, folds: Sequence[Fold], strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and held-out values from the products of columns."""
    products, sums = rows.T @ rows, rows.T @ targets
    values = np.empty(len(rows))
    for fold in folds:
        part, share = rows[fold.learn], fold.learn.sum()
        if 2 * share > len(rows):  # cheaper from the rows that are left out
            part, answers = rows[~fold.learn], targets[~fold.learn]
            weights = _ridge(products - part.T @ part, sums - part.T @ answers, share, strength)
        else:
            weights = _ridge(part.T @ part, part.T @ targets[fold.learn], share, strength)
        values[fold.held_out] = rows[fold.held_out] @ weights
    return _ridge(products, sums, len(rows), strength), values


def _dual(
    rows: np.ndarray, targets: np.ndarray, folds: Sequence[Fold], strength: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same from the products of rows, which are fewer; they serve all folds."""
    products, values = rows @ rows.T, np.empty(len(rows))
    for fold in folds:
        learn, held_out = np.flatnonzero(fold.learn), np.flatnonzero(fold.held_out)
        part = products[np.ix_(learn, learn)]
        duals = _ridge(part, targets[learn], len(learn), strength)
        values[held_out] = products[np.ix_(held_out, learn)] @ duals
    return rows.T @ _ridge(products, targets, len(rows), strength), values


def _ridge(products: np.ndarray, sums: np.ndarray, n: int, strength: float) -> np.ndarray:
    """The solution of `(products + strength n I) x = sums`."""
    penalised = products + np.diag(np.full(len(products), strength * n, dtype=products.dtype))
    return solve(penalised, sums, assume_a="pos", overwrite_a=True)


def _fit_sparse(
    matrix: Any, labels: np.ndarray, folds: Sequence[Fold], seed: int, strength: float
) -> tuple[LinearModel, np.ndarray]:
    """Logistic regression by averaged stochastic gradients, whose cost is linear in the rows."""
    values = np.empty(len(labels))
    for fold in folds:
        model = _logistic(matrix[fold.learn], labels[fold.learn], seed, strength)
        values[fold.held_out] = model(matrix[fold.held_out])
    return _logistic(matrix, labels, seed, strength), values


def _logistic(matrix: Any, labels: np.ndarray, seed: int, strength: float) -> LinearModel:
    solver = SGDClassifier(
        loss="log_loss", alpha=strength, average=True, max_iter=10, tol=None, random_state=seed
    )
    solver.fit(matrix, labels)
    return LinearModel(solver.coef_[0], float(solver.intercept_[0]))
