"""NumPy's ufuncs on lt.Arrays: calls, reductions and running sums stay lazy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import array as _array
from ._expression import as_array, call, dtype_name, elementwise, is_operand
from ._functions import cumulative_prod, cumulative_sum, linear, reductions
from ._functions import elementwise as _elementwise
from ._on_disk import OnDisk
from .errors import UnsupportedError

if TYPE_CHECKING:
    from .array import Array

_NAMES = {
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2",
    "absolute": "abs",
    "power": "pow",
    "invert": "bitwise_invert",
    "conjugate": "conj",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
    "degrees": "rad2deg",
    "radians": "deg2rad",
}
_HAVE = {name for name, value in vars(_elementwise).items() if callable(value) and not name.startswith("_")} - {
    *("clip", "round", "where", "isclose", "nan_to_num", "real", "imag", "as_array", "call", "elementwise", "operand")
}
_REDUCED: dict[str, Callable[..., Array]] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
_NOT_GIVEN: Any = getattr(np, "_NoValue", None)


def apply(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """For ``__array_ufunc__``."""
    outs = options.pop("out", ())
    outs = outs if isinstance(outs, tuple) else (outs,)
    if not all(is_operand(x) for x in inputs if not isinstance(x, slice)):
        return NotImplemented
    given = {name: value for name, value in options.items() if value is not None and value is not _NOT_GIVEN}
    work: Callable[..., Any] | None = {
        "__call__": _called,
        "reduce": _reduced,
        "accumulate": _accumulated,
        "outer": _outer,
    }.get(method)
    if work is None:
        raise _refused(ufunc, method)
    result = work(ufunc, inputs, given)
    return result if not any(out is not None for out in outs) else into(outs, result)


def into(outs: Sequence[Any], results: Any) -> Any:
    """Results computed into what ``out=`` named: ndarrays, or arrays in files."""
    several = isinstance(results, tuple)
    made = [_into(out, x) for out, x in zip(outs, results if several else (results,), strict=True)]
    return tuple(made) if several else made[0]


def _into(out: Any, result: Array) -> Any:
    if out is None:
        return result
    if out.shape != result.shape:
        result = call("broadcast_to", result, tuple(out.shape))
    if not np.can_cast(result.dtype, out.dtype, casting="same_kind"):
        raise TypeError(f"Cannot cast output from {result.dtype!r} to {out.dtype!r} with casting rule 'same_kind'")
    if isinstance(out, OnDisk) or result.ndim == 0:
        out[...] = result if isinstance(out, _array.Array) else result.compute()
    else:
        for start, block in result.blocks() if result.size else ():
            out[start : start + len(block)] = block
            del block
    return out


def _called(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    dtype = options.pop("dtype", None)
    if options.pop("where", True) is not True:
        raise UnsupportedError(
            f"np.{ufunc.__name__}(…, where=mask) is not there: lt.where(mask, np.{ufunc.__name__}(…), other) is"
        )
    options.pop("casting", None), options.pop("order", None), options.pop("subok", None)
    if options:
        raise UnsupportedError(f"np.{ufunc.__name__} of an lt.Array takes no {', '.join(options)}")
    if dtype is not None:
        name = dtype_name(dtype)
        inputs = [call("astype", as_array(x), name) for x in inputs]
    work = _called_as(ufunc)
    if work is None:
        raise _refused(ufunc, "__call__")
    return work(*inputs)


def _called_as(ufunc: np.ufunc) -> Callable[..., Any] | None:
    name = _NAMES.get(ufunc.__name__, ufunc.__name__)
    if name in _HAVE:
        return lambda *operands: elementwise(name, *operands)
    return _SPECIAL.get(name)


def _as_floats(x: Any) -> Array:
    array = as_array(x)
    return array if array.dtype.kind in "fcV" else call("astype", array, str(np.sqrt(np.zeros((), array.dtype)).dtype))


_SPECIAL: dict[str, Callable[..., Any]] = {
    "rint": lambda x: elementwise("round", _as_floats(x)),
    "fabs": lambda x: elementwise("abs", _as_floats(x)),
    "float_power": lambda x, y: elementwise("pow", *(call("astype", as_array(v), "float64") for v in (x, y))),
    "divmod": lambda x, y: (elementwise("floor_divide", x, y), elementwise("remainder", x, y)),
    "matmul": linear.matmul,
    "vecdot": linear.vecdot,
    "matvec": lambda x, y: linear.matmul(x, as_array(y)[..., None])[..., 0],
    "vecmat": lambda x, y: linear.matmul(elementwise("conj", x)[..., None, :], y)[..., 0, :],
}


def _reduced(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    if (work := _REDUCED.get(ufunc.__name__)) is None:
        raise _refused(ufunc, "reduce")
    array, *positional = inputs
    options.setdefault("axis", positional[0] if positional else 0 if "axis" not in options else None)
    if options.get("where") is True:
        del options["where"]
    if ufunc.__name__.startswith("logical"):
        options.pop("dtype", None)
    return work(array, **options)


def _accumulated(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    if ufunc.__name__ not in ("add", "multiply"):
        raise _refused(ufunc, "accumulate")
    work = cumulative_sum if ufunc.__name__ == "add" else cumulative_prod
    array, *positional = inputs
    return work(array, axis=positional[0] if positional else options.get("axis", 0), dtype=options.get("dtype"))


def _outer(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    one, other = (as_array(x) for x in inputs)
    spread = one[(..., *(None,) * other.ndim)] if other.ndim else one
    return _called(ufunc, [spread, other], options)


def _refused(ufunc: np.ufunc, method: str) -> UnsupportedError:
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    return UnsupportedError(
        f"{name} has no lazy form. Where the elements fit in the budget: {name}(a.compute()); "
        f"row by row: lt.map_blocks({name if method == '__call__' else 'function'}, a)"
    )
