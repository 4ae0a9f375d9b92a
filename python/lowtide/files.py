"""Opening, creating and saving array files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from . import _core, _dtypes
from ._index import normalise
from .array import Array
from .errors import UnsupportedError
from .progress import reporter

Progress = bool | Callable[[int, int], None] | None


def open(
    path: str | os.PathLike[str],
    mode: str = "r",
    *,
    dtype: Any = None,
    shape: int | Sequence[int] | None = None,
    offset: int = 0,
    order: str = "C",
) -> Array:
    """Open an array file. The format is told from its content, not from its name.

    A file without a header needs ``dtype`` (and, unless it is one-dimensional, ``shape``, with at most one -1).

    >>> lt.open(path).shape
    (100, 4)
    >>> lt.open(raw_path, dtype="uint16", shape=(-1, 10)).shape
    (5, 10)
    """
    if mode not in ("r", "r+"):
        raise ValueError(f'mode must be "r" or "r+", not {mode!r}; new files are made by lt.create and lt.save')
    name, big_endian = (None, False) if dtype is None else _dtypes.core_name(dtype)
    if offset < 0:
        raise ValueError(f"offset must not be negative, but it is {offset}")
    extents = None if shape is None else _extents(shape)
    options = (mode, name, extents, offset, order, big_endian, False)
    core = _core.open(os.fspath(path), *options)
    return Array(core, ((core.path, *options),))


class Writer:
    """A new array file that appears under its name, whole, when it is closed; an exception leaves nothing behind.

    >>> with lt.create(new_path, shape=(0, 3), dtype="f4") as w:
    ...     w.append(np.ones((2, 3)))
    >>> lt.open(new_path).shape
    (2, 3)
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Writer) -> None:
        self._core = core

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents so far: append() grows the first."""
        return tuple(self._core.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the file; what is written is cast to it."""
        return _dtypes.numpy_dtype(self._core.dtype)

    @property
    def path(self) -> str:
        """Where the file will appear."""
        return self._core.path

    @property
    def closed(self) -> bool:
        """Whether the file was committed or discarded."""
        return self._core.closed

    def __setitem__(self, index: Any, values: Any) -> None:
        array, name = _dtypes.as_values(values.compute() if isinstance(values, Array) else values, self._core.dtype)
        self._core.assign(normalise(index), array, name)

    def append(self, rows: Any) -> None:
        """Add rows (or one row) at the end of axis 0."""
        array, name = _dtypes.as_values(rows.compute() if isinstance(rows, Array) else rows, self._core.dtype)
        self._core.append(array, name)

    def close(self) -> None:
        """Commit: everything is on disk, then the name appears."""
        self._core.close()

    def discard(self) -> None:
        """Give up: nothing appears."""
        self._core.discard()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "not yet on disk"
        return f"<lowtide.Writer {self.shape} {self._core.dtype} {self.path!r}, {state}>"


def create(
    path: str | os.PathLike[str],
    shape: int | Sequence[int],
    dtype: Any = "float64",
    *,
    order: str = "C",
    format: str | None = None,
    overwrite: bool = False,
) -> Writer:
    """Begin a new array file: ``w[i:j] = block``, ``w.append(rows)``, then ``w.close()`` or the end of ``with``.

    A shape that begins with 0 is grown by ``append``. Elements that are never written are zero.
    """
    extents = _extents(shape)
    name = _little(dtype)
    return Writer(_core.create(os.fspath(path), extents, name, order, format, overwrite))


def save(
    path: str | os.PathLike[str],
    x: Any,
    *,
    progress: Progress = None,
    resume: bool = False,
    overwrite: bool = False,
    dtype: Any = None,
    order: str = "C",
    format: str | None = None,
) -> None:
    """Write an array to a new file, streamed within the budget; atomic and synced.

    ``progress=True`` draws a bar on a terminal; a callable gets ``(done_bytes, total_bytes)``. ``dtype`` casts.

    >>> lt.save(new_path, a[::2], dtype="f4")
    >>> lt.open(new_path).shape
    (50, 4)
    """
    if resume:
        raise UnsupportedError("resume=True is not there yet: a save that was stopped starts again from the beginning")
    name = None if dtype is None else _little(dtype)
    with reporter(progress, os.fspath(path)) as report:
        if isinstance(x, Array):
            _core.save_array(os.fspath(path), x._core, name, order, format, overwrite, report)
        else:
            values, values_name = _dtypes.as_values(x)
            _core.save_values(os.fspath(path), values, values_name, name, order, format, overwrite, report)


def _extents(shape: int | Sequence[int]) -> list[int]:
    return [int(shape)] if isinstance(shape, int | np.integer) else [int(n) for n in shape]


def _little(dtype: Any) -> str:
    name, big_endian = _dtypes.core_name(dtype)
    if big_endian:
        raise UnsupportedError(f"new files are little-endian: use dtype={name!r}")
    return name
