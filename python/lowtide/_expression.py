"""From lt.Arrays and numbers to what the core computes lazily, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _core, _dtypes, _leased
from . import array as _array
from ._on_disk import OnDisk
from ._recipe import FromFile, InMemory, Made, called, memory
from .errors import UnsupportedError

if TYPE_CHECKING:
    from .array import Array

Scalar: TypeAlias = bool | int | float | complex
_SCALARS = (bool, int, float, complex)


def call(function: str, *arguments: Any) -> Array:
    """The array that a function of the core makes of arrays, lists of them, and plain values."""
    core = called(function, [_core_of(argument) for argument in arguments])
    return _array.Array(core, Made(function, tuple(_recipe_of(argument) for argument in arguments)))


def elementwise(name: str, *operands: Any) -> Array:
    """An elementwise function of arrays and Python scalars, at least one of them an array."""
    given = [operand(x) for x in operands]
    if not any(isinstance(x, _array.Array) for x in given):
        given[0] = as_array(given[0])
    return call("elementwise", name, given)


def operand(x: Any) -> Array | Scalar:
    """A Python scalar as it is, since it takes on the other's dtype; anything else as an array."""
    if isinstance(x, _array.Array) or type(x) in _SCALARS:
        return x  # type: ignore[no-any-return]
    if isinstance(x, _SCALARS) and not isinstance(x, np.generic):  # an IntEnum, say
        return next(kind(x) for kind in (bool, int, float, complex) if isinstance(x, kind))  # type: ignore[arg-type]
    return as_array(x)


def is_operand(x: Any) -> bool:
    """Whether an operator takes it; others may know what to do with us."""
    if isinstance(x, OnDisk | np.ndarray | np.generic | bool | int | float | complex | list | tuple):
        return True
    return hasattr(type(x), "__dlpack__") and not hasattr(type(x), "__array_ufunc__")  # a tensor


def as_array(x: Any, dtype: Any = None) -> Array:
    """An lt.Array of anything that has elements. Memory that others own is shared, not copied."""
    if isinstance(x, _array.Array):
        return x
    if isinstance(x, OnDisk):
        return of_memmap(x)
    if isinstance(x, np.ndarray):
        return in_memory(x, owned=False)
    if _is_sequence_of_numbers(x):
        return in_memory(_leased.asarray(x, dtype, "the values"), owned=True)
    if hasattr(x, "__dlpack__") or hasattr(x, "__array__"):
        return _of_exporter(x)
    values = np.asarray(x)
    if values.dtype.kind not in "biufcV":
        raise TypeError(f"lowtide computes with numbers: {type(x).__name__} holds {values.dtype}")
    return in_memory(values, owned=not hasattr(x, "__array_interface__") and not hasattr(x, "__buffer__"))


def in_memory(values: np.ndarray[Any, Any], *, owned: bool) -> Array:
    """An ndarray, not copied; `owned` where nobody else can change it."""
    return _array.Array(*memory(values, owned=owned))


def of_memmap(x: Any) -> Array:
    """The same part of the same file."""
    return _array.Array(x._core, FromFile(x._core, x._opened, x._steps))


def is_shared(x: Array) -> bool:
    """Whether somebody else may change the elements: through the ndarray, or by writing to the file."""
    from ._recipe import leaves

    return any(not leaf.owned if isinstance(leaf, InMemory) else bool(leaf.core.writable) for leaf in leaves(x._recipe))


def dtype_name(dtype: Any) -> str:
    """The core's name of a dtype that a user gave for a result, which is native whatever was said."""
    if dtype is bool or dtype is int or dtype is float or dtype is complex:
        return np.dtype(dtype).name
    return _dtypes.core_name(dtype)[0]


def check_device(device: Any) -> None:
    """Raise unless a result may be on the device."""
    if device not in (None, "cpu"):
        raise UnsupportedError(f'device {device!r} is not there: lowtide computes on "cpu"')


def result_type(*operands: Any) -> str:
    """The core's name of the dtype that arrays, dtypes and Python scalars come to."""
    given = [x._core if isinstance(x, OnDisk) else x if type(x) in _SCALARS else dtype_name(x) for x in operands]
    return _core.result_type(given)


def _core_of(argument: Any) -> Any:
    if isinstance(argument, _array.Array):
        return argument._core
    return [_core_of(part) for part in argument] if isinstance(argument, list) else argument


def _recipe_of(argument: Any) -> Any:
    if isinstance(argument, _array.Array):
        return argument._recipe
    return [_recipe_of(part) for part in argument] if isinstance(argument, list) else argument


def _is_sequence_of_numbers(x: Any) -> bool:
    return isinstance(x, list | tuple | range | bool | int | float | complex | np.generic)


def _of_exporter(x: Any) -> Array:
    if type(x).__module__.partition(".")[0] == "torch" and "bfloat16" in str(x.dtype):
        import torch

        bits = x.detach().contiguous().view(torch.int16).numpy().view(np.uint16)
        return _array.Array(_core.from_memory(bits, "bfloat16"), InMemory(bits, "bfloat16", False))
    values = np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)
    return in_memory(values, owned=False)
