"""Input checks of all metrics: one label per score, finite numbers, both classes present."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

Ids = Sequence[Hashable] | np.ndarray
"""One id per response: dialogues, pairs, contexts or folds."""


def scores_and_labels(
    values: ArrayLike,
    labels: ArrayLike,
    name: str = "scores",
    kinds: tuple[str, str] = ("machine", "human"),
) -> tuple[np.ndarray, np.ndarray]:
    """Return finite numbers and their labels as booleans, once both classes occur.

    Args:
        values (`ArrayLike`):
            One number per response.
        labels (`ArrayLike`):
            1 or 0 for each of them.
        name (`str`, *optional*, defaults to `"scores"`):
            What the numbers are called in an error.
        kinds (`tuple[str, str]`, *optional*, defaults to `("machine", "human")`):
            What the labels 0 and 1 mean.

    Returns:
        `tuple[np.ndarray, np.ndarray]`: The numbers as floats and the labels as booleans.

    Examples:
        >>> scores_and_labels([0.9, 0.2], [1, 0])[1].tolist()
        [True, False]
    """
    array, marks = np.asarray(values, dtype=float), np.asarray(labels)
    if array.ndim != 1 or array.shape != marks.shape:
        raise ValueError(
            f"Expected one label for each of the {name}, but their shapes are {array.shape} and "
            f"{marks.shape}. Pass two lists of the same length."
        )
    _refuse_missing(array, name)
    return array, both_kinds(marks, kinds)


def both_kinds(labels: ArrayLike, kinds: tuple[str, str] = ("machine", "human")) -> np.ndarray:
    """Return the labels 1 and 0 as booleans, once both occur.

    Examples:
        >>> both_kinds([1, 0, 1]).tolist()
        [True, False, True]
    """
    marks, (negative, positive) = np.asarray(labels), kinds
    if not np.isin(marks, (0, 1)).all():
        raise ValueError(
            f"Labels are 1 ({positive}) or 0 ({negative}), but there are others. Recode them."
        )
    marks = marks.astype(bool)
    if marks.all() or not marks.any():
        kind = positive if marks.any() else negative
        problem = (
            f"all {len(marks)} responses are {kind}" if len(marks) else "there are no responses"
        )
        raise ValueError(
            f"This compares {positive} (1) with {negative} (0) responses, but {problem}. "
            "Pass both kinds."
        )
    return marks


def numbers(values: ArrayLike, name: str = "values", length: int | None = None) -> np.ndarray:
    """Return a list of finite numbers as an array.

    Args:
        values (`ArrayLike`):
            The numbers.
        name (`str`, *optional*, defaults to `"values"`):
            What they are called in an error.
        length (`int`, *optional*):
            How many there must be.

    Returns:
        `np.ndarray`: The numbers as floats.

    Examples:
        >>> numbers([1, 2]).tolist()
        [1.0, 2.0]
    """
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not len(array):
        raise ValueError(
            f"Expected a list of {name}, one for each response, but its shape is {array.shape}. "
            "Pass at least one number."
        )
    if length is not None and len(array) != length:
        raise ValueError(f"There are {len(array)} {name} for {length} responses. Pass {length}.")
    _refuse_missing(array, name)
    return array


def zeros_and_ones(
    values: ArrayLike, name: str = "values", length: int | None = None
) -> np.ndarray:
    """Return a list of 0 and 1 as booleans.

    Args:
        values (`ArrayLike`):
            The zeros and ones.
        name (`str`, *optional*, defaults to `"values"`):
            What they are called in an error.
        length (`int`, *optional*):
            How many there must be.

    Returns:
        `np.ndarray`: `True` for each 1.

    Examples:
        >>> zeros_and_ones([1, 0]).tolist()
        [True, False]
    """
    array = numbers(values, name, length)
    if not np.isin(array, (0, 1)).all():
        raise ValueError(
            f"The {name} are 0 (no) or 1 (yes), but they range from {array.min():g} to "
            f"{array.max():g}. Compare scores with a threshold first."
        )
    return array.astype(bool)


def encode_ids(ids: Ids, n: int, name: str = "groups", missing: bool = False) -> np.ndarray:
    """Return ids of any kind as integers from 0 in order of first appearance.

    Args:
        ids (`Sequence`):
            Any hashable values.
        n (`int`):
            How many ids there must be.
        name (`str`, *optional*, defaults to `"groups"`):
            What the ids are called in an error.
        missing (`bool`, *optional*, defaults to `False`):
            Whether an id may be `None`, which becomes -1, instead of being refused.

    Returns:
        `np.ndarray`: One integer per id; equal ids share it.

    Examples:
        >>> encode_ids(["b", "a", "b"], 3).tolist()
        [0, 1, 0]
    """
    keys = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(keys) != n:
        raise ValueError(f"There are {len(keys)} {name} for {n} responses. Pass one id for each.")
    absent = [key is None or key != key for key in keys]  # a NaN is not equal to itself
    if any(absent) and not missing:
        raise ValueError(
            f"{sum(absent)} of {n} {name} are missing. Pass an id for each response, or none."
        )
    seen: dict[Hashable, int] = {}
    codes = (
        -1 if is_absent else seen.setdefault(key, len(seen))
        for key, is_absent in zip(keys, absent, strict=True)
    )
    return np.fromiter(codes, dtype=np.int64, count=n)


def units_of(n: int, groups: Ids | None, fallback: np.ndarray | None = None) -> np.ndarray:
    """Return the index of the independent unit that each of `n` responses belongs to.

    Args:
        n (`int`):
            How many responses there are.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units where they are given.
        fallback (`np.ndarray`, *optional*):
            Integers used without groups: responses that share one form a unit, and a response
            with -1 is a unit of its own. Without either, every response is.

    Returns:
        `np.ndarray`: One index per response.

    Examples:
        >>> units_of(4, None, np.array([0, 0, -1, -1])).tolist()
        [0, 0, 1, 2]
    """
    if groups is not None:
        return encode_ids(groups, n)
    if fallback is None:
        return np.arange(n)
    alone = fallback < 0
    first = fallback.max() + 1
    return np.where(alone, first + np.cumsum(alone) - 1, fallback)


def _refuse_missing(values: np.ndarray, name: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"{bad.sum()} of {len(values)} {name} are not finite numbers. "
            "Drop these rows, or check why the scorer returned them."
        )
