"""Products of matrices and of vectors, all by matmul; lazy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .._expression import as_array, call, elementwise, result_type
from .shapes import broadcast_shapes, broadcast_to, moveaxis, permute_dims, ravel, reshape

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "dot",
    "einsum",
    "kron",
    "matmul",
    "outer",
    "tensordot",
    "vecdot",
]


def _same_dtype(x1: Any, x2: Any) -> tuple[Array, Array]:
    one, other = as_array(x1), as_array(x2)
    name = result_type(one, other)
    a, b = (x if x._core.dtype == name else call("astype", x, name) for x in (one, other))
    return a, b


def matmul(x1: Any, x2: Any, /) -> Array:
    """Matrix products of the last two axes; a vector counts as a row on the left, as a column on the right. Lazy.

    >>> lt.matmul(a, lt.ones((4, 2))).shape
    (100, 2)
    """
    a, b = _same_dtype(x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    left = reshape(a, (1, *a.shape)) if a.ndim == 1 else a
    right = reshape(b, (*b.shape, 1)) if b.ndim == 1 else b
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {right.shape[-2]} is different from {left.shape[-1]})"
        )
    product = call("matmul", left, right)
    shape = list(product.shape)
    if b.ndim == 1:
        del shape[-1]
    if a.ndim == 1:
        del shape[-1 if b.ndim == 1 else -2]
    return product if a.ndim > 1 and b.ndim > 1 else reshape(product, shape)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Scalar products along an axis, the first vectors conjugated. Lazy.

    >>> lt.vecdot(a, a)[:2].compute().tolist()
    [14.0, 126.0]
    """
    a, b = _same_dtype(x1, x2)
    if a.ndim == 0 or b.ndim == 0:
        raise ValueError("vecdot: Input operand does not have enough dimensions")
    for array in (a, b):
        normalize_axis_index(axis, array.ndim)
    if a.shape[axis] != b.shape[axis]:
        raise ValueError(f"vecdot: the vectors have {a.shape[axis]} and {b.shape[axis]} elements")
    one, other = moveaxis(a, axis, -1), moveaxis(b, axis, -1)
    product = elementwise("conj", one) * other if a.dtype.kind == "c" else one * other
    return call("reduce", "any" if a.dtype.kind == "b" else "sum", product, [product.ndim - 1], False, _kept(a), 0.0)


def _kept(a: Array) -> str | None:
    return None if a.dtype.kind == "b" else str(a._core.dtype)


def tensordot(x1: Any, x2: Any, /, axes: int | Sequence[int | Sequence[int]] = 2) -> Array:
    """Products summed over some axes of both. Lazy.

    >>> lt.tensordot(a, a, axes=((0,), (0,))).shape
    (4, 4)
    """
    a, b = _same_dtype(x1, x2)
    if isinstance(axes, int):
        if axes > min(a.ndim, b.ndim):
            raise ValueError("shape-mismatch for sum")
        left, right = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        left = normalize_axis_tuple(axes[0], a.ndim)
        right = normalize_axis_tuple(axes[1], b.ndim)
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise ValueError("shape-mismatch for sum")
    rows = [i for i in range(a.ndim) if i not in left]
    columns = [i for i in range(b.ndim) if i not in right]
    summed = math.prod(a.shape[i] for i in left)
    first = reshape(permute_dims(a, (*rows, *left)), (math.prod(a.shape[i] for i in rows), summed))
    second = reshape(permute_dims(b, (*right, *columns)), (summed, math.prod(b.shape[i] for i in columns)))
    shape = (*(a.shape[i] for i in rows), *(b.shape[i] for i in columns))
    return reshape(call("matmul", first, second), shape)


def dot(x1: Any, x2: Any, /) -> Array:
    """NumPy's dot: of vectors a scalar product, of matrices matmul. Lazy.

    >>> lt.dot(lt.asarray([1, 2]), lt.asarray([3, 4])).item()
    11
    """
    a, b = as_array(x1), as_array(x2)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    return matmul(a, b) if b.ndim <= 2 and a.ndim <= 2 else tensordot(a, b, ((-1,), (-2 if b.ndim > 1 else 0,)))


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of the elements of two vectors. Lazy.

    >>> lt.outer(lt.arange(2), lt.arange(3)).shape
    (2, 3)
    """
    a, b = ravel(x1), ravel(x2)
    return reshape(a, (a.size, 1)) * reshape(b, (1, b.size))


def einsum(subscripts: str, /, *operands: Any) -> Array:
    """Einstein's sums of one or two arrays, without an index twice in one of them. Lazy.

    >>> lt.einsum("ij,kj->ik", a[:3], a[:2]).shape
    (3, 2)
    """
    from ..errors import UnsupportedError

    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ValueError("einsum: as many subscripts as operands are needed")
    twice = any(len(set(term)) != len(term) for term in terms)
    if len(terms) > 2 or twice or "." in subscripts:
        raise UnsupportedError(
            f"einsum({subscripts!r}): lowtide has one or two operands, no index twice in one, and no ellipsis. "
            "Combine more of them two by two, or np.einsum over x.compute() where they fit"
        )
    if not arrow:
        output = "".join(sorted(i for i in set(inputs) - {","} if inputs.count(i) == 1))
    if len(set(output)) != len(output) or not set(output) <= set(inputs):
        raise ValueError(f"einsum: {output!r} is no choice of the indices in {inputs!r}")
    given = [as_array(x) for x in operands]
    for term, array in zip(terms, given, strict=True):
        if len(term) != array.ndim:
            raise ValueError(f"einsum: {term!r} for an array of {array.ndim} axes")
    if len(given) == 1:
        return _ordered(*_summed(given[0], terms[0], output), output)
    return _contracted(given, terms, output)


def _summed(array: Array, term: str, wanted: str) -> tuple[Array, str]:
    gone = [i for i, name in enumerate(term) if name not in wanted]
    if not gone:
        return array, term
    name = array._core.dtype
    return call("reduce", "sum", array, gone, False, name, 0.0), "".join(i for i in term if i in wanted)


def _ordered(array: Array, term: str, output: str) -> Array:
    return permute_dims(array, [term.index(i) for i in output])


def _contracted(given: list[Array], terms: list[str], output: str) -> Array:
    a, left = _summed(given[0], terms[0], terms[1] + output)
    b, right = _summed(given[1], terms[1], terms[0] + output)
    size: dict[str, int] = {}
    for term, array in ((left, a), (right, b)):
        for name, extent in zip(term, array.shape, strict=True):
            if size.setdefault(name, extent) != extent:
                raise ValueError(f"einsum: index {name!r} has extents {size[name]} and {extent}")
    both = [i for i in left if i in right and i in output]
    summed = [i for i in left if i in right and i not in output]
    rows, columns = ([i for i in term if i not in other] for term, other in ((left, right), (right, left)))
    counts = [math.prod(size[i] for i in names) for names in (both, rows, summed, columns)]
    first = reshape(_ordered(a, left, "".join(both + rows + summed)), (counts[0], counts[1], counts[2]))
    second = reshape(_ordered(b, right, "".join(both + summed + columns)), (counts[0], counts[2], counts[3]))
    order = both + rows + columns
    product = reshape(matmul(first, second), [size[i] for i in order])
    return _ordered(product, "".join(order), output)


def kron(x1: Any, x2: Any, /) -> Array:
    """Kronecker products. Lazy.

    >>> lt.kron(lt.eye(2), lt.ones((1, 2))).shape
    (2, 4)
    """
    a, b = as_array(x1), as_array(x2)
    ndim = max(a.ndim, b.ndim)
    one, other = ((1,) * (ndim - x.ndim) + x.shape for x in (a, b))
    apart = [n for extent in one for n in (extent, 1)], [n for extent in other for n in (1, extent)]
    product = reshape(a, apart[0]) * reshape(b, apart[1])
    return reshape(product, [m * n for m, n in zip(one, other, strict=True)])


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Cross products of vectors of three. Lazy.

    >>> lt.linalg.cross(lt.asarray([1, 0, 0]), lt.asarray([0, 1, 0])).compute().tolist()
    [0, 0, 1]
    """
    from .joining import stack

    a, b = (moveaxis(x, axis, -1) for x in _same_dtype(x1, x2))
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    shape = broadcast_shapes(a.shape, b.shape)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return stack(parts, axis=axis)
