"""Tolerances of float32 computations, from the rounding unit and the size of the terms.

Kernels, batch shapes and thread counts add in other orders, so a fixed absolute tolerance passes on
one CPU and fails on the next.
"""

from typing import Any

import numpy as np

ROUNDINGS = 256
"""Rounding units by which two ways to compute the same may differ; a wrong term differs by more."""


def tolerance(size: float = 1.0) -> float:
    """Largest difference that rounding explains where terms are as large as `size`."""
    return ROUNDINGS * float(np.finfo(np.float32).eps) * size


def assert_close(actual: Any, expected: Any, size: float | None = None) -> None:
    """Fail where two float32 results differ by more than rounding.

    Args:
        actual, expected (array-like):
            Results of two computations of the same values.
        size (`float`, *optional*):
            Size of the largest term; by default that of the largest expected value, or 1.
    """
    actual, expected = (np.asarray(values, dtype=float) for values in (actual, expected))
    if size is None:
        size = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance(size))
