"""lt.memmap, a drop-in for np.memmap with bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, SupportsIndex

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.lib.stride_tricks import as_strided

from . import _core, _dtypes
from ._core import BufferExporter  # type: ignore[attr-defined]
from ._identity import Identity, Opened, identity, open_again
from ._index import is_basic, normalise
from ._memmap_file import extents_of, mode_of, prepare
from ._memmap_part import memmap_part, part_of
from ._on_disk import OnDisk

_MODE = Literal["r", "r+", "w+", "readonly", "readwrite", "write"]
# What an ndarray does and lt.memmap has no better way for is done by the elements, read within the budget.
_OF_NDARRAY = {name for name in dir(np.ndarray) if not name.startswith("_")} - {"base", "ctypes", "setflags"}
_STREAMED = {"all", "any", "max", "min", "sum"}


class memmap(OnDisk, NDArrayOperatorsMixin, BufferExporter):  # type: ignore[misc]
    """``np.memmap``, one word changed: indexing gives a real ndarray, read now, and memory stays within the budget.

    Like a map it shows what other processes write; unlike a map it never grows, and a truncated file is an error rather
    than a crash. What indexing returns is a copy: read-only in mode ``r``; in ``r+`` and ``w+`` its assignments go
    to the file. A slice larger than half of the budget is another lt.memmap, which reads nothing until it is indexed.

    >>> m = lt.memmap(raw_path, dtype=np.uint16, mode="r")
    >>> m[10:13]
    array([10, 11, 12], dtype=uint16)
    >>> int((m == 5).sum())
    1
    """

    __hash__ = None  # type: ignore[assignment]
    _core: _core.Array
    _opened: Opened
    _steps: tuple[tuple[str, Any], ...]
    _strides: tuple[int, ...]
    _plain: bool = False  # of a dtype that NumPy has
    mode: str
    offset: int
    filename: str | Path | None

    def __init__(
        self,
        filename: str | bytes | os.PathLike[str] | IO[Any],
        dtype: Any = np.uint8,
        mode: _MODE = "r+",
        offset: int = 0,
        shape: int | Sequence[int] | None = None,
        order: Literal["C", "F"] = "C",
    ) -> None:
        self.mode = mode_of(mode)
        if offset < 0:
            raise ValueError(f"offset must not be negative, but it is {offset}")
        name, big_endian = _dtypes.core_name(dtype)
        extents = extents_of(shape)
        path, self.filename = prepare(filename, self.mode, offset, extents, _dtypes.itemsize(name))
        given = [-1] if extents is None else extents
        options = ("r" if self.mode == "r" else "r+", name, given, offset, order, big_endian, True)
        self._core = _core.open(path, *options)
        self._plain = name != "bfloat16"
        self._opened = (self._core.absolute_path, *options)
        self._steps = ()
        self._strides = _dense_strides(self.shape, self.itemsize, order)
        self.offset = offset

    def _then(self, method: str, argument: Any) -> memmap:
        view = memmap.__new__(memmap)
        view._core = getattr(self._core, method)(argument)
        view._opened, view._steps = self._opened, (*self._steps, (method, argument))
        phantom = self._phantom()
        view._strides = (phantom[argument] if method == "index" else phantom.transpose(argument)).strides
        view._described_as(self)
        return view

    def _described_as(self, other: memmap) -> None:
        self.mode, self.offset, self.filename, self._plain = other.mode, other.offset, other.filename, other._plain

    # Of the same shape and strides, never looked into.
    def _phantom(self) -> np.ndarray[Any, Any]:
        return as_strided(np.empty(1, self.dtype), self.shape, self._strides, writeable=self._core.writable)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis, in the file."""
        return self._strides

    @property
    def flags(self) -> Any:
        """As NumPy's, of the file's layout."""
        return self._phantom().flags

    @property
    def base(self) -> None:
        """None: what is read is a copy."""
        return None

    @property
    def T(self) -> memmap:
        """The transposed view; reads nothing."""
        return self.transpose()

    def transpose(self, *axes: Any) -> memmap:
        """A view with the axes permuted, or reversed when none are given; reads nothing."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        whole = [n % self.ndim for n in order] if order else list(range(self.ndim))[::-1]
        self._phantom().transpose(whole)  # NumPy's words for what is wrong
        return self._then("transpose", whole)

    def reshape(self, *shape: Any, order: Literal["C"] = "C") -> Any:
        """The elements in another shape: a view that reads nothing where the file is in C order and whole."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if self._steps or self._opened[5] != "C" or order != "C":
            return self._read_only().reshape(wanted, order=order)
        extents = np.broadcast_to(np.int8(0), self.size).reshape(wanted).shape
        view = memmap.__new__(memmap)
        view._opened = (*self._opened[:3], list(extents), *self._opened[4:])
        view._core, view._steps = _core.open(*view._opened), ()
        view._strides = _dense_strides(extents, self.itemsize, "C")
        view._described_as(self)
        return view

    def __getitem__(self, index: Any) -> Any:
        if self._plain and (element := self._core.element(index)) is not None:
            return element
        indices = normalise(index)
        basic = is_basic(indices)
        if basic and _too_large(self._core):
            part = self._core.index(indices)
            if part.ndim > 0 and _too_large(part):
                return self._then("index", indices)
        array = _dtypes.as_result(self._core.read_at(indices), self._core.dtype)
        if array.ndim == 0:
            return array[()]
        return self._given(array, indices) if basic else array

    # As NumPy's views are: read-only, or written through.
    def _given(self, array: np.ndarray[Any, Any], indices: tuple[Any, ...]) -> np.ndarray[Any, Any]:
        if self._core.writable:
            part = part_of(array, self._core.index(indices))
            part.filename, part.mode, part.offset = self.filename, self.mode, self.offset
            return part
        array.flags.writeable = False
        return array

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        for start, block in self.blocks():
            if self.ndim == 1:
                yield from block
            else:
                for i, row in enumerate(block):
                    yield self._given(row, (start + i,))

    def fill(self, value: Any) -> None:
        """Set every element."""
        self[...] = value

    def item(self, *index: SupportsIndex) -> Any:
        """One element as a Python scalar: the only one, or that at a flat or full index."""
        if not index:
            return self._only()
        place = np.unravel_index(int(index[0]), self.shape) if len(index) == 1 and self.ndim != 1 else index
        return self[tuple(place)].item()

    def copy(self, order: str = "C") -> np.ndarray[Any, Any]:
        """All of it in memory, writable."""
        return self.to_numpy()

    def __copy__(self) -> np.ndarray[Any, Any]:
        return self.to_numpy()

    def __deepcopy__(self, memo: Any) -> np.ndarray[Any, Any]:
        return self.to_numpy()

    def _read_only(self) -> np.ndarray[Any, Any]:
        array = self.to_numpy()
        array.flags.writeable = False
        return array

    _exported = _read_only  # for the buffer protocol

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("lt.memmap reads: it cannot be seen as an ndarray without a copy")
        array = self.to_numpy() if copy else self._read_only()
        return array if dtype is None or array.dtype == dtype else _dtypes.leased_cast(array, dtype)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self.dtype.kind not in "biufc":
            raise AttributeError("bfloat16 has no array interface")
        # No "data": whoever wants the elements asks for the buffer, which lives as long as it is held.
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "strides": None, "data": None}

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.pop("out", ())
        if any(isinstance(x, memmap) for x in outs):
            if len(outs) == 1 and method == "__call__" and ufunc.signature is None and not options:
                return _stream_into(outs[0], ufunc, inputs)
            raise TypeError(f"np.{ufunc.__name__}.{method} cannot write into an lt.memmap: m[...] = its result does")
        given = [x._read_only() if isinstance(x, memmap) else x for x in inputs]
        return getattr(ufunc, method)(*given, **({"out": outs} if outs else {}), **options)

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_NDARRAY:
            raise AttributeError(f"lt.memmap has no attribute {name!r}")
        if name == "data":
            return memoryview(self)
        if name in _STREAMED and _too_large(self._core):
            return partial(self._reduced, name)
        return getattr(self._read_only(), name)

    def _reduced(self, name: str, *arguments: Any, **options: Any) -> Any:
        if any(given is not None for given in (*arguments, *options.values())):
            return getattr(self._read_only(), name)(*arguments, **options)
        parts = [getattr(block, name)() for _, block in self.blocks()]
        return getattr(np.asarray(parts), name)()

    def __reduce__(self) -> Any:
        view = (self._steps, self._strides, self.mode, self.offset, self.filename)
        return _made_again, (self._opened, identity(self._core), *view)

    def __dask_tokenize__(self) -> Any:
        return self.__reduce__()[1]

    def __repr__(self) -> str:
        return f"<lowtide.memmap {self.shape} {self._core.dtype}, mode {self.mode!r}, {str(self.filename)!r}>"


def _too_large(core: _core.Array) -> bool:
    return 2 * core.nbytes > _core.budget()


def _made_again(
    opened: Opened, expected: Identity, steps: Any, strides: Any, mode: str, offset: int, filename: Any
) -> memmap:
    """A memmap in another process; the file is not made anew there."""
    made = memmap.__new__(memmap)
    made._core = open_again(opened, expected)
    for method, argument in steps:
        made._core = getattr(made._core, method)(argument)
    made._opened, made._steps, made._strides = opened, steps, strides
    made.mode, made.offset, made.filename, made._plain = mode, offset, filename, opened[2] != "bfloat16"
    return made


def _dense_strides(shape: Sequence[int], itemsize: int, order: str) -> tuple[int, ...]:
    strides = []
    step = itemsize
    for extent in shape if order == "F" else reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(strides if order == "F" else reversed(strides))


def _stream_into(target: memmap, ufunc: np.ufunc, inputs: Sequence[Any]) -> memmap:
    """``ufunc(*inputs, out=target)``, some rows at a time."""
    rows = target.shape[0] if target.ndim else 1
    in_rows = max(1, rows * (_core.budget() // 16) // max(1, target.nbytes))
    for start in range(0, rows, in_rows):
        index = slice(start, min(start + in_rows, rows)) if target.ndim else ()
        pieces = [_rows_of(x, target, index) for x in inputs]
        out = _dtypes.as_result(_core.empty(target._phantom()[index].shape, target._core.dtype), target._core.dtype)
        target[index] = ufunc(*pieces, out=out)
    return target


def _rows_of(x: Any, target: memmap, index: Any) -> Any:
    follows = isinstance(x, np.ndarray | memmap) and x.ndim == target.ndim and x.shape[:1] == target.shape[:1]
    found = x[index] if follows else x._read_only() if isinstance(x, memmap) else x
    return np.asarray(found) if isinstance(found, memmap | memmap_part) else found
