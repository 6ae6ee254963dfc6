"""Linear models of one family of features, with their values on rows that are held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.sparse import issparse
from sklearn.linear_model import SGDClassifier

from dialeval.scorers.linear_features import Fold

RIDGE = 2.0
"""Penalty of a dense family per row, with features of variance 1."""
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

    The cross products are computed once; those of a fold are all minus those of its other rows.
    """
    mean, scale = matrix.mean(0), matrix.std(0) + _TINY
    rows, targets = (matrix - mean) / scale, 2.0 * labels - 1
    products, sums = rows.T @ rows, rows.T @ targets
    values = np.empty(len(labels))
    for fold in folds:
        left_out = rows[~fold.learn]
        part = products - left_out.T @ left_out
        weights = _ridge(part, sums - left_out.T @ targets[~fold.learn], fold.learn.sum(), strength)
        values[fold.held_out] = rows[fold.held_out] @ weights
    weights = _ridge(products, sums, len(labels), strength) / scale
    return LinearModel(weights, float(-mean @ weights)), values


def _ridge(products: np.ndarray, sums: np.ndarray, n: int, strength: float) -> np.ndarray:
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
