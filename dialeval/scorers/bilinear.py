"""A bilinear form of context and response that separates two classes, in closed form."""

import numpy as np
from scipy.linalg import get_lapack_funcs

from dialeval.scorers.gaussian import QuadraticModel
from dialeval.scorers.linear_solvers import TrainingSet

DAMPING = 1.0
"""Weight of the variances that are added to the covariances of context and response."""


def fit_bilinear(
    matrix: np.ndarray, one: TrainingSet, split: int
) -> tuple[QuadraticModel, np.ndarray]:
    """A model fitted on all rows of a set, and their values by models not fitted on them.

    Args:
        matrix (`np.ndarray`):
            Features, shape `(rows, d)`.
        one (`TrainingSet`):
            Which rows the model is fitted to.
        split (`int`):
            Columns that describe the context; the others describe the response.

    Returns:
        `tuple[QuadraticModel, np.ndarray]`: The model, and values of shape `(n,)`.
    """

    def fit(learn: np.ndarray) -> QuadraticModel:
        return bilinear_model(matrix[one.rows[learn]], one.labels[learn], split)

    values = np.empty(len(one.rows))
    for fold in one.folds:
        held_out = matrix[one.rows[fold.held_out]]
        values[fold.held_out] = fit(fold.learn)(held_out)
    return fit(np.ones(len(one.rows), bool)), values


def bilinear_model(rows: np.ndarray, labels: np.ndarray, split: int) -> QuadraticModel:
    """Products of context and response, weighted by how the classes differ in them.

    With independent features of unit variance it is the ridge regression of the labels on all
    products. Both sides are whitened to come close to that, with damping, since directions of
    little variance carry noise.

    Args:
        rows (`np.ndarray`):
            Features, shape `(n, d)`.
        labels (`np.ndarray`):
            1 human, 0 machine.
        split (`int`):
            Columns that describe the context.

    Returns:
        `QuadraticModel`: The form, centred by the means of these rows.
    """
    mean = rows.mean(0)
    centred = rows - mean
    context, response = centred[:, :split], centred[:, split:]
    signs = (2 * labels - 1).astype(rows.dtype)
    signs -= signs.mean()
    difference = (context * signs[:, None]).T @ response / len(rows)  # (split, d - split)
    (posv,) = get_lapack_funcs(("posv",), (rows,))  # positive definite: see `_damped`
    form = posv(_damped(context), difference, lower=1)[1]
    form = posv(_damped(response), form.T, lower=1)[1].T
    weights = -np.concatenate([form @ mean[split:], form.T @ mean[:split]])
    return QuadraticModel(form, weights, float(mean[:split] @ form @ mean[split:]), split)


def _damped(centred: np.ndarray) -> np.ndarray:
    """A covariance with its variances raised; a constant feature gets one that does no harm."""
    covariance = centred.T @ centred
    covariance /= max(1, len(centred))
    variances = np.diag(covariance)
    covariance[np.diag_indices_from(covariance)] += DAMPING * variances + (variances <= 1e-9)
    return covariance
