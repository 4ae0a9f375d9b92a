"""Python sequences as arrays whose memory the budget pays for while they live."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core

LEASED_FROM = 1 << 16  # less is not worth a lease


def asarray(values: Any, dtype: Any = None, what: str = "an index") -> np.ndarray[Any, Any]:
    """``np.asarray``, paid for before it allocates where `values` is a list, a tuple or a range of any depth."""
    needed = _needed_bytes(values, dtype)
    if needed < LEASED_FROM:
        return np.asarray(values, dtype=dtype)
    lease = _core.lease_index(needed, what)
    return held(np.asarray(values, dtype=dtype), lease)


def held(array: np.ndarray[Any, Any], lease: _core.Lease) -> np.ndarray[Any, Any]:
    """The array, with budget bytes that are given back when it goes."""
    view = array.view(_Leased)
    view.lease = lease
    return view


class _Leased(np.ndarray[Any, Any]):
    """An array that budget bytes are held for while it lives."""

    lease: _core.Lease

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


def _needed_bytes(values: Any, dtype: Any) -> int:
    """What NumPy will allocate, told from the first element of each level: the others are as long, or it refuses."""
    count = 1
    while isinstance(values, list | tuple | range):
        count *= len(values)
        if count == 0:
            return 0
        values = values[0]
    if isinstance(values, np.ndarray):
        return count * values.nbytes if count > 1 else 0
    itemsize = np.dtype(dtype).itemsize if dtype is not None else 16 if isinstance(values, complex) else 8
    return count * itemsize
