"""Between NumPy's dtypes and the core's names, bfloat16 included."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _leased
from .errors import UnsupportedError

_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
_BY_NAME = {name: np.dtype(name) for name in _NAMES}


def _bfloat16() -> np.dtype[Any] | None:
    try:
        import ml_dtypes
    except ImportError:
        return None
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def core_name(dtype: Any) -> tuple[str, bool]:
    """The core's name of a dtype, and whether it is big-endian."""
    if isinstance(dtype, str) and dtype == "bfloat16":
        return "bfloat16", False
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise UnsupportedError(f"dtype {dtype!r} is unknown; lowtide has {', '.join(_NAMES)} and bfloat16") from error
    if found.name in _BY_NAME:
        return found.name, found.str.startswith(">")
    if found.name == "bfloat16":
        return "bfloat16", False
    raise UnsupportedError(
        f"dtype {found} is not supported: arrays hold numbers or bools ({', '.join(_NAMES)}, bfloat16). "
        "Structured, object and string data need another container."
    )


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of what the core reads as `name`."""
    if name == "bfloat16":
        found = _bfloat16()
        if found is None:
            raise UnsupportedError(
                "NumPy has no bfloat16: pip install ml_dtypes, "
                'or write the array as float32 first: lt.save("out.npy", a, dtype="float32")'
            )
        return found
    return _BY_NAME[name]


def itemsize(name: str) -> int:
    """Bytes of one element; of bfloat16 also where NumPy lacks it."""
    return 2 if name == "bfloat16" else _BY_NAME[name].itemsize


def as_result(array: np.ndarray[Any, Any], name: str) -> np.ndarray[Any, Any]:
    """What the core handed over, with the dtype the user knows."""
    return array.view(numpy_dtype(name)) if name == "bfloat16" else array


def as_values(values: Any, into: str | None = None) -> tuple[np.ndarray[Any, Any], str]:
    """Any array-like as memory the core can take, and its dtype's name, after ">" if big-endian. Arrays are not copied.

    Numbers on their way into dtype `into` are refused as NumPy refuses them: 300 is no uint8, and NaN no integer.
    """
    plain = isinstance(values, bool | int | float | complex | list | tuple)
    target = _BY_NAME.get(into) if into else None
    if target is not None and isinstance(values, np.generic):
        array = np.empty(1, dtype=target)
        array[:] = values
        array = array.reshape(())
    else:
        array = _leased.asarray(values, target if plain else None, "the values")
    name, swapped = core_name(array.dtype)
    if name == "bfloat16":
        array = array.view(np.uint16)
    return array, f">{name}" if swapped else name


def leased_cast(array: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """`array.astype(dtype)` in memory that the budget pays for; objects and strings it cannot count."""
    if np.dtype(dtype).kind not in "biufc":
        return array.astype(dtype)
    name, swapped = core_name(dtype)
    cast = as_result(_core.empty(array.shape, name), name)
    np.copyto(cast, array, casting="unsafe")
    if swapped:
        return cast.byteswap(inplace=True).view(dtype)
    return cast.astype(dtype, copy=False)
