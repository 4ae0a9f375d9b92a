"""The methods of an ndarray that people type, lazy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from . import _functions as _f

if TYPE_CHECKING:
    from .array import Array

_Axis = Any


class Methods:
    """As ndarray's; each gives another lazy array unless it says otherwise."""

    __slots__ = ()

    def sum(self, axis: _Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
        """Sums: ``lt.sum``."""
        return _f.sum(self, axis, dtype, keepdims=keepdims)

    def prod(self, axis: _Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
        """Products: ``lt.prod``."""
        return _f.prod(self, axis, dtype, keepdims=keepdims)

    def mean(self, axis: _Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Array:
        """Means: ``lt.mean``."""
        return _f.mean(self, axis, dtype, keepdims=keepdims)

    def var(self, axis: _Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """Variances: ``lt.var``."""
        return _f.var(self, axis, dtype, correction=ddof, keepdims=keepdims)

    def std(self, axis: _Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Array:
        """Standard deviations: ``lt.std``."""
        return _f.std(self, axis, dtype, correction=ddof, keepdims=keepdims)

    def min(self, axis: _Axis = None, *, keepdims: bool = False) -> Array:
        """Smallest elements: ``lt.min``."""
        return _f.min(self, axis, keepdims=keepdims)

    def max(self, axis: _Axis = None, *, keepdims: bool = False) -> Array:
        """Largest elements: ``lt.max``."""
        return _f.max(self, axis, keepdims=keepdims)

    def any(self, axis: _Axis = None, *, keepdims: bool = False) -> Array:
        """Whether some element is true: ``lt.any``."""
        return _f.any(self, axis, keepdims=keepdims)

    def all(self, axis: _Axis = None, *, keepdims: bool = False) -> Array:
        """Whether each element is true: ``lt.all``."""
        return _f.all(self, axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Where the smallest element is: ``lt.argmin``."""
        return _f.argmin(self, axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Array:
        """Where the largest element is: ``lt.argmax``."""
        return _f.argmax(self, axis, keepdims=keepdims)

    def ptp(self, axis: _Axis = None, *, keepdims: bool = False) -> Array:
        """Largest minus smallest: ``lt.ptp``."""
        return _f.ptp(self, axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> Array:
        """Running sums along an axis, or of all elements: ``lt.cumulative_sum``."""
        return _f.cumulative_sum(_f.ravel(self) if axis is None else self, axis=axis or 0, dtype=dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> Array:
        """Running products along an axis, or of all elements: ``lt.cumulative_prod``."""
        return _f.cumulative_prod(_f.ravel(self) if axis is None else self, axis=axis or 0, dtype=dtype)

    def astype(self, dtype: Any, *, copy: bool = True) -> Array:
        """The elements in another dtype: ``lt.astype``."""
        return _f.astype(self, dtype, copy=copy)

    def reshape(self, *shape: Any, order: Literal["C"] = "C", copy: bool | None = None) -> Array:
        """The elements in C order in another shape: ``lt.reshape``."""
        if order != "C":
            raise ValueError('reshape is in C order: a.T.reshape(…).T is what order="F" would give')
        return _f.reshape(self, shape[0] if len(shape) == 1 else shape, copy=copy)

    def ravel(self) -> Array:
        """All elements on one axis, in C order."""
        return _f.ravel(self)

    def flatten(self) -> Array:
        """All elements on one axis, in C order."""
        return _f.ravel(self)

    def copy(self) -> Array:
        """An array that nobody else can change; in memory, within the budget, only where they could."""
        return _f.asarray(self, copy=True)

    def tolist(self) -> Any:
        """The elements as Python scalars in lists; computed now."""
        return _f.whole(self).tolist()

    def round(self, decimals: int = 0) -> Array:
        """The nearest integers, or numbers of some decimals: ``lt.round``."""
        return _f.round(self, decimals)

    def clip(self, min: Any = None, max: Any = None) -> Array:
        """Elements within bounds: ``lt.clip``."""
        return _f.clip(self, min, max)

    def squeeze(self, axis: _Axis = None) -> Array:
        """Without axes of extent one: ``lt.squeeze``."""
        return _f.squeeze(self, axis)

    def swapaxes(self, axis1: int, axis2: int) -> Array:
        """Two axes exchanged: ``lt.swapaxes``."""
        return _f.swapaxes(self, axis1, axis2)

    def repeat(self, repeats: Any, axis: int | None = None) -> Array:
        """Each element some times: ``lt.repeat``."""
        return _f.repeat(self, repeats, axis=axis)

    def take(self, indices: Any, axis: int | None = None) -> Array:
        """Elements at places along an axis, or among all: ``lt.take``."""
        return _f.take(_f.ravel(self) if axis is None else self, indices, axis=axis)

    def dot(self, other: Any) -> Array:
        """NumPy's dot: ``lt.dot``."""
        return _f.dot(self, other)

    def diagonal(self, offset: int = 0) -> Array:
        """The diagonals of the matrices of the last two axes: ``lt.linalg.diagonal``."""
        from .linalg import diagonal

        return diagonal(self, offset=offset)

    def trace(self, offset: int = 0) -> Array:
        """Sums of diagonals: ``lt.linalg.trace``."""
        from .linalg import trace

        return trace(self, offset=offset)

    def nonzero(self) -> tuple[Array, ...]:
        """Where elements are not zero; computed now: ``lt.nonzero``."""
        return _f.nonzero(self)

    def conj(self) -> Array:
        """Complex conjugates."""
        return _f.conj(self)

    conjugate = conj

    @property
    def real(self) -> Array:
        """Real parts."""
        return _f.real(self)

    @property
    def imag(self) -> Array:
        """Imaginary parts."""
        return _f.imag(self)
