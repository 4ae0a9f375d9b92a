"""lt.Permutation: a shuffle of range(n) that needs no memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from . import _core, _dtypes, _leased

_MOST = 1 << 63
_BEYOND_ANY_BUDGET = 1 << 59  # indices in one result
_ITERATED_AT_ONCE = 1024


class Permutation:
    """Every index of ``range(n)`` exactly once, in an order that (n, seed, stream) decides; n may be up to 2**63.

    Nothing is stored but the numbers: an index costs some tens of nanoseconds, wherever it stands. Give each epoch its
    own ``stream``. The order is the same on every machine and in every release.

    >>> p = lt.Permutation(10, seed=1)
    >>> list(p)
    [7, 5, 3, 2, 8, 0, 1, 9, 4, 6]
    >>> p[3], p.inverse(2)
    (2, 3)
    >>> p[np.array([0, 1, -1])].tolist()
    [7, 5, 6]
    >>> lt.Permutation(2**63)[:2].tolist()
    [6456626024750360679, 5308295222882205872]
    """

    __slots__ = ("_core", "_seed", "_stream")

    def __init__(self, n: int, seed: int = 0, stream: int = 0) -> None:
        if not 1 <= n <= _MOST:
            raise ValueError(f"n must be from 1 to 2**63, but it is {n}")
        for name, value in (("seed", seed), ("stream", stream)):
            if not 0 <= value < 1 << 64:
                raise ValueError(f"{name} must be from 0 to 2**64 - 1, but it is {value}")
        self._core = _core.Permutation(n, seed, stream)
        self._seed, self._stream = int(seed), int(stream)

    @property
    def size(self) -> int:
        """n; ``len`` gives the same below 2**63, where Python's lengths end."""
        return self._core.size

    @property
    def seed(self) -> int:
        """What the order comes from."""
        return self._seed

    @property
    def stream(self) -> int:
        """Which of the seed's orders it is."""
        return self._stream

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, position: int | np.integer[Any]) -> int: ...

    @overload
    def __getitem__(self, position: slice | npt.ArrayLike) -> npt.NDArray[np.int64]: ...

    def __getitem__(self, position: Any) -> Any:
        """The index at a position, or those at a slice or an array of positions; negative ones count from the end."""
        if isinstance(position, slice):
            return self._run(*position.indices(self.size))
        if isinstance(position, int | np.integer):
            place = int(position) + self.size if position < 0 else int(position)
            if not 0 <= place < self.size:
                raise IndexError(f"position {position} is out of bounds for a permutation of {self.size}")
            return self._core.at(place)
        return self._core.map(*_integers(position), inverse=False)

    @overload
    def inverse(self, index: int | np.integer[Any]) -> int: ...

    @overload
    def inverse(self, index: npt.ArrayLike) -> npt.NDArray[np.int64]: ...

    def inverse(self, index: Any) -> Any:
        """The position at which an index stands, or those of an integer array of indices.

        >>> p = lt.Permutation(1_000_000)
        >>> positions = np.arange(0, 100, 7)
        >>> bool((p.inverse(p[positions]) == positions).all())
        True
        """
        if isinstance(index, int | np.integer):
            if not 0 <= index < self.size:
                raise IndexError(f"index {index} is out of bounds for a permutation of {self.size}")
            return self._core.inverse_at(int(index))
        return self._core.map(*_integers(index), inverse=True)

    def __iter__(self) -> Iterator[int]:
        for start in range(0, self.size, _ITERATED_AT_ONCE):
            yield from self._run(start, min(start + _ITERATED_AT_ONCE, self.size), 1).tolist()

    def __contains__(self, index: object) -> bool:
        return isinstance(index, int | np.integer) and 0 <= int(index) < self.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permutation) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[type[Permutation], tuple[int, int, int]]:
        return Permutation, self._identity

    def __repr__(self) -> str:
        return f"lowtide.Permutation({self.size}, seed={self._seed}, stream={self._stream})"

    @property
    def _identity(self) -> tuple[int, int, int]:
        return self.size, self._seed, self._stream

    def _run(self, start: int, stop: int, step: int) -> npt.NDArray[np.int64]:
        count = -((start - stop) // step)  # rounded up
        if count < 1:
            return self._core.run(0, 1, 0)
        return self._core.run(start, step if count > 1 else 1, min(count, _BEYOND_ANY_BUDGET))


def _integers(values: Any) -> tuple[npt.NDArray[Any], bool]:
    """Integers as the core takes them, and whether they are signed."""
    array = _leased.asarray(values)
    if array.size == 0 and isinstance(values, list | tuple):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise IndexError(f"positions and indices are integers, but the array's dtype is {array.dtype}")
    wide = np.dtype(np.uint64 if array.dtype.kind == "u" else np.int64)
    if array.dtype != wide or not (array.flags.c_contiguous and array.flags.aligned):
        array = _dtypes.leased_cast(array, wide)
    return array, wide.kind == "i"
