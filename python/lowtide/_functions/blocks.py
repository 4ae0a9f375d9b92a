"""Any function of ndarrays, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, _dtypes
from .. import array as _array
from .._expression import as_array, dtype_name
from .shapes import moveaxis, reshape

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "apply_along_axis",
    "compute",
    "map_blocks",
]


def compute(*arrays: Any) -> tuple[Any, ...]:
    """Several arrays as ndarrays, in one pass over what they share. Anything but an lt.Array is handed through.

    >>> low, high = lt.compute(a.min(), a.max())
    >>> float(low), float(high)
    (0.0, 399.0)
    """
    ours = [x for x in arrays if isinstance(x, _array.Array)]
    made = iter(_core.compute([x._core for x in ours]) if ours else ())
    return tuple(_dtypes.as_result(next(made), x._core.dtype) if isinstance(x, _array.Array) else x for x in arrays)


def map_blocks(
    fn: Callable[..., Any],
    /,
    *arrays: Any,
    dtype: Any = None,
    rows: int | None = None,
    shape: Sequence[int] | None = None,
    **options: Any,
) -> Array:
    """``fn`` of blocks of rows, one below the other: any function of ndarrays that treats each row for itself.

    ``fn`` gets the same rows of each array (a 0-d array and anything else are handed over as they are), and
    ``options``. ``rows`` is how many at a time; ``dtype`` and ``shape`` (of a row of the result) are found by a call
    with the first row, where they are not said. Lazy: saved or read in blocks, it runs block by block; where other
    functions use it, the result is computed as a whole, within the budget, once.

    >>> lt.map_blocks(np.sort, a, axis=1).shape
    (100, 4)
    >>> lt.save(new_path, lt.map_blocks(lambda x: x.mean(axis=1), a))
    >>> lt.open(new_path).shape
    (100,)
    """
    from .._mapped import Mapped

    given = [as_array(x) if hasattr(x, "shape") else x for x in arrays]
    by_rows = [x for x in given if isinstance(x, _array.Array) and x.ndim]
    if not by_rows:
        raise ValueError("map_blocks needs at least one array with rows")
    if len({x.shape[0] for x in by_rows}) > 1:
        raise ValueError(f"map_blocks: the arrays have {', '.join(str(x.shape[0]) for x in by_rows)} rows")
    function = partial(fn, **options) if options else fn
    if dtype is None or shape is None:
        tried = np.asarray(function(*_first_rows(given)))
        if tried.ndim == 0 or tried.shape[0] != min(1, by_rows[0].shape[0]):
            raise ValueError(
                f"map_blocks: the function made {tried.shape} of one row. It must give one row for each that it gets; "
                "for one answer of all, use a reduction such as lt.sum, or loop over a.blocks()"
            )
        dtype = tried.dtype if dtype is None else dtype
        shape = tried.shape[1:] if shape is None else shape
    return Mapped(function, given, (by_rows[0].shape[0], *shape), dtype_name(dtype), rows)


def _first_rows(given: Sequence[Any]) -> Iterator[Any]:
    for x in given:
        if isinstance(x, _array.Array):
            yield x.read(slice(0, 1)) if x.ndim else x.compute()
        else:
            yield x


def apply_along_axis(fn: Callable[..., Any], axis: int, x: Any, /, *args: Any, **options: Any) -> Array:
    """NumPy's: a function of each vector along an axis, block by block. Lazy as ``lt.map_blocks``.

    >>> lt.apply_along_axis(np.median, 1, a)[:3].compute().tolist()
    [1.5, 5.5, 9.5]
    """
    array = as_array(x)
    place = axis % array.ndim if array.ndim else 0
    lanes = moveaxis(array, place, -1)
    if lanes.ndim == 1:
        lanes = reshape(lanes, (1, *lanes.shape))
        mapped = map_blocks(partial(_along_last, fn, args, options), lanes)
        return mapped[0]
    mapped = map_blocks(partial(_along_last, fn, args, options), lanes)
    extra = mapped.ndim - (array.ndim - 1)
    order = (*range(place), *range(array.ndim - 1, array.ndim - 1 + extra), *range(place, array.ndim - 1))
    return mapped.transpose(*order) if extra and order != tuple(range(mapped.ndim)) else mapped


def _along_last(fn: Callable[..., Any], args: Any, options: Any, block: Any) -> Any:
    return np.apply_along_axis(fn, -1, block, *args, **options)


def whole(x: Any) -> np.ndarray[Any, Any]:
    """A table that must be in memory: an ndarray as it is, anything lazy computed within the budget."""
    return x if isinstance(x, np.ndarray) else np.asarray(as_array(x))


def mapped_rows(fn: Callable[..., Any], x: Any, dtype: str) -> Array:
    """An elementwise function of ndarrays, in blocks; of one element too."""
    array = as_array(x)
    if array.ndim:
        return map_blocks(fn, array, dtype=dtype, shape=array.shape[1:])
    return reshape(map_blocks(fn, reshape(array, (1,)), dtype=dtype, shape=()), ())
