"""Sums, means, extremes: lazy, over one axis, some or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .._expression import as_array, call, dtype_name, elementwise
from .elementwise import where as choose

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

Axis = int | Sequence[int] | None


def axes_of(axis: Axis, ndim: int) -> list[int]:
    """All of them for None. Raises NumPy's AxisError."""
    return list(range(ndim)) if axis is None else list(normalize_axis_tuple(axis, ndim))


def reduce(
    name: str, x: Any, axis: Axis, keepdims: bool, dtype: Any = None, correction: float = 0.0, where: Any = None
) -> Array:
    """A reduction of the core; elements outside of the mask ``where`` count as the one that changes nothing."""
    array = as_array(x)
    if where is not None and where is not True:
        array = choose(where, array, _NOTHING[name])
    named = None if dtype is None else dtype_name(dtype)
    axes = axes_of(axis, array.ndim)
    if not axes:  # each element for itself
        array, axes, keepdims = array[(..., None)], [array.ndim], False
    return call("reduce", name, array, axes, bool(keepdims), named, float(correction))


_NOTHING: dict[str, Any] = {"sum": False, "prod": True, "any": False, "all": True, "count_nonzero": False}


def sum(
    x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """Sums; of small integers in 64 bits. Lazy.

    >>> lt.sum(a, axis=0).compute().tolist()
    [19800.0, 19900.0, 20000.0, 20100.0]
    """
    total = reduce("sum", x, axis, keepdims, dtype, where=where)
    return total if initial is None else total + initial


def prod(
    x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> Array:
    """Products; of small integers in 64 bits. Lazy.

    >>> lt.prod(lt.asarray([2, 3, 4])).item()
    24
    """
    product = reduce("prod", x, axis, keepdims, dtype, where=where)
    return product if initial is None else product * initial


def min(x: Any, /, axis: Axis = None, *, keepdims: bool = False, initial: Any = None) -> Array:
    """Smallest elements; NaN where there is one. Lazy.

    >>> lt.min(a, axis=1)[:3].compute().tolist()
    [0.0, 4.0, 8.0]
    """
    return _extreme("min", "minimum", x, axis, keepdims, initial)


def max(x: Any, /, axis: Axis = None, *, keepdims: bool = False, initial: Any = None) -> Array:
    """Largest elements; NaN where there is one. Lazy.

    >>> lt.max(a).item()
    399.0
    """
    return _extreme("max", "maximum", x, axis, keepdims, initial)


def _extreme(name: str, of_two: str, x: Any, axis: Axis, keepdims: bool, initial: Any) -> Array:
    array = as_array(x)
    if initial is None:
        return reduce(name, array, axis, keepdims)
    axes = axes_of(axis, array.ndim)
    if any_empty([array.shape[i] for i in axes]):
        kept = [1 if i in axes else n for i, n in enumerate(array.shape)]
        shape = kept if keepdims else [n for i, n in enumerate(array.shape) if i not in axes]
        return call("astype", call("broadcast_to", as_array(initial), tuple(shape)), array._core.dtype)
    return elementwise(of_two, reduce(name, array, axis, keepdims), initial)


def any_empty(extents: Sequence[int]) -> bool:
    """Whether there is nothing to reduce."""
    return 0 in extents


def any(x: Any, /, axis: Axis = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Whether some element is true. Lazy.

    >>> lt.any(a > 398).item()
    True
    """
    return reduce("any", x, axis, keepdims, where=where)


def all(x: Any, /, axis: Axis = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Whether each element is true. Lazy.

    >>> lt.all(a > 398).item()
    False
    """
    return reduce("all", x, axis, keepdims, where=where)


def count_nonzero(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """How many elements are not zero. Lazy.

    >>> lt.count_nonzero(a).item()
    399
    """
    return reduce("count_nonzero", x, axis, keepdims)


def mean(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None) -> Array:
    """Means. Lazy.

    >>> lt.mean(a, axis=0).compute().tolist()
    [198.0, 199.0, 200.0, 201.0]
    """
    if where is None or where is True:
        return reduce("mean", x, axis, keepdims, dtype)
    array = as_array(x)
    count = count_nonzero(call("broadcast_to", as_array(where), array.shape), axis, keepdims=keepdims)
    return sum(array, axis, dtype, keepdims=keepdims, where=where) / count


def var(
    x: Any, /, axis: Axis = None, dtype: Any = None, *, correction: float = 0.0, keepdims: bool = False, ddof: float = 0
) -> Array:
    """Variances, with divisor n - correction (``ddof`` is NumPy's word for it). Lazy.

    >>> lt.var(lt.asarray([1.0, 3.0]), correction=1).item()
    2.0
    """
    return reduce("var", x, axis, keepdims, dtype, correction or ddof)


def std(
    x: Any, /, axis: Axis = None, dtype: Any = None, *, correction: float = 0.0, keepdims: bool = False, ddof: float = 0
) -> Array:
    """Standard deviations, with divisor n - correction (``ddof`` is NumPy's word for it). Lazy.

    >>> lt.std(lt.asarray([1.0, 3.0])).item()
    1.0
    """
    return reduce("std", x, axis, keepdims, dtype, correction or ddof)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Where the first smallest element is; the flat index without an axis. Lazy.

    >>> lt.argmin(a, axis=1)[:3].compute().tolist()
    [0, 0, 0]
    """
    return reduce("argmin", x, axis, keepdims)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Where the first largest element is; the flat index without an axis. Lazy.

    >>> lt.argmax(a).item()
    399
    """
    return reduce("argmax", x, axis, keepdims)


def ptp(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Largest minus smallest. Lazy.

    >>> lt.ptp(a).item()
    399.0
    """
    array = as_array(x)
    return max(array, axis, keepdims=keepdims) - min(array, axis, keepdims=keepdims)


def average(
    x: Any, /, axis: Axis = None, weights: Any = None, *, returned: bool = False, keepdims: bool = False
) -> Any:
    """Means with weights; with ``returned=True`` also the sums of the weights. Lazy.

    >>> lt.average(lt.asarray([1.0, 4.0]), weights=[2, 1]).item()
    2.0
    """
    array = as_array(x)
    if weights is None:
        result = mean(array, axis, keepdims=keepdims)
        scale = call("astype", call("full", (), _count(array, axis), "float64"), result._core.dtype)
    else:
        given = _aligned(as_array(weights), array, axis)
        scale = sum(given, axis, keepdims=keepdims)
        result = sum(array * given, axis, keepdims=keepdims) / scale
    return (result, call("broadcast_to", scale, result.shape)) if returned else result


def _count(array: Array, axis: Axis) -> float:
    count = 1.0
    for i in axes_of(axis, array.ndim):
        count *= array.shape[i]
    return count


def _aligned(weights: Array, array: Array, axis: Axis) -> Array:
    if weights.shape == array.shape:
        return weights
    if not isinstance(axis, int) or weights.ndim != 1:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    place = normalize_axis_index(axis, array.ndim)
    if weights.shape[0] != array.shape[place]:
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    shape = tuple(n if i == place else 1 for i, n in enumerate(array.shape))
    return call("broadcast_to", call("reshape", weights, shape), array.shape)


def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Running sums along an axis. Lazy.

    >>> lt.cumulative_sum(lt.asarray([1, 2, 3])).compute().tolist()
    [1, 3, 6]
    """
    return _running("sum", x, axis, dtype, include_initial)


def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Running products along an axis. Lazy.

    >>> lt.cumulative_prod(lt.asarray([1, 2, 3])).compute().tolist()
    [1, 2, 6]
    """
    return _running("prod", x, axis, dtype, include_initial)


def _running(name: str, x: Any, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    array = as_array(x)
    if array.ndim == 0:
        array = call("reshape", array, (1,))
    if axis is None and array.ndim != 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    place = 0 if axis is None else normalize_axis_index(axis, array.ndim)
    return call("cumulative", name, array, place, None if dtype is None else dtype_name(dtype), include_initial)
