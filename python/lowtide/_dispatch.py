"""How NumPy's functions find lowtide's: np.sqrt(a) and np.mean(a, axis=0) stay lazy, what has no lazy form is refused.

Both protocols are found on the class only, where NumPy looks, and not on an array, where Dask and xarray look for what
they may compute with block by block: to them an array is something to slice and to convert.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .array import Array


class _OfTheClass:
    """A function that is an attribute of a class and not of its instances."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self.function
        raise AttributeError("NumPy finds this on the class")


def _array_ufunc(self: Array, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    from ._ufuncs import apply

    return apply(ufunc, method, inputs, options)


def _array_function(self: Array, function: Any, types: Any, arguments: Any, options: Any) -> Any:
    from ._numpy_functions import apply

    return apply(function, types, arguments, options)


class Dispatching:
    """NumPy's protocols."""

    __slots__ = ()
    __array_ufunc__ = _OfTheClass(_array_ufunc)
    __array_function__ = _OfTheClass(_array_function)
