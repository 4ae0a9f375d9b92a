"""What lt.map_blocks gives: an array that a Python function makes, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from . import _core, _dtypes, _recipe
from .array import Array
from .budget import pickled

_SHARE = 16  # of the budget: one block of all that is read and made


class Mapped(Array):
    """Rows that a function makes of the same rows of other arrays."""

    __slots__ = ("_function", "_given", "_made", "_name", "_rows", "_shape")

    def __init__(
        self, function: Callable[..., Any], given: Sequence[Any], shape: Sequence[int], name: str, rows: int | None
    ) -> None:
        self._function, self._given, self._rows = function, tuple(given), rows
        self._shape, self._name = tuple(shape), name
        self._made: tuple[_core.Array, _recipe.Recipe] | None = None

    def _whole(self) -> tuple[_core.Array, _recipe.Recipe]:
        """Computed, once, for those who need more than blocks of it."""
        if self._made is None:
            self._made = _recipe.memory(self.to_numpy(), owned=True)
        return self._made

    @property
    def _core(self) -> Any:
        return self._whole()[0]

    @_core.setter
    def _core(self, core: Any) -> None:
        assert self._made is not None
        self._made = (core, self._made[1])

    @property
    def _recipe(self) -> Any:
        return self._whole()[1]

    @_recipe.setter
    def _recipe(self, recipe: Any) -> None:
        assert self._made is not None
        self._made = (self._made[0], recipe)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, as in NumPy."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of what is made."""
        return _dtypes.numpy_dtype(self._name)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self._shape:
            count *= extent
        return count

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _dtypes.itemsize(self._name)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """All of it as an ndarray in memory that the budget pays for until it is garbage collected."""
        if self._made is not None:
            return super().to_numpy()
        result = _dtypes.as_result(_core.empty(self._shape, self._name), self._name)
        for start, block in self._streamed(self._rows):
            result[start : start + len(block)] = block
            del block
        return result

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Yield ``(start, rows)`` along axis 0, made as they are wanted."""
        if rows is not None and rows < 1:
            raise ValueError(f"blocks(rows={rows}): rows must be positive; leave it out to let the budget choose")
        return super().blocks(rows) if self._made is not None else self._streamed(rows or self._rows)

    def _streamed(self, rows: int | None) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        count = self._shape[0]
        at_once = rows or self._rows_at_once()
        streams = [x.blocks(at_once) if isinstance(x, Array) and x.ndim else None for x in self._given]
        others = [x.compute() if isinstance(x, Array) and not x.ndim else x for x in self._given]
        for start in range(0, count, at_once):
            pieces = [x if s is None else next(s)[1] for s, x in zip(streams, others, strict=True)]
            made = np.asarray(self._function(*pieces))
            del pieces
            expected = (min(at_once, count - start), *self._shape[1:])
            if made.shape != expected:
                raise ValueError(f"map_blocks: the function made {made.shape} of {expected[0]} rows, not {expected}")
            dtype = self.dtype
            yield start, made if made.dtype == dtype else made.astype(dtype)
            del made

    def _rows_at_once(self) -> int:
        row_bytes = sum(x.nbytes // max(1, x.shape[0]) for x in self._given if isinstance(x, Array) and x.ndim)
        row_bytes += self.nbytes // max(1, self._shape[0])
        return max(1, _core.budget() // _SHARE // max(1, row_bytes))

    def __reduce__(self) -> Any:
        return pickled(Mapped, self._function, self._given, self._shape, self._name, self._rows)

    def __dask_tokenize__(self) -> Any:
        return (self._function, self._given, self._shape, self._name)

    def __copy__(self) -> Array:
        return Mapped(self._function, self._given, self._shape, self._name, self._rows)

    def _facts(self) -> list[tuple[str, str]]:
        name = getattr(self._function, "__name__", None) or getattr(
            getattr(self._function, "func", None), "__name__", "a function"
        )
        return [
            ("is", f"map_blocks of {name}"),
            ("shape", str(self._shape)),
            ("dtype", self._name),
            ("bytes", _core.format_bytes(self.nbytes)),
        ]

    def __repr__(self) -> str:
        facts = dict(self._facts())
        return f"<lowtide.Array {self._shape} {self._name}, {facts['bytes']}, {facts['is']}>"
