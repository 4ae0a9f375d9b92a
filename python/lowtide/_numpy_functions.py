"""Which of lowtide's functions stands for which of NumPy's. The others are refused, never a silent load."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import _core, linalg
from . import _functions as f
from . import array as _array
from ._expression import as_array
from ._on_disk import OnDisk
from ._ufuncs import into
from .errors import UnsupportedError

_NOT_GIVEN: Any = getattr(np, "_NoValue", None)
# What changes nothing here; with other values it is refused.
_IGNORED: dict[str, tuple[Any, ...]] = {
    "subok": (True, False),
    "order": ("K", "A", "C"),
    "casting": ("same_kind", "unsafe"),
    "mode": ("raise",),
}


def apply(function: Any, types: Iterable[type], arguments: Any, options: Any) -> Any:
    """For ``__array_function__``."""
    if not all(issubclass(kind, OnDisk | np.ndarray) for kind in types):
        return NotImplemented
    if (ours := _table().get(function)) is None:
        raise _refused(function, arguments)
    given = {name: value for name, value in options.items() if value is not _NOT_GIVEN}
    given = {
        k: v for k, v in given.items() if not (k in _IGNORED and v in _IGNORED[k]) and (k != "where" or v is not True)
    }
    outs = given.pop("out", None)
    given = {name: value for name, value in given.items() if value is not None or name == "axis"}
    if not arguments and (first := next(iter(inspect.signature(function).parameters))) in given:
        arguments = (given.pop(first),)
    arguments = tuple(None if x is _NOT_GIVEN else x for x in arguments)
    try:
        result = ours(*arguments, **given)
    except TypeError as error:
        if "argument" in str(error) and "()" in str(error):  # as Python says of a call that does not fit
            raise UnsupportedError(f"np.{function.__name__} of an lt.Array: {error}") from None
        raise
    if outs is None:
        return result
    return into(outs if isinstance(outs, tuple) else (outs,), result)


def _refused(function: Any, arguments: Any) -> UnsupportedError:
    module = function.__module__ or "numpy"
    name = f"{module.replace('numpy', 'np', 1)}.{function.__name__}"
    size = sum(x.nbytes for x in arguments if isinstance(x, _array.Array))
    return UnsupportedError(
        f"{name} has no lazy form in lowtide. {name}(a.compute()) takes {_core.format_bytes(size)} of the budget; "
        "row by row: lt.map_blocks(function, a), or a loop over a.blocks()"
    )


def _axis_or_flat(running: Callable[..., Any]) -> Callable[..., Any]:
    def work(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        return running(f.ravel(a) if axis is None else a, axis=0 if axis is None else axis, dtype=dtype)

    return work


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    return f.clip(a, a_min if min is None else min, a_max if max is None else max)


def _reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    return as_array(a).reshape(shape, order=order)  # type: ignore[arg-type]


def _where(condition: Any, *choices: Any) -> Any:
    return f.where(condition, *choices) if choices else f.nonzero(condition)


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    return f.take(f.ravel(a) if axis is None else a, indices, axis=axis)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is not True:
        raise UnsupportedError("np.copyto(…, where=mask) of an lt.Array is not there: dst[mask] = a[mask].compute() is")
    into((dst,), src)


def _eager(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's users of these go on with ndarrays."""

    def work(*arguments: Any, **options: Any) -> Any:
        made = function(*arguments, **options)
        return tuple(np.asarray(x) for x in made) if isinstance(made, tuple) else np.asarray(made)

    return work


def _stacked(axis: int, least: int) -> Callable[..., Any]:
    def work(arrays: Any) -> Any:
        given = [as_array(x) for x in arrays]
        wide = [x if x.ndim >= least else x.reshape((1,) * (least - x.ndim) + x.shape) for x in given]
        return f.concat(wide, axis=0 if axis and wide[0].ndim == 1 else axis)

    return work


def _column_stack(arrays: Any) -> Any:
    return f.concat([x if x.ndim > 1 else x.reshape(-1, 1) for x in map(as_array, arrays)], axis=1)


def _at_least(count: int) -> Callable[..., Any]:
    def work(*arrays: Any) -> Any:
        made = [x if x.ndim >= count else x.reshape((1,) * (count - x.ndim) + x.shape) for x in map(as_array, arrays)]
        return made[0] if len(made) == 1 else tuple(made)

    return work


def _tri(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda m, k=0: of(m, k=k)


def _save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    raise UnsupportedError("np.save would load the array: lt.save(path, a) streams it within the budget")


_cache: dict[Any, Callable[..., Any]] = {}


def _table() -> dict[Any, Callable[..., Any]]:
    if not _cache:
        _cache.update(_made_table())
    return _cache


def _made_table() -> dict[Any, Callable[..., Any]]:
    same = (
        *("sum", "prod", "mean", "min", "max", "any", "all", "argmin", "argmax", "ptp", "count_nonzero"),
        *("average", "nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax", "var", "std"),
        *(
            "cumulative_sum",
            "cumulative_prod",
            "isclose",
            "allclose",
            "array_equal",
            "nan_to_num",
            "real",
            "imag",
            "round",
        ),
        *("ravel", "broadcast_to", "broadcast_arrays", "expand_dims", "squeeze", "flip", "roll", "tile", "repeat"),
        *("moveaxis", "swapaxes", "matrix_transpose", "stack", "unstack", "split", "pad", "diff", "take_along_axis"),
        *("zeros_like", "ones_like", "empty_like", "full_like", "meshgrid", "isin", "nonzero", "apply_along_axis"),
        *("dot", "outer", "tensordot", "einsum", "kron", "linspace", "unique_values", "unique_counts"),
    )
    table: dict[Any, Callable[..., Any]] = {getattr(np, name): getattr(f, name) for name in same if hasattr(np, name)}
    for name in linalg.__all__:
        if hasattr(np.linalg, name):
            table[getattr(np.linalg, name)] = getattr(linalg, name)
    table |= {
        np.cumsum: _axis_or_flat(f.cumulative_sum),
        np.cumprod: _axis_or_flat(f.cumulative_prod),
        np.clip: _clip,
        np.reshape: _reshape,
        np.where: _where,
        np.take: _take,
        np.compress: f.compress,
        np.concatenate: f.concat,
        np.transpose: f.permute_dims,
        np.around: f.round,
        np.amin: f.min,
        np.amax: f.max,
        np.vstack: _stacked(0, 2),
        np.hstack: _stacked(1, 1),
        np.column_stack: _column_stack,
        np.atleast_1d: _at_least(1),
        np.atleast_2d: _at_least(2),
        np.triu: _tri(f.triu),
        np.tril: _tri(f.tril),
        np.flipud: lambda m: f.flip(m, 0),
        np.fliplr: lambda m: f.flip(m, 1),
        np.copy: lambda a: f.asarray(a, copy=True),
        np.trace: lambda a, offset=0: linalg.trace(a, offset=offset),
        np.vdot: lambda a, b: f.vecdot(a.ravel(), b.ravel()),
        np.diagonal: lambda a, offset=0: linalg.diagonal(a, offset=offset),
        np.inner: lambda a, b: f.tensordot(a, b, ((-1,), (-1,))),
        np.searchsorted: lambda a, v, side="left", sorter=None: f.searchsorted(a, v, side=side, sorter=sorter),
        np.histogram: _eager(f.histogram),
        np.bincount: _eager(f.bincount),
        np.save: _save,
        np.copyto: _copyto,
        np.flatnonzero: lambda a: f.nonzero(f.ravel(a))[0],
        np.argwhere: lambda a: f.stack(f.nonzero(a), axis=1),
        np.shape: lambda a: a.shape,
        np.ndim: lambda a: a.ndim,
        np.size: _size,
        np.iscomplexobj: _is_complex,
        np.isrealobj: lambda x: not _is_complex(x),
        np.result_type: f.result_type,
        np.can_cast: f.can_cast,
        np.array_repr: lambda arr, *_: repr(arr),
        np.array_str: lambda a, *_: str(a),
        np.array2string: lambda a, *_: str(a),
        np.may_share_memory: lambda a, b, *_: False,
        np.shares_memory: lambda a, b, *_: False,
        np.isneginf: lambda x: f.equal(x, -np.inf),
        np.isposinf: lambda x: f.equal(x, np.inf),
        np.iscomplex: lambda x: f.imag(x) != 0,
        np.isreal: lambda x: f.imag(x) == 0,
        np.array_equiv: lambda a1, a2: bool(f.all(f.equal(a1, a2))),
        np.angle: _angle,
        np.unique: _unique,
        np.linalg.norm: _norm,
        np.array_split: _array_split,
        np.rollaxis: _rollaxis,
    }
    return table


def _is_complex(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


def _size(a: Any, axis: int | None = None) -> int:
    return int(a.size if axis is None else a.shape[axis])


def _angle(z: Any, deg: bool = False) -> Any:
    angle = f.atan2(f.imag(z), f.real(z))
    return f.rad2deg(angle) if deg else angle


def _unique(ar: Any, return_counts: bool = False, *, sorted: bool = True) -> Any:
    return _eager(f.unique_counts if return_counts else f.unique_values)(ar)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is None or axis is not None or np.ndim(x) == 1:
        return linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)
    return linalg.matrix_norm(x, keepdims=keepdims, ord=ord)


def _array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    if np.ndim(indices_or_sections):
        return f.split(ary, indices_or_sections, axis)
    sections = np.array_split(np.empty(ary.shape[axis], np.int8), indices_or_sections)
    return f.split(ary, np.cumsum([len(part) for part in sections])[:-1].tolist(), axis)


def _rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    place, before = axis % a.ndim, start + a.ndim if start < 0 else start
    return f.moveaxis(a, place, before - 1 if before > place else before)
