"""lt.Array: an array in a file, lazy to index, read within the budget."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import _core, _dtypes
from ._index import normalise


class Array:
    """An array on disk. Indexing gives another Array and reads nothing; ``compute``, ``read`` and ``blocks`` read.

    >>> a = lt.open(path)
    >>> a[10:20, ::-1].shape
    (10, 4)
    >>> a.read([0, -1]).shape
    (2, 4)
    """

    __slots__ = ("__weakref__", "_core", "_recipe")
    __array_priority__ = 1000

    def __init__(self, core: _core.Array, recipe: tuple[Any, ...] | None = None) -> None:
        self._core = core
        self._recipe = recipe  # how to make it again in another process: what _core.open takes, then (method, argument)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, as in NumPy."""
        return tuple(self._core.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of what is read (native byte order, whatever the file's)."""
        return _dtypes.numpy_dtype(self._core.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._core.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._core.size

    @property
    def nbytes(self) -> int:
        """Bytes of the whole selection when read."""
        return self._core.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return 2 if self._core.dtype == "bfloat16" else self.dtype.itemsize

    @property
    def path(self) -> str:
        """The file."""
        return self._core.path

    @property
    def T(self) -> Array:
        """The transposed view."""
        return self.transpose()

    def transpose(self, *axes: int) -> Array:
        """A view with the axes permuted, or reversed when none are given."""
        if not axes:
            return self._then("transpose", list(range(self.ndim))[::-1])
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return self._then("transpose", list(normalize_axis_tuple(order, self.ndim)))

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Array:
        return self._then("index", normalise(index))

    def _then(self, method: str, argument: Any) -> Array:
        # What is as large as the data, an array of indices, is not kept: nothing would pay for it.
        plain = all(part is None or part is Ellipsis or isinstance(part, int | slice) for part in argument)
        recipe = (*self._recipe, (method, argument)) if self._recipe and plain else None
        return Array(getattr(self._core, method)(argument), recipe)

    def __reduce__(self) -> Any:
        if self._recipe is None:
            raise TypeError(
                "an array indexed by an array cannot be pickled: pickle what it came from, and index that again"
            )
        return _made_again, (self._recipe,)

    def __setitem__(self, index: Any, values: Any) -> None:
        if isinstance(values, Array):
            values = values.compute()
        array, name = _dtypes.as_values(values, self._core.dtype)
        self._core.assign(normalise(index), array, name)

    def read(self, index: Any = Ellipsis) -> np.ndarray[Any, Any]:
        """Read a selection now: the same as ``a[index].compute()``, in one batch of IO.

        >>> a.read(slice(0, 2)).shape
        (2, 4)
        """
        return self._result(self._core.read_at(normalise(index)))

    def compute(self) -> np.ndarray[Any, Any]:
        """The whole selection as an ndarray. Its bytes count against the budget until it is garbage collected.

        Raises BudgetError, before anything is read, if they do not fit.
        """
        return self._result(self._core.read())

    def _result(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return _dtypes.as_result(array, self._core.dtype)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Yield ``(start, rows)`` along axis 0, read ahead within the budget.

        >>> sum(len(block) for _, block in a.blocks()) == len(a)
        True
        """
        if rows is not None and rows < 1:
            raise ValueError(f"blocks(rows={rows}): rows must be positive; leave it out to let the budget choose")
        return self._blocks(self._core.blocks(rows or 0))

    def _blocks(self, stream: _core.Blocks) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        while (item := stream.next()) is not None:
            start, block = item
            del item
            yield start, self._result(block)
            del block  # so that its memory can be filled again

    def item(self) -> Any:
        """The one element, as a Python scalar."""
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.compute().item()

    def flush(self) -> None:
        """Wait until everything assigned is on disk."""
        self._core.flush()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array on disk cannot be seen as an ndarray without a copy")
        array = self.compute()
        return array if dtype is None or array.dtype == dtype else _dtypes.leased_cast(array, dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.compute().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        return bool(self.item())

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        for _, block in self.blocks():
            yield from block  # a row keeps its block, and with it the block's lease

    def _facts(self) -> list[tuple[str, str]]:
        order = {"C": "C order", "F": "Fortran order"}[self._core.order]
        return [
            ("file", self.path),
            ("shape", str(self.shape)),
            ("dtype", self._core.dtype),
            ("bytes", _core.format_bytes(self.nbytes)),
            ("stored as", f"{self._core.format}, {order}{', big-endian' if self._core.big_endian else ''}"),
            ("IO", self._core.io_mode),
            ("least budget", _core.format_bytes(self._core.least_budget)),
            ("read whole in", _core.format_bytes(self.nbytes + (2 << 20))),
        ]

    def __repr__(self) -> str:
        facts = dict(self._facts())
        return f"<lowtide.Array {self.shape} {self._core.dtype}, {facts['bytes']}, {facts['stored as']}, {self.path!r}>"

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        rows = "".join(
            f"<tr><th {left}>{html.escape(key)}</th><td {left}>{html.escape(value)}</td></tr>"
            for key, value in self._facts()
        )
        return f"<table><caption>lowtide.Array</caption>{rows}</table>"


def _made_again(recipe: tuple[Any, ...]) -> Array:
    """An array in another process."""
    opened, *steps = recipe
    core = _core.open(*opened)
    for method, argument in steps:
        core = getattr(core, method)(argument)
    return Array(core, recipe)
