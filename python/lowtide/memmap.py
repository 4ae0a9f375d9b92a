"""lt.memmap, a drop-in for np.memmap with bounded memory, and help for np.memmap objects that cannot be replaced."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from . import _core, _dtypes
from ._index import normalise
from .budget import parse
from .errors import UnsupportedError

_MODES = {"readonly": "r", "readwrite": "r+", "write": "w+", "copyonwrite": "c"}


class memmap:
    """``np.memmap``, one word changed: indexing gives a real ndarray, read now, and memory stays within the budget.

    Like a map it shows what other processes write; unlike a map it never grows, and a truncated file is an error rather
    than a crash. What indexing returns is a copy: write with ``m[i:j] = x`` in mode ``r+`` or ``w+``.

    >>> m = lt.memmap(raw_path, dtype=np.uint16, mode="r")
    >>> m[10:13]
    array([10, 11, 12], dtype=uint16)
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        dtype: Any = np.uint8,
        mode: str = "r+",
        offset: int = 0,
        shape: int | Sequence[int] | None = None,
        order: str = "C",
    ) -> None:
        mode = _MODES.get(mode, mode)
        if mode == "c":
            raise UnsupportedError('mode "c" (copy on write) is not there: open with "r" and keep changes in an array')
        if mode not in ("r", "r+", "w+"):
            raise ValueError(f"mode must be one of 'r', 'r+', 'w+' (got {mode!r})")
        if offset < 0:
            raise ValueError(f"offset must not be negative, but it is {offset}")
        name, big_endian = _dtypes.core_name(dtype)
        extents = None if shape is None else [shape] if isinstance(shape, int | np.integer) else [int(n) for n in shape]
        path = os.fspath(filename)
        if mode == "w+":
            if extents is None:
                raise ValueError("shape must be given if mode == 'w+'")
            itemsize = np.dtype(np.uint16).itemsize if name == "bfloat16" else _dtypes.numpy_dtype(name).itemsize
            with open(path, "wb") as file:
                file.truncate(offset + int(np.prod(extents, dtype=np.int64)) * itemsize)
        core_mode = "r" if mode == "r" else "r+"
        given = [-1] if extents is None else extents
        self._core = _core.open(path, core_mode, name, given, offset, order, big_endian, True)
        self.mode = mode
        self.offset = offset
        self.filename = os.path.abspath(path)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, as in NumPy."""
        return tuple(self._core.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of what is read."""
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
        """Bytes in the file."""
        return self._core.nbytes

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        array = _dtypes.as_result(self._core.read_at(normalise(index)), self._core.dtype)
        return array[()] if array.ndim == 0 else array

    def __setitem__(self, index: Any, values: Any) -> None:
        array, name = _dtypes.as_values(values, self._core.dtype)
        self._core.assign(normalise(index), array, name)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        stream = self._core.blocks(0)
        while (item := stream.next()) is not None:
            yield from _dtypes.as_result(item[1], self._core.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("lt.memmap reads: it cannot be seen as an ndarray without a copy")
        array = np.asarray(self[...])
        return array if dtype is None or array.dtype == dtype else _dtypes.leased_cast(array, dtype)

    def flush(self) -> None:
        """Wait until everything assigned is on disk."""
        self._core.flush()

    def __repr__(self) -> str:
        return f"<lowtide.memmap {self.shape} {self._core.dtype}, mode {self.mode!r}, {self.filename!r}>"


def _mapping_of(array: np.ndarray[Any, Any]) -> tuple[int, int, str, int]:
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    if base is None or getattr(base, "_mmap", None) is None:
        raise TypeError(f"expected an np.memmap (or a view of one), not {type(array).__name__}")
    while isinstance(base.base, np.memmap):
        base = base.base
    if base.filename is None:
        raise ValueError("this np.memmap was made from an open file without a name; open it by its path")
    address = base.__array_interface__["data"][0]
    return address, base.nbytes, str(base.filename), base.offset


def release(array: np.ndarray[Any, Any]) -> int:
    """Give back the pages that an ordinary ``np.memmap`` holds, dirty ones written first; returns the bytes given back.

    The array stays valid: what is touched again is read again.

    >>> mm = np.memmap(raw_path, dtype=np.uint16, mode="r")
    >>> int(mm.sum(dtype=np.int64)), lt.release(mm) >= 0
    (1225, True)
    """
    return _core.release_mapping(*_mapping_of(array))


class Guard:
    """Keeps an ``np.memmap`` under a limit until it is stopped or the map is gone."""

    def __init__(self, array: np.ndarray[Any, Any], limit: int) -> None:
        base: Any = array
        while isinstance(base.base, np.memmap):
            base = base.base
        self._guard = _core.MappingGuard(*_mapping_of(array), limit)
        self.limit = limit
        # Runs before the map is unmapped: advice must never reach memory that has become someone else's.
        self._finalizer = weakref.finalize(base._mmap, self._guard.stop)

    @property
    def released(self) -> int:
        """Bytes given back so far."""
        return self._guard.released_bytes

    def stop(self) -> None:
        """Stop watching."""
        self._finalizer()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def guard(array: np.ndarray[Any, Any], limit: int | str = "512MiB") -> Guard:
    """Keep an ordinary ``np.memmap``'s residency under a limit, in the background, from now on.

    A thread without the GIL looks 200 times a second; between two looks a fast disk can bring in some tens of MiB more.

    >>> with lt.guard(mm, limit="64MiB"):
    ...     int(mm.sum(dtype=np.int64))
    1225
    """
    return Guard(array, parse(limit))
