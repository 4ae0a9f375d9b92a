"""Where elements stand in a table, and how often they occur: the table in memory, the large side in blocks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .. import _core
from .._expression import as_array, elementwise, in_memory
from ..errors import UnsupportedError
from .blocks import compute, mapped_rows, whole
from .reductions import max as largest
from .reductions import min as smallest
from .shapes import ravel

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "allclose",
    "array_equal",
    "bincount",
    "histogram",
    "isin",
    "searchsorted",
    "unique_counts",
    "unique_values",
]

_COMPARED_ONE_BY_ONE = 8


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """Where elements of x1 are among those of x2, which must fit in memory. Lazy.

    >>> lt.isin(lt.asarray([1, 2, 3]), [2, 5]).compute().tolist()
    [False, True, False]
    """
    if not hasattr(x1, "shape"):
        x1 = as_array(x1)
    array, table = as_array(x1), np.asarray(whole(x2)).reshape(-1)
    if 0 < table.size <= _COMPARED_ONE_BY_ONE:
        found = elementwise("equal", array, table[0])
        for value in table[1:]:
            found = found | elementwise("equal", array, value)
        return elementwise("logical_not", found) if invert else found
    return mapped_rows(partial(np.isin, test_elements=table, invert=invert), array, "bool")


def searchsorted(x1: Any, x2: Any, /, *, side: Literal["left", "right"] = "left", sorter: Any = None) -> Array:
    """Where elements of x2 would be inserted in x1, which is sorted and must fit in memory. Lazy.

    >>> lt.searchsorted(lt.asarray([10, 20, 30]), lt.asarray([5, 20, 99])).compute().tolist()
    [0, 1, 3]
    """
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    table = whole(x1)
    if table.ndim != 1:
        raise ValueError("object too deep for desired array" if table.ndim else "object of too small depth")
    if sorter is not None:
        table = table[whole(sorter)]
    return mapped_rows(partial(_places, table, side), x2, "int64")


def _places(table: Any, side: Literal["left", "right"], block: Any) -> Any:
    return np.searchsorted(table, block, side=side)


def histogram(
    x: Any, /, bins: Any = 10, range: Any = None, density: bool | None = None, weights: Any = None
) -> tuple[Array, Array]:
    """How many elements fall into each bin, and the edges of the bins. Computed now: one pass, two without a range.

    >>> counts, edges = lt.histogram(a, bins=4)
    >>> counts.compute().tolist()
    [100, 100, 100, 100]
    """
    array = ravel(x)
    if isinstance(bins, str):
        raise UnsupportedError(f"histogram(bins={bins!r}): give how many bins there are, or their edges")
    if range is None and np.ndim(bins) == 0 and array.size:
        low, high = compute(smallest(array), largest(array))
        range = (low.item(), high.item())
    empty = np.empty(0, array.dtype)
    edges = np.histogram_bin_edges(empty, whole(bins) if np.ndim(bins) else bins, range)
    given = edges if np.ndim(bins) else bins
    heavy = None if weights is None else ravel(weights)
    counts, _ = np.histogram(empty, given, range, weights=None if heavy is None else np.empty(0, heavy.dtype))
    for block, weight in _together(array, heavy):
        part, _ = np.histogram(block, given, range, weights=weight)
        counts = counts + part
    if density:
        counts = counts / np.diff(edges) / counts.sum()
    return in_memory(counts, owned=True), in_memory(edges, owned=True)


def _together(array: Array, other: Array | None) -> Any:
    if array.size == 0:
        return
    if other is None:
        for _, block in array.blocks():
            yield block, None
        return
    if other.shape != array.shape:
        raise ValueError("weights should have the same shape as a.")
    rows = max(1, _core.budget() // 32 // max(1, array.itemsize + other.itemsize))
    for (_, block), (_, weight) in zip(array.blocks(rows), other.blocks(rows), strict=True):
        yield block, weight


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each of 0, 1, 2 … occurs in an array of one axis. Computed now, in one pass.

    >>> lt.bincount(lt.asarray([0, 2, 2])).compute().tolist()
    [1, 0, 2]
    """
    array = as_array(x)
    if array.ndim != 1:
        raise ValueError("object too deep for desired array" if array.ndim else "object of too small depth")
    if array.dtype.kind not in "biu":
        raise TypeError(f"Cannot cast array data from {array.dtype!r} to dtype('int64') according to the rule 'safe'")
    heavy = None if weights is None else as_array(weights)
    counts = np.zeros(minlength, np.int64 if heavy is None else np.float64)
    for block, weight in _together(array, heavy):
        part: Any = np.bincount(block.astype(np.int64, copy=False), weight, minlength=len(counts))
        part[: len(counts)] += counts
        counts = part
    return in_memory(counts, owned=True)


class UniqueCounts(NamedTuple):
    """What ``lt.unique_counts`` gives."""

    values: Any
    counts: Any


def unique_counts(x: Any, /) -> UniqueCounts:
    """The different elements, sorted, and how often each occurs. Computed now, in one pass.

    >>> found = lt.unique_counts(lt.asarray([3, 1, 3]))
    >>> found.values.compute().tolist(), found.counts.compute().tolist()
    ([1, 3], [1, 2])
    """
    array = as_array(x)
    values, counts = np.empty(0, array.dtype), np.empty(0, np.int64)
    for block, _ in _together(ravel(array), None):
        more, times = np.unique(block, return_counts=True, equal_nan=False)
        joined, where = np.unique(np.concatenate([values, more]), return_inverse=True, equal_nan=False)
        summed = np.zeros(len(joined), np.int64)
        np.add.at(summed, where, np.concatenate([counts, times]))
        values, counts = joined, summed
        _check_room(values)
    return UniqueCounts(in_memory(values, owned=True), in_memory(counts, owned=True))


def unique_values(x: Any, /) -> Array:
    """The different elements, sorted. Computed now, in one pass.

    >>> lt.unique_values(lt.asarray([3, 1, 3])).compute().tolist()
    [1, 3]
    """
    array = as_array(x)
    values = np.empty(0, array.dtype)
    for block, _ in _together(ravel(array), None):
        values = np.unique(np.concatenate([values, np.unique(block, equal_nan=False)]), equal_nan=False)
        _check_room(values)
    return in_memory(values, owned=True)


def _check_room(values: np.ndarray[Any, Any]) -> None:
    if values.nbytes > _core.budget() // 8:
        raise UnsupportedError(
            f"{len(values)} different elements so far ({_core.format_bytes(values.nbytes)}): "
            "lowtide finds those that fit in an eighth of the budget"
        )


def allclose(x1: Any, x2: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close. Computed now, in one pass.

    >>> lt.allclose(a, a + 1e-9)
    True
    """
    from .elementwise import isclose
    from .reductions import all as every

    return bool(every(isclose(x1, x2, rtol, atol, equal_nan)))


def array_equal(x1: Any, x2: Any, /, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are the same. Computed now, in one pass.

    >>> lt.array_equal(a, a[:50])
    False
    """
    from .elementwise import isnan
    from .reductions import all as every

    one, other = as_array(x1), as_array(x2)
    if one.shape != other.shape:
        return False
    same = one == other
    if equal_nan:
        same = same | (isnan(one) & isnan(other))
    return bool(every(same))
