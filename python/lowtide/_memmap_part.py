"""What indexing a writable lt.memmap gives: an ndarray in memory whose assignments go to the file, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _dtypes
from ._index import is_basic, normalise


class memmap_part(np.ndarray[Any, Any]):
    """A part of a writable ``lt.memmap``. It is a copy: it does not show what is written elsewhere.

    ``part[i] = x``, ``part += x`` and ``np.add(part, x, out=part)`` write to the file. Every other way of changing it
    (``part.sort()``, ``np.copyto``) is refused as for any read-only array, so that no change is lost.

    >>> m = lt.memmap(raw_path, dtype=np.uint16, mode="r+", shape=(5, 10))
    >>> m[3][1] = 7
    >>> int(m[3, 1])
    7
    """

    __array_priority__ = -1.0  # what is made of several is an ndarray
    _target: _core.Array | None  # the same elements in the file
    _memory: np.ndarray[Any, Any]  # the same elements in memory, writable

    filename: Any  # as of the map
    mode: str | None
    offset: int | None

    def __array_finalize__(self, source: Any) -> None:
        self._target = None
        for name in ("filename", "mode", "offset"):
            setattr(self, name, getattr(source, name, None))

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if self._target is not None and isinstance(found, memmap_part):
            indices = normalise(index)
            if is_basic(indices):
                found._target, found._memory = self._target.index(indices), self._memory[index]
        return found

    def __setitem__(self, index: Any, values: Any) -> None:
        if self._target is None:
            return super().__setitem__(index, values)
        self._memory[index] = values
        self._target.assign(normalise(index), *_dtypes.as_values(values, self._target.dtype))

    def fill(self, value: Any) -> None:
        """Set every element, in the file too."""
        self[...] = value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        given = [_plain(x) for x in inputs]
        outs = options.pop("out", None)
        if outs is None:
            return getattr(ufunc, method)(*given, **options)
        memory = tuple(x._memory if _in_file(x) else _plain(x) for x in outs)
        result = getattr(ufunc, method)(*given, out=memory, **options)
        for out in outs:
            if _in_file(out):
                out._target.assign((Ellipsis,), *_dtypes.as_values(out._memory))
        return outs[0] if len(outs) == 1 else tuple(outs) if isinstance(result, tuple) else result

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


def _in_file(x: Any) -> bool:
    return isinstance(x, memmap_part) and x._target is not None


def _plain(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, memmap_part) else x


def part_of(array: np.ndarray[Any, Any], target: _core.Array) -> memmap_part:
    """The elements `array`, just read from `target`, as a part that writes there."""
    part = array.view(memmap_part)
    part.flags.writeable = False
    part._target, part._memory = target, array
    return part
