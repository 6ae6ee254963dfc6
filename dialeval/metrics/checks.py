"""What every metric asks of its input: as many labels as scores, finite numbers, both classes."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def scores_and_labels(
    values: ArrayLike,
    labels: ArrayLike,
    name: str = "scores",
    kinds: tuple[str, str] = ("machine", "human"),
) -> tuple[np.ndarray, np.ndarray]:
    """Finite numbers and the truth about each: both classes, one label a number.

    Args:
        name (`str`, *optional*, defaults to `"scores"`):
            What the numbers are called in an error.
        kinds (`tuple[str, str]`, *optional*, defaults to `("machine", "human")`):
            What the labels 0 and 1 mean.

    Example:
        >>> scores_and_labels([0.9, 0.2], [1, 0])[1].tolist()
        [True, False]
    """
    values, labels = np.asarray(values, dtype=float), np.asarray(labels)
    if values.ndim != 1 or values.shape != labels.shape:
        raise ValueError(
            f"Expected one label for each of the {name}, but their shapes are {values.shape} and "
            f"{labels.shape}. Pass two lists of the same length."
        )
    _refuse_missing(values, name)
    return values, both_kinds(labels, kinds)


def both_kinds(labels: ArrayLike, kinds: tuple[str, str] = ("machine", "human")) -> np.ndarray:
    """Labels 1 and 0 as booleans, once both occur.

    Example:
        >>> both_kinds([1, 0, 1]).tolist()
        [True, False, True]
    """
    labels, (no, yes) = np.asarray(labels), kinds
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"Labels are 1 ({yes}) or 0 ({no}), but there are others. Recode them.")
    labels = labels.astype(bool)
    if labels.all() or not labels.any():
        kind = yes if len(labels) and labels[0] else no
        found = (
            f"all {len(labels)} responses are {kind}" if len(labels) else "there are no responses"
        )
        raise ValueError(
            f"This compares {yes} (1) with {no} (0) responses, but {found}. Pass both kinds."
        )
    return labels


def numbers(values: ArrayLike, name: str = "values", like: int | None = None) -> np.ndarray:
    """A list of finite numbers, as long as another one where `like` says how long.

    Example:
        >>> numbers([1, 2]).tolist()
        [1.0, 2.0]
    """
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"Expected a list of {name}, one for each response, but its shape is {values.shape}. "
            "Pass at least one number."
        )
    if like is not None and len(values) != like:
        raise ValueError(f"There are {len(values)} {name} for {like} responses. Pass {like}.")
    _refuse_missing(values, name)
    return values


def truths(values: ArrayLike, name: str = "values", like: int | None = None) -> np.ndarray:
    """A list of 0 and 1 as booleans.

    Example:
        >>> truths([1, 0]).tolist()
        [True, False]
    """
    values = numbers(values, name, like)
    if not np.isin(values, (0, 1)).all():
        raise ValueError(
            f"The {name} are 0 (no) or 1 (yes), but they go from {values.min():g} to "
            f"{values.max():g}. Compare scores with a threshold first."
        )
    return values.astype(bool)


def numbered(
    ids: Sequence[Hashable], n: int, name: str = "groups", missing: bool = False
) -> np.ndarray:
    """Ids of any kind as whole numbers from 0 in order of appearance.

    Args:
        n (`int`):
            How many ids there must be.
        missing (`bool`, *optional*, defaults to `False`):
            Whether an id may be `None`, which becomes -1, instead of being refused.

    Example:
        >>> numbered(["b", "a", "b"], 3).tolist()
        [0, 1, 0]
    """
    ids = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    if len(ids) != n:
        raise ValueError(f"There are {len(ids)} {name} for {n} responses. Pass one id for each.")
    absent = [each is None or each != each for each in ids]  # a NaN is not equal to itself
    if any(absent) and not missing:
        raise ValueError(
            f"{sum(absent)} of {n} {name} are missing. Pass an id for each response, or none."
        )
    seen: dict[Hashable, int] = {}
    found = (
        -1 if gone else seen.setdefault(each, len(seen))
        for each, gone in zip(ids, absent, strict=True)
    )
    return np.fromiter(found, dtype=np.int64, count=n)


def units_of(
    n: int, groups: Sequence[Hashable] | None, otherwise: np.ndarray | None = None
) -> np.ndarray:
    """The number of the independent unit that each of `n` responses belongs to.

    Args:
        groups (`Sequence`, *optional*):
            Dialogue ids. Without them, responses that share a number in `otherwise` hang together,
            and without that, or with -1 there, each response stands for itself.

    Example:
        >>> units_of(4, None, np.array([0, 0, -1, -1])).tolist()
        [0, 0, 1, 2]
    """
    if groups is not None:
        return numbered(groups, n)
    if otherwise is None:
        return np.arange(n)
    alone = otherwise < 0
    first = otherwise.max() + 1
    return np.where(alone, first + np.cumsum(alone) - 1, otherwise)


def _refuse_missing(values: np.ndarray, name: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"{bad.sum()} of {len(values)} {name} are not finite numbers. "
            "Drop these rows, or find out why the scorer gave them."
        )
