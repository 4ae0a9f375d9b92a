"""lt.RowLoader: batches of rows of one or several arrays."""

from __future__ import annotations

import builtins
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import _core, _dtypes, _loader
from ._types import Like
from .array import Array
from .files import open, save
from .memmap import memmap

_SHUFFLES = {True: "automatic", False: "none", "global": "global", "windowed": "windowed"}


class Records(NamedTuple):
    """Records of different lengths: record i is ``values[offsets[i]:offsets[i + 1]]``.

    To a loader, two arrays: one-dimensional values, and int64 offsets, one more than there are records. In a batch, the
    values of its records one after the other, and their offsets from 0.

    >>> np.save(new_path, np.array([0, 10, 30, 50]))  # three records
    >>> records = lt.Records(lt.open(raw_path, dtype="uint16"), lt.open(new_path))
    >>> with lt.RowLoader({"r": records}, batch=3, shuffle=False) as loader:
    ...     batch = next(iter(loader))
    >>> batch["r"].offsets.tolist(), len(batch["r"].values)
    ([0, 10, 30, 50], 50)
    """

    values: Any
    offsets: Any


class ShuffleReport(NamedTuple):
    """Which shuffle a loader uses, and why.

    >>> with lt.RowLoader({"x": a}, batch=10) as loader:
    ...     loader.shuffle.kind in ("global", "windowed")
    True
    """

    kind: str
    """"none", "global": any row may follow any other, or "windowed": runs in a global order, some mixed at a time."""
    reason: str
    run_rows: int
    """Rows that are read together."""
    window_rows: int
    """Rows that are mixed together; all of them in a global shuffle."""
    same_run: float
    """The odds that the next row is of the same run."""
    ideal_same_run: float
    """What they are in a global shuffle."""

    def __str__(self) -> str:
        if self.kind != "windowed":
            return f"{self.kind}: {self.reason}"
        return (
            f"windowed: {self.reason}; the next row is of the same run of {self.run_rows:,} with odds of "
            f"{self.same_run:.2%} (global: {self.ideal_same_run:.2%})"
        )


class RowLoader(_loader.CoreLoader):
    """Rows of arrays that go together, shuffled, each exactly once an epoch; made ahead within the budget.

    ``arrays``: one :class:`Array`, a path, an ``np.memmap``, ``lt.memmap`` or ndarray, a tuple, list or dict of them,
    or :class:`Records`. A batch has the same structure. An ndarray is written into a temporary file first.

    >>> loader = lt.RowLoader({"x": a, "first": a[:, 0]}, batch=32, seed=1)
    >>> batch = next(iter(loader))
    >>> batch["x"].shape, batch["first"].shape, bool((batch["x"][:, 0] == batch["first"]).all())
    ((32, 4), (32,), True)
    >>> len(loader), loader.shuffle.kind
    (4, 'windowed')
    >>> loader.close()

    :param shuffle: True chooses: global, unless rows are so small that a read for each would drown the disk; then
        windowed. ``loader.shuffle`` says what was chosen and why. "global", "windowed" and False insist.
    :param window: rows that a windowed shuffle mixes; from the budget by default.
    :param epochs: epochs of one ``for`` loop; None never ends.
    :param transform: called with every batch, in order, in the thread that asks for it; its result is the batch. If it
        raises, the batch comes again.
    :param like: "numpy", or "torch" for tensors of the same memory.
    :param pin: as of :class:`TokenLoader`; batches of a windowed shuffle are not pinned.
    """

    _made_by_start = ("_core", "_columns")

    def __init__(
        self,
        arrays: Any,
        batch: int,
        *,
        shuffle: bool | str = True,
        seed: int = 0,
        drop_last: bool = False,
        rank: int = 0,
        world: int = 1,
        epochs: int | None = 1,
        transform: Callable[[Any], Any] | None = None,
        window: int | None = None,
        like: Like = "numpy",
        pin: bool | str = "auto",
    ) -> None:
        if shuffle not in _SHUFFLES:
            raise ValueError(f'shuffle must be True, False, "global" or "windowed", not {shuffle!r}')
        if window is not None and window < 1:
            raise ValueError(f"window must be at least one row, but it is {window}")
        self._like = _loader.check_like(like)
        self._pin = _loader.check_pin(pin, like)
        self._share = _loader.share(batch, rank, world, epochs, drop_last)
        self._transform = transform
        self._arrays = _opened(arrays)
        self._options: dict[str, Any] = {"shuffle": _SHUFFLES[shuffle], "window_rows": window or 0}
        self._start(_loader.check_seed(seed))

    def _start(self, seed: int) -> None:
        self._columns = _flat(self._arrays)
        pairs = [
            (c.values._core, c.offsets._core) if isinstance(c, Records) else (c._core, None) for c in self._columns
        ]
        self._core = _core.RowLoader(columns=pairs, share=self._share, seed=seed, pin=self._pin, **self._options)

    @property
    def rows(self) -> int:
        """Rows in an epoch."""
        count: int = self._core.samples_per_epoch
        return count

    @property
    def shuffle(self) -> ShuffleReport:
        """Which shuffle is used, why, and how well it mixes."""
        return ShuffleReport(*self._core.shuffle())

    def _next(self) -> Any:
        return self._made() if self._transform is None else self._transformed(self._made)

    def _made(self) -> Any:
        parts = self._core.next()
        if parts is None:
            return None
        return _shaped(self._arrays, iter([self._column(*pair) for pair in zip(self._columns, parts, strict=True)]))

    def _column(self, array: Any, part: Any) -> Any:
        if isinstance(array, Records):
            return Records(self._column(array.values, part[0]), self._handed_over(part[1]))
        if array._core.dtype != "bfloat16":
            return self._handed_over(part)
        if self._like == "torch":
            return self._handed_over(part).view(_loader.import_torch().bfloat16)
        return _dtypes.as_result(part, "bfloat16")

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        """Where the loader stands, behind the last batch it gave: small, exact, JSON.

        ``ahead`` counts batches from here: where the loader will stand after so many more.
        """
        seed, position, ended, rows, run_rows, window_rows, shuffle, data = self._core.state(ahead)
        return _loader.pack_state(
            "rows",
            rows,
            position,
            seed=seed,
            ended=ended,
            rows=rows,
            shuffle=shuffle,
            run_rows=run_rows,
            window_rows=window_rows,
            data=_loader.pack_data(data),
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the very next batch of a saved state, in its order; batch, rank and world may be others.

        DataChangedError, with the file's name, if the data is not what it was.
        """
        fields, position = _loader.unpack_state(state, "rows", "rows")
        with _loader.damage("rows"):
            converted = (
                _loader.whole(fields, "seed"),
                position,
                bool(fields["ended"]),
                _loader.whole(fields, "rows"),
                _loader.whole(fields, "run_rows"),
                _loader.whole(fields, "window_rows"),
                str(fields["shuffle"]),
                _loader.unpack_data(fields["data"]),
            )
        self._core.load(*converted)

    def stats(self) -> _loader.LoaderStats:
        """Batches, rows a second, who waited for whom, and the bytes held."""
        return _loader.LoaderStats(tokens=0, **self._core.stats())

    def __repr__(self) -> str:
        names = ", ".join(sorted({c.values.path if isinstance(c, Records) else c.path for c in self._columns}))
        return f"<lowtide.RowLoader {names!r}: {self.rows:,} rows, {self.shuffle.kind} shuffle, {self._share_text()}>"


def _flat(arrays: Any) -> list[Any]:
    """Arrays and records in the order in which a batch has them."""
    if isinstance(arrays, Records):
        return [arrays]
    if isinstance(arrays, dict):
        return [column for part in arrays.values() for column in _flat(part)]
    if isinstance(arrays, tuple | list):
        return [column for part in arrays for column in _flat(part)]
    return [arrays]


def _opened(arrays: Any) -> Any:
    """The same structure, of arrays on disk."""
    if isinstance(arrays, Array):
        return arrays
    if isinstance(arrays, dict):
        return {name: _opened(part) for name, part in arrays.items()}
    if isinstance(arrays, list):
        return [_opened(part) for part in arrays]
    if isinstance(arrays, tuple):
        parts = [_opened(part) for part in arrays]
        return type(arrays)(*parts) if hasattr(arrays, "_fields") else tuple(parts)
    if isinstance(arrays, str | os.PathLike):
        return open(arrays)
    if isinstance(arrays, memmap):
        return _as_on_disk(arrays)
    if isinstance(arrays, np.ndarray):
        mapped = _mapped(arrays)
        return _written(arrays) if mapped is None else mapped
    raise TypeError(
        f"rows are loaded from lt.Array, paths, ndarrays and memmaps, not {type(arrays).__name__}: "
        "open a file with lt.open"
    )


def _as_on_disk(mapped: memmap) -> Array:
    """The same elements, of a file that may not change while they are loaded."""
    path, _, *what, _ = mapped._opened
    opened = (path, "r", *what, False)
    array = Array._of_file(_core.open(*opened), opened)
    for method, argument in mapped._steps:
        array = array._then(method, argument)
    return array


def _mapped(array: Any) -> Array | None:
    """The file behind a map; None for memory, for views that are not the whole map, and for changes of one's own."""
    path = getattr(array, "filename", None)
    if path is None or not isinstance(array, np.memmap) or not isinstance(array.base, mmap.mmap) or array.mode == "c":
        return None
    array.flush()
    with builtins.open(path, "rb") as file:
        has_header = file.read(6) == b"\x93NUMPY"
    if has_header:
        opened = open(path)
        return opened if opened.shape == tuple(array.shape) and opened.dtype == array.dtype else None
    order = "F" if np.isfortran(array) else "C"
    return open(path, dtype=array.dtype, shape=tuple(array.shape), offset=int(array.offset), order=order)


def _written(array: np.ndarray[Any, Any]) -> Array:
    """An array in memory, in a temporary file that goes with it."""
    folder = tempfile.mkdtemp(prefix="lowtide-rows-")
    try:
        path = os.path.join(folder, "rows.npy")
        save(path, array)
        opened = open(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(opened, shutil.rmtree, folder, ignore_errors=True)
    return opened


def _shaped(arrays: Any, columns: Any) -> Any:
    """Columns in the structure of `arrays`."""
    if isinstance(arrays, Array | Records):
        return next(columns)
    if isinstance(arrays, dict):
        return {name: _shaped(part, columns) for name, part in arrays.items()}
    parts = [_shaped(part, columns) for part in arrays]
    if isinstance(arrays, list):
        return parts
    return type(arrays)(*parts) if hasattr(arrays, "_fields") else tuple(parts)
