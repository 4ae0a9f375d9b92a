"""lt.linalg: products, norms, traces and diagonals; decompositions are not there yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from ._expression import as_array, call, elementwise
from ._functions import linear as _linear
from ._functions.elementwise import where as _where
from ._functions.linear import cross, matmul, tensordot, vecdot
from ._functions.reductions import axes_of as _axes_of
from ._functions.reductions import count_nonzero as _count_nonzero
from ._functions.reductions import max as _max
from ._functions.reductions import min as _min
from ._functions.reductions import sum as _sum
from ._functions.shapes import expand_dims as _expand_dims
from ._functions.shapes import matrix_transpose, reshape
from ._missing import LINALG as _LINALG
from ._missing import refusal as _refusal

if TYPE_CHECKING:
    from .array import Array

__all__ = [
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of the elements of two vectors. Lazy.

    >>> lt.linalg.outer(lt.arange(2), lt.arange(3)).shape
    (2, 3)
    """
    a, b = as_array(x1), as_array(x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={a.ndim} and x2.ndim={b.ndim}.")
    return _linear.outer(a, b)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices of the last two axes. Lazy.

    >>> lt.linalg.diagonal(lt.eye(3), offset=1).compute().tolist()
    [0.0, 0.0]
    """
    array = as_array(x)
    if array.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    *before, rows, columns = array.shape
    first = max(-offset, 0) * columns + max(offset, 0)
    count = max(0, min(rows - max(-offset, 0), columns - max(offset, 0)))
    flat = reshape(array, (*before, rows * columns))
    last = first + (count - 1) * (columns + 1) + 1 if count else first
    return flat[(..., slice(first, max(first, last), columns + 1))]


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sums of diagonals. Lazy.

    >>> lt.linalg.trace(lt.eye(3)).item()
    3.0
    """
    return _sum(diagonal(x, offset=offset), -1, dtype)


def vector_norm(x: Any, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Norms of vectors, over one axis, some or all. Lazy.

    >>> lt.linalg.vector_norm(lt.asarray([3.0, 4.0])).item()
    5.0
    """
    array = as_array(x)
    size = elementwise("abs", array)
    name = size._core.dtype
    axes = _axes_of(axis, array.ndim)
    if ord == float("inf"):
        return _max(size, axes, keepdims=keepdims)
    if ord == float("-inf"):
        return _min(size, axes, keepdims=keepdims)
    if ord == 0:
        return call("astype", _count_nonzero(size, axes, keepdims=keepdims), name)
    if ord == 1:
        return _sum(size, axes, keepdims=keepdims)
    if ord == 2:
        return elementwise("sqrt", _sum(elementwise("square", size), axes, keepdims=keepdims))
    powers = _sum(elementwise("pow", size, float(ord)), axes, keepdims=keepdims)
    return elementwise("pow", powers, 1.0 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro") -> Array:
    """Norms of the matrices of the last two axes: "fro", 1, -1, inf or -inf. Lazy.

    >>> lt.linalg.matrix_norm(lt.ones((2, 2))).item()
    2.0
    """
    array = as_array(x)
    if array.ndim < 2:
        raise ValueError("matrix_norm requires an array of at least two dimensions")
    if ord in ("fro", None):
        return vector_norm(array, axis=(-2, -1), keepdims=keepdims)
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise _refusal(f"matrix_norm(ord={ord!r})", "lt.linalg", "np.linalg.matrix_norm")
    assert not isinstance(ord, str)
    assert ord is not None
    summed, kept = (-2, -1) if abs(ord) == 1 else (-1, -2)
    sums = _sum(elementwise("abs", array), summed, keepdims=True)
    norms = (_max if ord > 0 else _min)(sums, kept, keepdims=True)
    return norms if keepdims else norms[..., 0, 0]


def matrix_power(x: Any, n: int, /) -> Array:
    """A square matrix multiplied by itself n times, n not negative. Lazy.

    >>> lt.linalg.matrix_power(2 * lt.eye(2), 3).compute().tolist()
    [[8.0, 0.0], [0.0, 8.0]]
    """
    array = as_array(x)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError("Last 2 dimensions of the array must be square")
    if n < 0:
        raise _refusal("matrix_power of a negative power", "lt.linalg", "np.linalg.matrix_power")
    if n == 0:
        one = _where(_equal_places(array.shape[-1]), True, False)
        return call("broadcast_to", call("astype", one, array._core.dtype), array.shape)
    result, power = None, array
    while n:
        if n & 1:
            result = power if result is None else matmul(result, power)
        n >>= 1
        power = matmul(power, power) if n else power
    assert result is not None
    return result


def _equal_places(count: int) -> Array:
    places = call("arange", 0, 1, count, "int64")
    return _expand_dims(places, 1) == places


def __getattr__(name: str) -> Any:
    if name in _LINALG:
        raise _refusal(f"lt.linalg.{name}", "lt.linalg", f"np.linalg.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
