"""What lt.Array, lt.memmap and lt.Writer share, and what of an ndarray the first two have, read within the budget."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _dtypes
from ._core import Array as CoreArray
from ._core import Blocks
from ._core import Writer as CoreWriter
from ._index import normalise
from ._types import Index, Values

if TYPE_CHECKING:
    from typing_extensions import Self


class Assignable:
    """Elements in a file, or in one that is being made."""

    __slots__ = ()
    _core: CoreArray | CoreWriter

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, as in NumPy; append() of a Writer grows the first."""
        return tuple(self._core.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of what is read (native byte order, whatever the file's); what is written is cast to it."""
        return _dtypes.numpy_dtype(self._core.dtype)

    def _values(self, values: Any) -> tuple[Any, str]:
        return _dtypes.as_values(values.to_numpy() if isinstance(values, OnDisk) else values, self._core.dtype)

    def __setitem__(self, index: Index, values: Values) -> None:
        array, name = self._values(values)
        self._core.assign(normalise(index), array, name)


class OnDisk(Assignable):
    """An array in a file."""

    __slots__ = ()
    _core: CoreArray

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
        """Bytes of all elements when read."""
        return self._core.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _dtypes.itemsize(self._core.dtype)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """All of it as an ndarray in memory that the budget pays for until it is garbage collected."""
        return _dtypes.as_result(self._core.read(), self._core.dtype)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Yield ``(start, rows)`` along axis 0, read ahead within the budget.

        >>> sum(len(block) for _, block in a.blocks()) == len(a)
        True
        """
        if rows is not None and rows < 1:
            raise ValueError(f"blocks(rows={rows}): rows must be positive; leave it out to let the budget choose")
        return self._blocks(self._core.blocks(rows or 0))

    def _blocks(self, stream: Blocks) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        while (item := stream.next()) is not None:
            start, block = item
            del item
            yield start, _dtypes.as_result(block, self._core.dtype)
            del block  # so that its memory can be filled again

    def flush(self) -> None:
        """Wait until everything assigned is on disk."""
        self._core.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()

    def __contains__(self, value: Any) -> bool:
        if self.ndim == 0:
            return bool(self.to_numpy() == value)
        return any(bool(np.any(block == value)) for _, block in self.blocks())

    def __arrow_array__(self, type: Any = None) -> Any:
        import pyarrow

        return pyarrow.array(self.to_numpy(), type=type)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if copy is False:
            raise BufferError("what is read or computed is a copy: it cannot be exported without one")
        return self.to_numpy().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def _only(self) -> Any:
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.to_numpy().item()

    def __float__(self) -> float:
        return float(self._only())

    def __int__(self) -> int:
        return int(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        return bool(self._only())

    def __index__(self) -> int:
        if self.ndim != 0 or self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self._only())

    def __format__(self, spec: str) -> str:
        return format(self._only(), spec) if self.ndim == 0 and spec else object.__format__(self, spec)
