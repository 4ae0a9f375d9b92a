"""Several arrays as one, and one as several; lazy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from .._expression import as_array, call, dtype_name, result_type
from ..errors import UnsupportedError
from .shapes import broadcast_to, expand_dims, flip, ravel

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "concat",
    "pad",
    "split",
    "stack",
    "unstack",
]


def concat(arrays: Sequence[Any], /, axis: int | None = 0, *, dtype: Any = None) -> Array:
    """One after the other along an axis, or along the only one of all elements where axis is None. Lazy.

    >>> lt.concat([a, a[:10]]).shape
    (110, 4)
    """
    given = [as_array(x) for x in arrays]
    if not given:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        given, axis = [ravel(x) for x in given], 0
    if given[0].ndim == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    name = result_type(*given) if dtype is None else dtype_name(dtype)
    same = [x if x._core.dtype == name else call("astype", x, name) for x in given]
    return call("concat", same, normalize_axis_index(axis, given[0].ndim))


def stack(arrays: Sequence[Any], /, axis: int = 0) -> Array:
    """One beside the other along a new axis. Lazy.

    >>> lt.stack([a, a, a], axis=1).shape
    (100, 3, 4)
    """
    given = [as_array(x) for x in arrays]
    if not given:
        raise ValueError("need at least one array to stack")
    if len({x.shape for x in given}) > 1:
        raise ValueError("all input arrays must have the same shape")
    place = normalize_axis_index(axis, given[0].ndim + 1)
    return concat([expand_dims(x, place) for x in given], axis=place)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array along an axis. Lazy.

    >>> len(lt.unstack(a, axis=1))
    4
    """
    array = as_array(x)
    place = normalize_axis_index(axis, array.ndim)
    return tuple(array[(slice(None),) * place + (i,)] for i in range(array.shape[place]))


def split(x: Any, indices_or_sections: int | Sequence[int], /, axis: int = 0) -> list[Array]:
    """Into equal parts, or at these places. Lazy.

    >>> [part.shape for part in lt.split(a, [10, 40])]
    [(10, 4), (30, 4), (60, 4)]
    """
    array = as_array(x)
    place = normalize_axis_index(axis, array.ndim)
    count = array.shape[place]
    if isinstance(indices_or_sections, int | np.integer):
        if indices_or_sections < 1 or count % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
        size = count // int(indices_or_sections)
        bounds: list[int | None] = [size * i for i in range(int(indices_or_sections))] + [None]
    else:
        bounds = [0, *(int(i) for i in indices_or_sections), None]
    before = (slice(None),) * place
    return [array[(*before, slice(bounds[i], bounds[i + 1]))] for i in range(len(bounds) - 1)]


def pad(x: Any, /, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Array:
    """More elements before and after along each axis: constant ones, the edge's, or by reflection or wrapping. Lazy.

    >>> lt.pad(lt.asarray([1, 2, 3]), (2, 1), mode="reflect").compute().tolist()
    [3, 2, 1, 2, 3, 2]
    """
    array = as_array(x)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    values = np.broadcast_to(np.asarray(constant_values), (array.ndim, 2)).tolist()
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            raise ValueError("index can't contain negative values")
        if before or after:
            first = _padding(array, axis, before, mode, values[axis][0], True)
            last = _padding(array, axis, after, mode, values[axis][1], False)
            array = concat([part for part in (first, array, last) if part is not None], axis=axis)
    return array


def _padding(array: Array, axis: int, width: int, mode: str, value: Any, at_start: bool) -> Array | None:
    if width == 0:
        return None
    count, before = array.shape[axis], (slice(None),) * axis
    if mode == "constant":
        shape = (*array.shape[:axis], width, *array.shape[axis + 1 :])
        return call("full", shape, np.asarray(value).astype(array.dtype).item(), array._core.dtype)
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        raise UnsupportedError(f"pad(mode={mode!r}): there are constant, edge, reflect, symmetric and wrap")
    if mode == "edge":
        edge = array[(*before, slice(0, 1) if at_start else slice(count - 1, count))]
        return broadcast_to(edge, (*array.shape[:axis], width, *array.shape[axis + 1 :]))
    skip = 1 if mode == "reflect" else 0
    if width > count - skip:
        raise UnsupportedError(f"pad(mode={mode!r}) by {width}, more than the {count - skip} elements that there are")
    if mode == "wrap":
        return array[(*before, slice(count - width, count) if at_start else slice(0, width))]
    near = slice(skip, skip + width) if at_start else slice(count - skip - width, count - skip)
    return flip(array[(*before, near)], axis)
