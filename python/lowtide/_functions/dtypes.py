"""Dtypes: which there are, what they hold, and what they come to together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _dtypes
from .._expression import as_array, call, check_device, dtype_name
from .._expression import result_type as _result_type
from .._on_disk import OnDisk

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "__array_namespace_info__",
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements in another dtype. Lazy.

    >>> lt.astype(a, lt.float32).nbytes
    1600
    """
    check_device(device)
    array, name = as_array(x), dtype_name(dtype)
    if array._core.dtype == name:
        return array.__copy__() if copy else array
    return call("astype", array, name)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python scalars come to.

    >>> lt.result_type(lt.int8, lt.asarray([1.0], dtype="f4"))
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise ValueError("at least one array or dtype is required")
    given = [as_array(x) if isinstance(x, np.ndarray | np.generic) else x for x in arrays_and_dtypes]
    if all(type(x) in (bool, int, float, complex) for x in given):
        return np.result_type(*given)
    return _dtypes.numpy_dtype(_result_type(*given))


def can_cast(from_: Any, to: Any, /, casting: str = "safe") -> bool:
    """Whether a cast loses nothing.

    >>> lt.can_cast(lt.int32, lt.float64), lt.can_cast(lt.int64, lt.int8)
    (True, False)
    """
    one = from_.dtype if isinstance(from_, OnDisk | np.ndarray) else np.dtype(from_)
    return bool(np.can_cast(one, np.dtype(to), casting=casting))  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind: "integral", "real floating" …

    >>> lt.isdtype(lt.int8, "integral"), lt.isdtype(lt.int8, ("bool", lt.int8))
    (True, True)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    found = np.dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS:
        return found.kind in _KINDS[kind] or (found.name == "bfloat16" and "f" in _KINDS[kind])
    if isinstance(kind, str):
        raise ValueError(f"kind argument is a string, but {kind!r} is not a known kind name.")
    return bool(found == np.dtype(kind))


@dataclass(frozen=True)
class _Float:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class _Integer:
    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def finfo(type: Any, /) -> Any:
    """What a floating-point dtype holds: bits, eps, max, min, smallest_normal, dtype.

    >>> lt.finfo(lt.float16).max
    65504.0
    """
    dtype = _dtype_of(type)
    if dtype.name == "bfloat16":
        import ml_dtypes

        limits: Any = ml_dtypes.finfo(dtype)
    else:
        limits = np.finfo(dtype)
    eps, largest, lowest, smallest = (float(x) for x in (limits.eps, limits.max, limits.min, limits.smallest_normal))
    return _Float(int(limits.bits), eps, largest, lowest, smallest, np.dtype(limits.dtype))


def iinfo(type: Any, /) -> Any:
    """What an integer dtype holds: bits, max, min, dtype.

    >>> lt.iinfo(lt.uint8).max
    255
    """
    limits = np.iinfo(_dtype_of(type))
    return _Integer(int(limits.bits), int(limits.max), int(limits.min), np.dtype(limits.dtype))


def _dtype_of(type: Any) -> np.dtype[Any]:
    return type.dtype if isinstance(type, OnDisk | np.ndarray) else np.dtype(type)


class Info:
    """What ``lt.__array_namespace_info__()`` gives."""

    def capabilities(self) -> dict[str, Any]:
        """What the namespace can do."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where arrays are."""
        return "cpu"

    def devices(self) -> tuple[str, ...]:
        """Where arrays may be."""
        return ("cpu",)

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """What numbers become."""
        check_device(device)
        names = {"real floating": "f8", "complex floating": "c16", "integral": "i8", "indexing": "i8"}
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """Dtypes of a kind, or all of the standard's."""
        check_device(device)
        named = {name: np.dtype(name) for name in _dtypes._NAMES if name != "float16"}
        return named if kind is None else {name: x for name, x in named.items() if isdtype(x, kind)}


def __array_namespace_info__() -> Info:
    """What this array API namespace can do.

    >>> lt.__array_namespace_info__().default_device()
    'cpu'
    """
    return Info()
