"""What stands between the brackets, made into what the core takes: ints, slices, None, ..., int64 and bool arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _leased
from .errors import BudgetError

_INT64 = np.dtype(np.int64)
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


def normalise(index: Any) -> tuple[Any, ...]:
    """A tuple of indices for the core. Raises IndexError with NumPy's words for what cannot be an index."""
    if type(index) is np.ndarray and index.dtype is _INT64:  # a gather in a loop should not wait for the rest
        return (index,)
    items = index if isinstance(index, tuple) else (index,)
    return tuple([_item(item) for item in items])


def is_basic(indices: tuple[Any, ...]) -> bool:
    """Whether NumPy would give a view."""
    return not any(isinstance(item, np.ndarray) for item in indices)


def _item(item: Any) -> Any:
    if item is None or item is Ellipsis:
        return item
    if type(item) is int:
        return _position(item)
    if type(item) is slice:
        return slice(_bound(item.start), _bound(item.stop), _bound(item.step))
    if isinstance(item, bool | np.bool_):
        return np.asarray(item, dtype=np.bool_)
    if isinstance(item, np.ndarray):
        return int(item) if item.ndim == 0 and item.dtype.kind in "iu" else _array(item)
    try:
        return _position(operator.index(item))
    except TypeError:
        return _sequence(item)


def _sequence(item: Any) -> np.ndarray[Any, Any]:
    array = _leased.asarray(item)
    return _array(array.astype(np.int64) if array.size == 0 and isinstance(item, list | tuple) else array)


def _position(value: int) -> int:
    if not _LOWEST <= value <= _HIGHEST:
        raise IndexError("cannot fit 'int' into an index-sized integer")
    return value


# Clipped, as Python's own slices are.
def _bound(value: Any) -> int | None:
    if value is None or (type(value) is int and _LOWEST <= value <= _HIGHEST):
        return value
    return max(_LOWEST, min(operator.index(value), _HIGHEST))


def _array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if array.dtype == np.int64 and array.dtype.isnative:
        return array
    if array.size * 8 < _leased.LEASED_FROM:
        return array.astype(np.int64)
    lease = _core.lease_index(array.size * 8)
    return _leased.held(array.astype(np.int64), lease)


def keep(indices: Sequence[Any]) -> tuple[Any, ...] | None:
    """Indices as they are now, arrays copied into memory that the budget pays for; None where it cannot."""
    try:
        return tuple([_copied(part) if isinstance(part, np.ndarray) else part for part in indices])
    except BudgetError:
        return None


def _copied(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    lease = _core.lease_index(array.nbytes)
    return _leased.held(array.copy(), lease)
