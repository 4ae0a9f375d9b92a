"""Elements by their places. The places are in memory; what they select is lazy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .. import _core
from .._expression import as_array, call, elementwise, in_memory
from .._leased import asarray as leased
from .joining import concat
from .reductions import count_nonzero
from .shapes import ravel

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "compress",
    "diff",
    "nonzero",
    "take",
    "take_along_axis",
]


def take(x: Any, indices: Any, /, axis: int | None = None) -> Array:
    """Elements at places along an axis. Lazy, but the indices are computed.

    >>> lt.take(a, [0, 99], axis=0).shape
    (2, 4)
    """
    array = as_array(x)
    if axis is None:
        if array.ndim != 1:
            raise ValueError("take needs an axis where the array has more or less than one")
        axis = 0
    place = normalize_axis_index(axis, array.ndim)
    where = leased(indices) if not isinstance(indices, int) else np.asarray(indices)
    if where.dtype.kind not in "iu" and where.size:
        raise TypeError("indices must be integers")
    return array[(slice(None),) * place + (where.astype(np.int64, copy=False),)]


def take_along_axis(x: Any, indices: Any, /, axis: int = -1) -> Array:
    """Along an axis, elements at places of their own for each lane. Lazy, but the indices are computed.

    >>> lt.take_along_axis(a, lt.argmax(a, axis=1, keepdims=True), axis=1).shape
    (100, 1)
    """
    array, where = as_array(x), leased(indices)
    place = normalize_axis_index(axis, array.ndim)
    if where.ndim != array.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    if where.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    index: list[Any] = []
    for i, extent in enumerate(array.shape):
        count = extent if where.shape[i] == 1 or extent != 1 else where.shape[i]
        lanes = np.arange(count) if extent != 1 else np.zeros(count, np.int64)
        shape = [1] * array.ndim
        shape[i] = count
        index.append(where if i == place else lanes.reshape(shape))
    return array[tuple(index)]


def nonzero(x: Any, /) -> tuple[Array, ...]:
    """Where elements are not zero, an array of places for each axis. Computed now, in two passes.

    >>> [places.compute().tolist() for places in lt.nonzero(lt.asarray([0, 3, 0, 5]))]
    [[1, 3]]
    """
    array = as_array(x)
    if array.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed.")
    mask = array if array._core.dtype == "bool" else elementwise("not_equal", array, 0)
    count = int(count_nonzero(mask))
    found = [_core.empty((count,), "int64") for _ in array.shape]
    at = 0
    for start, block in mask.blocks() if mask.size else ():
        places = np.nonzero(block)
        for axis, place in enumerate(places):
            found[axis][at : at + len(place)] = place + (start if axis == 0 else 0)
        at += len(places[0])
    return tuple(in_memory(places, owned=True) for places in found)


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Differences of neighbours along an axis, n times over. Lazy.

    >>> lt.diff(lt.asarray([1, 4, 9])).compute().tolist()
    [3, 5]
    """
    array = as_array(x)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if array.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    place = normalize_axis_index(axis, array.ndim)
    if n == 0:
        return array
    around = [_beside(part, array, place) for part in (prepend, array, append) if part is not None]
    array = concat(around, axis=place) if len(around) > 1 else array
    before = (slice(None),) * place
    name = "not_equal" if array.dtype.kind == "b" else "subtract"
    for _ in range(n):
        array = elementwise(name, array[(*before, slice(1, None))], array[(*before, slice(None, -1))])
    return array


def _beside(part: Any, array: Array, place: int) -> Array:
    found = as_array(part)
    if found.ndim:
        return found
    return call("broadcast_to", found, (*array.shape[:place], 1, *array.shape[place + 1 :]))


def compress(condition: Any, x: Any, /, axis: int | None = None) -> Array:
    """Parts along an axis where a condition holds. Lazy, but the condition is computed.

    >>> lt.compress([False, True, True], a, axis=0).shape
    (2, 4)
    """
    array = as_array(x)
    if axis is None:
        array, axis = ravel(array), 0
    where = np.flatnonzero(np.asarray(condition))
    return take(array, where, axis=axis)
