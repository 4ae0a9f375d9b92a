"""Reductions that leave NaN out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._expression import as_array, call, elementwise
from . import reductions as plain
from .elementwise import isnan, where
from .reductions import Axis

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _has_nan(array: Array) -> bool:
    return array.dtype.kind in "fcV"


def nansum(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Sums without NaN. Lazy.

    >>> lt.nansum(lt.asarray([1.0, lt.nan, 2.0])).item()
    3.0
    """
    return plain.sum(_filled(x, 0), axis, dtype, keepdims=keepdims)


def nanprod(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Products without NaN. Lazy.

    >>> lt.nanprod(lt.asarray([3.0, lt.nan, 2.0])).item()
    6.0
    """
    return plain.prod(_filled(x, 1), axis, dtype, keepdims=keepdims)


def nanmean(x: Any, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
    """Means without NaN; NaN where there is nothing else. Lazy.

    >>> lt.nanmean(lt.asarray([1.0, lt.nan, 2.0])).item()
    1.5
    """
    array = as_array(x)
    if not _has_nan(array):
        return plain.mean(array, axis, dtype, keepdims=keepdims)
    total = nansum(array, axis, dtype, keepdims=keepdims)
    return call("astype", total / _present(array, axis, keepdims), total._core.dtype)


def nanvar(
    x: Any, /, axis: Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: float = 0
) -> Array:
    """Variances without NaN. Lazy.

    >>> lt.nanvar(lt.asarray([1.0, lt.nan, 3.0])).item()
    1.0
    """
    array = as_array(x)
    less = ddof or correction
    if not _has_nan(array):
        return plain.var(array, axis, dtype, correction=less, keepdims=keepdims)
    away = array - nanmean(array, axis, keepdims=True)
    square = elementwise("square", elementwise("abs", away))
    total = nansum(square, axis, dtype, keepdims=keepdims)
    count = _present(array, axis, keepdims) - less
    return call("astype", where(count > 0, total / count, float("nan")), total._core.dtype)


def nanstd(
    x: Any, /, axis: Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False, correction: float = 0
) -> Array:
    """Standard deviations without NaN. Lazy.

    >>> lt.nanstd(lt.asarray([1.0, lt.nan, 3.0])).item()
    1.0
    """
    return elementwise("sqrt", nanvar(x, axis, dtype, ddof=ddof, keepdims=keepdims, correction=correction))


def nanmin(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Smallest elements but NaN; NaN where there is nothing else. Lazy.

    >>> lt.nanmin(lt.asarray([1.0, lt.nan, 3.0])).item()
    1.0
    """
    return _extreme("min", float("inf"), x, axis, keepdims)


def nanmax(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Largest elements but NaN; NaN where there is nothing else. Lazy.

    >>> lt.nanmax(lt.asarray([1.0, lt.nan, 3.0])).item()
    3.0
    """
    return _extreme("max", float("-inf"), x, axis, keepdims)


def _extreme(name: str, beyond: float, x: Any, axis: Axis, keepdims: bool) -> Array:
    array = as_array(x)
    if not _has_nan(array):
        return plain.reduce(name, array, axis, keepdims)
    extreme = plain.reduce(name, _filled(array, beyond), axis, keepdims)
    return where(plain.all(isnan(array), axis, keepdims=keepdims), float("nan"), extreme)


def _filled(x: Any, value: float) -> Array:
    array = as_array(x)
    return where(isnan(array), value, array) if _has_nan(array) else array


def _present(array: Array, axis: Axis, keepdims: bool) -> Array:
    return plain.count_nonzero(elementwise("logical_not", isnan(array)), axis, keepdims=keepdims)
