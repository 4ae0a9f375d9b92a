"""lt.RowLoader: batches of rows of one or several arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core, _dtypes, _loader
from .array import Array

_SHUFFLES = {True: "automatic", False: "none", "global": "global", "windowed": "windowed"}


class Records(NamedTuple):
    """Records of different lengths: record i is ``values[offsets[i]:offsets[i + 1]]``.

    To a loader, two arrays: one-dimensional values, and int64 offsets, one more than there are records. In a batch, the
    values of its records one after the other, and their offsets from 0.
    """

    values: Any
    offsets: Any


class ShuffleReport(NamedTuple):
    """Which shuffle a loader uses, and why."""

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

    ``arrays``: one :class:`Array`, a tuple, list or dict of them, or :class:`Records`. A batch has the same structure.

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
    :param transform: called with every batch, in order, in the thread that asks for it; its result is the batch.
    :param like: "numpy", or "torch" for tensors of the same memory.
    :param pin: as of :class:`TokenLoader`; batches of a windowed shuffle are not pinned.
    """

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
        like: str = "numpy",
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
        self._arrays = arrays
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
        parts = self._core.next()
        if parts is None:
            return None
        batch = _shaped(self._arrays, iter([self._column(*pair) for pair in zip(self._columns, parts, strict=True)]))
        if self._transform is None:
            return batch
        batch = self._transform(batch)
        if batch is None:
            raise TypeError("transform returned None: it has to return the batch")
        return batch

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
        fields, position = _loader.unpack_state(state, "rows", lambda s: int(s["rows"]))
        with _loader.damage("rows"):
            converted = (
                int(fields["seed"]),
                position,
                bool(fields["ended"]),
                int(fields["rows"]),
                int(fields["run_rows"]),
                int(fields["window_rows"]),
                str(fields["shuffle"]),
                _loader.unpack_data(fields["data"]),
            )
        self._core.load(*converted)

    def stats(self) -> _loader.LoaderStats:
        """Batches, rows a second, who waited for whom, and the bytes held."""
        return _loader.LoaderStats(tokens=0, **self._core.stats())

    def __reduce__(self) -> Any:
        fields = {name: value for name, value in self.__dict__.items() if name not in ("_core", "_columns")}
        return _rebuild, (fields, self._core.seed, self._core.state(0))

    def __repr__(self) -> str:
        names = ", ".join(sorted({c.values.path if isinstance(c, Records) else c.path for c in self._columns}))
        return f"<lowtide.RowLoader {names!r}: {self.rows:,} rows, {self.shuffle.kind} shuffle, {self._share_text()}>"


def _rebuild(fields: dict[str, Any], seed: int, state: tuple[Any, ...]) -> RowLoader:
    """A loader in another process, where this one stood."""
    loader = RowLoader.__new__(RowLoader)
    loader.__dict__.update(fields)
    loader._start(seed)
    loader._core.load(*state)
    return loader


def _flat(arrays: Any) -> list[Any]:
    """Arrays and records in the order in which a batch has them."""
    if isinstance(arrays, Records):
        for part in arrays:
            _check_array(part)
        return [arrays]
    if isinstance(arrays, dict):
        return [column for part in arrays.values() for column in _flat(part)]
    if isinstance(arrays, tuple | list):
        return [column for part in arrays for column in _flat(part)]
    _check_array(arrays)
    return [arrays]


def _check_array(array: Any) -> None:
    if not isinstance(array, Array):
        raise TypeError(
            f"rows are loaded from lt.Array, not {type(array).__name__}: open a file with lt.open, "
            "or write an array into one with lt.save first"
        )


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
