"""Opening, creating and saving array files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal

import numpy as np

from . import _core, _dtypes
from ._core import Writer as CoreWriter
from ._mapped import Mapped
from ._on_disk import Assignable, OnDisk
from ._types import DTypeLike, Format, Order, PathLike, Progress, Values
from .array import Array
from .errors import UnsupportedError
from .progress import reporter


def open(
    path: PathLike,
    mode: Literal["r", "r+"] = "r",
    *,
    dtype: DTypeLike | None = None,
    shape: int | Sequence[int] | None = None,
    offset: int = 0,
    order: Order | None = None,
    key: str | None = None,
) -> Array:
    """Open an array file. The format is told from its content, not from its name.

    A file without a header needs ``dtype`` (and, unless it is one-dimensional, ``shape``, with at most one -1;
    ``order`` is "C" unless said). What is said of a file with a header must agree with it. ``key`` names one array
    in a file or folder that holds many; no such format can be opened yet. At the end of a ``with`` block everything
    assigned is on disk.

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
    core = _core.open(os.fsdecode(path), *options, key)
    return Array._of_file(core, (core.absolute_path, *options))


class Writer(Assignable):
    """A new array file that appears under its name, whole, when it is closed; an exception leaves nothing behind.

    >>> with lt.create(new_path, shape=(0, 3), dtype="f4") as w:
    ...     w.append(np.ones((2, 3)))
    >>> lt.open(new_path).shape
    (2, 3)
    """

    __slots__ = ("_core",)
    _core: CoreWriter

    def __init__(self, core: CoreWriter) -> None:
        self._core = core

    @property
    def path(self) -> str:
        """Where the file will appear."""
        return self._core.path

    @property
    def closed(self) -> bool:
        """Whether the file was committed or discarded."""
        return self._core.closed

    def append(self, rows: Values) -> None:
        """Add rows (or one row) at the end of axis 0."""
        array, name = self._values(rows)
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
    path: PathLike,
    shape: int | Sequence[int],
    dtype: DTypeLike = "float64",
    *,
    order: Order = "C",
    format: Format | None = None,
    overwrite: bool = False,
) -> Writer:
    """Begin a new array file: ``w[i:j] = block``, ``w.append(rows)``, then ``w.close()`` or the end of ``with``.

    A shape that begins with 0 is grown by ``append``. Elements that are never written are zero.

    >>> with lt.create(new_path, shape=(4, 2), dtype="int32") as w:
    ...     w[1:3] = [[1, 2], [3, 4]]
    >>> lt.open(new_path).read().tolist()
    [[0, 0], [1, 2], [3, 4], [0, 0]]
    """
    extents = _extents(shape)
    name = _little(dtype)
    return Writer(_core.create(os.fsdecode(path), extents, name, order, format, overwrite))


def save(
    path: PathLike,
    x: OnDisk | Values,
    *,
    progress: Progress = None,
    resume: bool = False,
    overwrite: bool = False,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    format: Format | None = None,
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
    with reporter(progress, os.fsdecode(path)) as report:
        if isinstance(x, Mapped):
            _save_blocks(os.fsdecode(path), x, name, order, format, overwrite, report)
        elif isinstance(x, OnDisk):
            _core.save_array(os.fsdecode(path), x._core, name, order, format, overwrite, report)
        else:
            values, values_name = _dtypes.as_values(x)
            _core.save_values(os.fsdecode(path), values, values_name, name, order, format, overwrite, report)


def _save_blocks(
    path: str, x: Mapped, name: str | None, order: Order, format: Format | None, overwrite: bool, report: Any
) -> None:
    """What a Python function makes, as it makes it."""
    with Writer(_core.create(path, list(x.shape), name or x._name, order, format, overwrite)) as writer:
        for start, block in x.blocks():
            writer[start : start + len(block)] = block
            if report is not None:
                report((start + len(block)) * (x.nbytes // x.shape[0]), x.nbytes)
            del block


def _extents(shape: int | Sequence[int]) -> list[int]:
    return [int(shape)] if isinstance(shape, int | np.integer) else [int(n) for n in shape]


def _little(dtype: Any) -> str:
    name, big_endian = _dtypes.core_name(dtype)
    if big_endian:
        raise UnsupportedError(f"new files are little-endian: use dtype={name!r}")
    return name
