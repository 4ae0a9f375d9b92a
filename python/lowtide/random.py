"""lt.random: numbers that a seed decides, whatever the budget and the order in which they are computed; lazy."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ._expression import call, dtype_name
from ._functions.blocks import mapped_rows
from ._functions.creation import arange
from ._functions.shapes import extents
from .permutation import Permutation

if TYPE_CHECKING:
    from .array import Array

__all__ = ["integers", "normal", "permutation", "uniform"]


def _seed(seed: int | None) -> int:
    if seed is None:
        return secrets.randbits(63)
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed must be from 0 to 2**64 - 1, but it is {seed}")
    return int(seed)


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    size: int | Sequence[int] = (),
    *,
    seed: int | None = None,
    dtype: Any = "float64",
) -> Array:
    """Numbers from low to below high, each as likely. Lazy.

    >>> x = lt.random.uniform(0, 10, size=(1000, 4), seed=1)
    >>> bool(lt.all((x >= 0) & (x < 10)))
    True
    """
    return call("random", "uniform", extents(size), _seed(seed), dtype_name(dtype), float(low), float(high))


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    size: int | Sequence[int] = (),
    *,
    seed: int | None = None,
    dtype: Any = "float64",
) -> Array:
    """Normally distributed numbers with a mean and a standard deviation. Lazy.

    >>> abs(lt.random.normal(5, 1, size=10_000, seed=1).mean().item() - 5) < 0.1
    True
    """
    return call("random", "normal", extents(size), _seed(seed), dtype_name(dtype), float(loc), float(scale))


def integers(
    low: int,
    high: int | None = None,
    size: int | Sequence[int] = (),
    *,
    seed: int | None = None,
    dtype: Any = "int64",
) -> Array:
    """Integers from low to below high; from 0 to below low, where high is left out. Lazy.

    >>> sorted(set(lt.random.integers(3, size=100, seed=1).compute().tolist()))
    [0, 1, 2]
    """
    first, last = (0, low) if high is None else (low, high)
    if last <= first:
        raise ValueError("low >= high")
    return call("random", "integers", extents(size), _seed(seed), dtype_name(dtype), int(first), int(last))


def permutation(n: int, *, seed: int | None = None) -> Array:
    """The numbers below n in an order that the seed decides; lt.Permutation gives them one by one. Lazy.

    >>> lt.random.permutation(10, seed=1).compute().tolist()
    [7, 5, 3, 2, 8, 0, 1, 9, 4, 6]
    """
    if n < 1:
        return arange(0)
    return mapped_rows(partial(_shuffled, Permutation(n, _seed(seed))), arange(n), "int64")


def _shuffled(order: Permutation, places: np.ndarray[Any, Any]) -> Any:
    return order[places]
