"""Arrays from numbers, from memory and from nothing; lazy, and no memory of their own unless they are given some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .. import _dtypes
from .. import array as _array
from .._expression import as_array, call, check_device, dtype_name, in_memory, is_shared
from .elementwise import where
from .shapes import broadcast_to, extents, reshape

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_BY_TYPE = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def asarray(obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Array:
    """An lt.Array of numbers, lists, ndarrays, tensors and anything with ``__dlpack__``, ``__array__`` or a buffer.

    Memory of others is used, not copied, unless ``copy=True`` or another dtype is asked for; it is not counted either.

    >>> lt.asarray([[1, 2], [3, 4]]).sum().item()
    10
    >>> lt.asarray(np.ones(3), dtype="int8").dtype
    dtype('int8')
    """
    check_device(device)
    listed = isinstance(obj, list | tuple | range | bool | int | float | complex)
    if copy is False and listed:
        raise ValueError("numbers and lists cannot become an array without a copy")
    name = None if dtype is None else dtype_name(dtype)
    if listed and name is not None and name != "bfloat16" and not _holds_arrays(obj):
        return as_array(obj, _dtypes.numpy_dtype(name))
    array = as_array(obj)
    if name is not None and array._core.dtype != name:
        if copy is False:
            raise ValueError(f"{array.dtype} cannot become {name} without a copy")
        array = call("astype", array, name)
    if copy and is_shared(array):
        return in_memory(array.compute(), owned=True)
    return _array.Array(array._core, array._recipe) if copy and array is obj else array


def _holds_arrays(obj: Any) -> bool:
    while isinstance(obj, list | tuple) and obj:
        obj = obj[0]
    return isinstance(obj, _array.Array)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An lt.Array of memory that another library exports.

    >>> lt.from_dlpack(np.arange(3)).compute().tolist()
    [0, 1, 2]
    """
    check_device(device)
    if not isinstance(x, _array.Array) and not hasattr(x, "__dlpack__"):
        raise TypeError(f"{type(x).__name__} has no __dlpack__")
    return asarray(x, copy=copy)


def full(shape: int | Sequence[int], fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """One value everywhere. Lazy.

    >>> lt.full((2, 3), 7).sum().item()
    42
    """
    check_device(device)
    if type(fill_value) not in _BY_TYPE:
        value = as_array(fill_value)
        return broadcast_to(value if dtype is None else call("astype", value, dtype_name(dtype)), shape)
    name = _BY_TYPE[type(fill_value)] if dtype is None else dtype_name(dtype)
    return call("full", extents(shape), fill_value, name)


def zeros(shape: int | Sequence[int], dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros. Lazy.

    >>> lt.zeros((2, 3)).shape
    (2, 3)
    """
    return full(shape, 0, "float64" if dtype is None else dtype, device=device)


def ones(shape: int | Sequence[int], dtype: Any = None, *, device: Any = None) -> Array:
    """Ones. Lazy.

    >>> lt.ones((2, 3)).sum().item()
    6.0
    """
    return full(shape, 1, "float64" if dtype is None else dtype, device=device)


def empty(shape: int | Sequence[int], dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros: an array without memory has nothing left in it. Lazy.

    >>> lt.empty(2).compute().tolist()
    [0.0, 0.0]
    """
    return zeros(shape, dtype, device=device)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """One value, in the shape and dtype of another array. Lazy.

    >>> lt.full_like(a, 7).dtype
    dtype('float64')
    """
    array = as_array(x)
    return full(array.shape, fill_value, array._core.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros, in the shape and dtype of another array. Lazy.

    >>> lt.zeros_like(a).shape
    (100, 4)
    """
    return full_like(x, 0, dtype, device=device)


def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Ones, in the shape and dtype of another array. Lazy.

    >>> lt.ones_like(a).shape
    (100, 4)
    """
    return full_like(x, 1, dtype, device=device)


def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Array:
    """Zeros, in the shape and dtype of another array. Lazy.

    >>> lt.empty_like(a).shape
    (100, 4)
    """
    return full_like(x, 0, dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, dtype: Any = None, *, device: Any = None
) -> Array:
    """Numbers from start (0 if only stop is given) to below stop. Lazy.

    >>> lt.arange(2, 10, 3).compute().tolist()
    [2, 5, 8]
    """
    check_device(device)
    first, last = (type(start)(0), start) if stop is None else (start, stop)
    if step == 0:
        raise ZeroDivisionError("division by zero")
    whole = all(isinstance(x, int | np.integer) for x in (first, last, step))
    name = dtype_name(dtype) if dtype is not None else "int64" if whole else "float64"
    if whole:
        first, last, step = int(first), int(last), int(step)
        count = max(0, -((first - last) // step))
    else:
        count = max(0, math.ceil((last - first) / step))
    if np.dtype(name if name != "bfloat16" else "float32").kind in "iu" and not whole:
        first, step = int(first), int(first + step) - int(first)
    return call("arange", first, step, count, name)


def linspace(
    start: complex, stop: complex, /, num: int = 50, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Array:
    """Evenly spaced numbers from start to stop, which is left out with ``endpoint=False``. Lazy.

    >>> lt.linspace(0, 1, 5).compute().tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_device(device)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    if isinstance(start, complex) or isinstance(stop, complex):
        one, other = complex(start), complex(stop)
        parts = [
            call("linspace", a, b, num, endpoint, "float64")
            for a, b in ((one.real, other.real), (one.imag, other.imag))
        ]
        return call("astype", parts[0] + parts[1] * 1j, "complex128" if dtype is None else dtype_name(dtype))
    name = "float64" if dtype is None else dtype_name(dtype)
    return call("linspace", float(start), float(stop), num, endpoint, name)


def eye(n_rows: int, n_cols: int | None = None, /, k: int = 0, dtype: Any = None, *, device: Any = None) -> Array:
    """Ones on a diagonal. Lazy.

    >>> lt.eye(2).compute().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_device(device)
    rows, columns = _positions(n_rows, n_rows if n_cols is None else n_cols, k)
    return call("astype", columns == rows, "float64" if dtype is None else dtype_name(dtype))


def tril(x: Any, /, k: int = 0) -> Array:
    """Zero above a diagonal. Lazy.

    >>> lt.tril(lt.ones((2, 2))).compute().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    array = _matrices(x)
    rows, columns = _positions(array.shape[-2], array.shape[-1], k)
    return where(columns <= rows, array, False)


def triu(x: Any, /, k: int = 0) -> Array:
    """Zero below a diagonal. Lazy.

    >>> lt.triu(lt.ones((2, 2))).compute().tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    array = _matrices(x)
    rows, columns = _positions(array.shape[-2], array.shape[-1], k)
    return where(columns >= rows, array, False)


def _matrices(x: Any) -> Array:
    array = as_array(x)
    if array.ndim < 2:
        raise ValueError("Input array must have at least two dimensions")
    return array


def _positions(rows: int, columns: int, k: int) -> tuple[Array, Array]:
    """Numbers of rows and columns, equal on the k-th diagonal."""
    first = -max(-rows, min(k, columns))  # beyond these there is nothing left
    return reshape(arange(rows), (rows, 1)), reshape(arange(first, first + columns), (1, columns))


def meshgrid(*arrays: Any, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Coordinates of a grid from those along its axes. Lazy.

    >>> [x.shape for x in lt.meshgrid(lt.arange(3), lt.arange(2))]
    [(2, 3), (2, 3)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    given = [as_array(x) for x in arrays]
    places = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(given)
    for array, place in zip(given, places, strict=True):
        shape[place] = array.size
    apart = [
        reshape(x, [x.size if i == at else 1 for i in range(len(given))]) for x, at in zip(given, places, strict=True)
    ]
    return tuple(broadcast_to(x, shape) for x in apart)
