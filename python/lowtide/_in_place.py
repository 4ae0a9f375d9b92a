"""Writing into arrays: into a file block by block, into what is computed by making it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes, _recipe
from . import array as _array
from ._expression import as_array, call, elementwise
from ._index import normalise
from ._on_disk import OnDisk
from ._recipe import FromFile, Made, Recipe
from .errors import UnsupportedError

if TYPE_CHECKING:
    from .array import Array


def assign(target: Array, index: Any, values: Any) -> None:
    """``target[index] = values``."""
    if not target._core.is_file:
        _assign_in_memory(target, index, values)
    elif isinstance(index, _array.Array) and index._core.dtype == "bool" and index.shape == target.shape:
        _assign_where(target, index, values)
    elif isinstance(values, OnDisk):
        _stream(target._then("index", normalise(index)), as_array(values))
    else:
        array, name = _dtypes.as_values(values, target._core.dtype)
        target._core.assign(normalise(index), array, name)


def update(a: Array, x: Any) -> Array:
    """Write an expression into an array that was opened with ``mode="r+"``, block by block, and return the array.

    Where the expression reads the array itself, each block must need only the same block of it, as in arithmetic;
    anything else is computed first, if the budget has room for it.

    >>> w = lt.open(path, mode="r+")
    >>> lt.update(w, lt.where(w > 200, 200, w)).max().item()
    200.0
    """
    if not isinstance(a, _array.Array) or not a._core.is_file:
        raise TypeError("only an array that was opened from a file can be updated in place")
    _stream(a, as_array(x))
    return a


def augmented(target: Array, name: str, other: Any) -> Array:
    """``target += other`` and the like: into the file where that may be written, else a new array."""
    result = target @ other if name == "matmul" else elementwise(name, target, other)
    if result.shape != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} "
            f"doesn't match the broadcast shape {result.shape}"
        )
    if not np.can_cast(result.dtype, target.dtype, casting="same_kind"):
        raise TypeError(
            f"Cannot cast {name} output from {result.dtype!r} to {target.dtype!r} with casting rule 'same_kind'"
        )
    if target._core.is_file and target._core.writable:
        return update(target, result)
    return result if result.dtype == target.dtype else call("astype", result, target._core.dtype)


def _assign_in_memory(target: Array, index: Any, values: Any) -> None:
    """What is computed is not changed under those who use it already: the array becomes another one."""
    elements = target.compute()
    given = values.to_numpy() if isinstance(values, OnDisk) else values
    if target.dtype.kind == "V":
        raise UnsupportedError("bfloat16 elements in memory cannot be assigned to: astype(float32) first")
    where = tuple(_plain(part) for part in index) if isinstance(index, tuple) else _plain(index)
    elements[where] = given
    target._core, target._recipe = _recipe.memory(elements, owned=True)


def _plain(index: Any) -> Any:
    return index.compute() if isinstance(index, _array.Array) else index


def _assign_where(target: Array, mask: Array, values: Any) -> None:
    if getattr(values, "ndim", 0) > 0 or isinstance(values, list | tuple):
        array, name = _dtypes.as_values(values.to_numpy() if isinstance(values, OnDisk) else values)
        target._core.assign(normalise(mask), array, name)
        return
    value = np.asarray(values.to_numpy() if isinstance(values, OnDisk) else values)
    plain = np.empty((), target.dtype)
    plain[...] = value  # refused here where NumPy would refuse it
    _stream(target, elementwise("where", mask, plain, target))


def _stream(target: Array, values: Array) -> None:
    """All of `values` into a view of a file, rows at a time if that cannot overtake what is still to be read."""
    if values.shape != target.shape:
        values = call("broadcast_to", values, target.shape)
    name = target._core.dtype
    if values._core.dtype != name:
        values = call("astype", values, name)
    if target.ndim == 0 or target.size == 0 or not _follows(values._recipe, target):
        array, name = _dtypes.as_values(values.to_numpy())
        target._core.assign((Ellipsis,), array, name)
        return
    for start, block in values.blocks():
        array, name = _dtypes.as_values(block)
        target._core.assign((slice(start, start + len(block), None),), array, name)
        del block, array


def _follows(recipe: Recipe, target: Array) -> bool:
    """Whether each row of an expression needs no row of the target's file but the same one."""
    if isinstance(recipe, FromFile):
        return recipe.core.stamp()[:2] != target._core.stamp()[:2] or _same_view(recipe, target)
    if isinstance(recipe, Made):
        if recipe.function in ("elementwise", "astype"):
            return all(_follows(part, target) for part in _recipe._parts(recipe.arguments or ()))
        return not any(
            isinstance(leaf, FromFile) and leaf.core.stamp()[:2] == target._core.stamp()[:2]
            for leaf in _recipe.leaves(recipe)
        )
    return True


def _same_view(recipe: FromFile, target: Array) -> bool:
    view = target._core.view()
    return view is not None and recipe.core.view() == view and recipe.core.shape == target._core.shape
