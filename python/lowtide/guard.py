"""Help for np.memmap objects that cannot be replaced: give back their pages, or keep them under a limit."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from . import _core
from .array import Array
from .budget import parse
from .memmap import memmap


def _map_of(array: Any) -> np.memmap[Any, Any]:
    """The np.memmap that made the map, however many views lie between."""
    if isinstance(array, Array | memmap):
        raise TypeError(
            f"lt.{type(array).__name__} needs no guard: it maps nothing, and its memory is within the budget already "
            "(lt.set_budget)"
        )
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    if base is None or getattr(base, "_mmap", None) is None:
        raise TypeError(f"expected an np.memmap (or a view of one), not {type(array).__name__}")
    while isinstance(base.base, np.memmap):
        base = base.base
    if base.filename is None:
        raise ValueError("this np.memmap was made from an open file without a name; open it by its path")
    found: np.memmap[Any, Any] = base
    return found


def _place_of(base: np.memmap[Any, Any]) -> tuple[int, int, str, int]:
    address = base.__array_interface__["data"][0]
    return address, base.nbytes, str(base.filename), base.offset


def release(array: np.ndarray[Any, Any]) -> int:
    """Give back the pages that an ordinary ``np.memmap`` holds, dirty ones written first; returns the bytes given back.

    The array stays valid: what is touched again is read again. A private map (mode ``"c"``) is refused: its changes are
    in its pages and nowhere else.

    >>> mm = np.memmap(raw_path, dtype=np.uint16, mode="r")
    >>> int(mm.sum(dtype=np.int64)), lt.release(mm) >= 0
    (1225, True)
    """
    base = _map_of(array)
    with memoryview(base._mmap):  # type: ignore[attr-defined]  # cannot be closed meanwhile
        return _core.release_mapping(*_place_of(base))


class Guard:
    """Keeps an ``np.memmap`` under a limit until it is stopped or the map is gone; made by :func:`guard`.

    >>> watched = lt.guard(mm, limit="16MiB")
    >>> watched.limit, watched.released
    (16777216, 0)
    >>> watched.stop()
    """

    def __init__(self, array: np.ndarray[Any, Any], limit: int) -> None:
        base = _map_of(array)
        # NumPy does not keep the map from being closed; an exported buffer does, and is given up after the guard has
        # stopped. Bound to the array, not to the mmap: CPython unmaps before it tells who watches an mmap.
        held = memoryview(base._mmap)  # type: ignore[attr-defined]
        try:
            self._guard = _core.MappingGuard(*_place_of(base), limit)
        except BaseException:
            held.release()
            raise
        self.limit = limit
        self._finalizer = weakref.finalize(base, _end, self._guard, held)

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


def _end(guard: _core.MappingGuard, held: memoryview) -> None:
    guard.stop()
    held.release()


def guard(array: np.ndarray[Any, Any], limit: int | str = "512MiB") -> Guard:
    """Keep an ordinary ``np.memmap``'s residency under a limit, in the background, from now on.

    A thread without the GIL looks 200 to 2,000 times a second and gives all pages back before the limit is reached;
    what a fast disk brings in between two looks (some MiB, tens on a busy machine) comes on top. Random access with
    much read-ahead is noticed, and read-ahead turned off for it.

    >>> with lt.guard(mm, limit="64MiB"):
    ...     int(mm.sum(dtype=np.int64))
    1225
    """
    return Guard(array, parse(limit))
