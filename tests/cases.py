"""Random arrays in files, and random indices into them, for tests that compare lowtide with NumPy."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
SEEDS = st.integers(0, 2**32 - 1)
CACHED = ("all", "none", "first half")


def cases(percent: int) -> settings:
    """A share of the profile's number of examples."""
    return settings(max_examples=max(1, settings.default.max_examples * percent // 100))


def one_in(draw: Any, count: int) -> bool:
    return draw(st.integers(0, count - 1)) == count - 1


def random_bits(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Every bit pattern, NaNs with payloads included."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return rng.integers(0, 2, count, dtype=np.uint8).astype(bool).reshape(shape)
    return np.frombuffer(rng.bytes(count * np.dtype(dtype).itemsize), dtype=dtype).copy().reshape(shape)


def small_numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Numbers that every dtype can hold, so that each cast is defined."""
    return np.random.default_rng(seed).integers(0, 100, shape).astype(dtype)


@st.composite
def shapes(draw: Any, most_dims: int = 4, least_dims: int = 0, large: int = 8) -> tuple[int, ...]:
    """One in `large` is large."""
    if one_in(draw, large):  # over 1 MiB for most dtypes, in rows that straddle units
        return draw(
            st.sampled_from(
                [(700_001,), (1_333, 521), (521, 1_333), (7, 300, 333), (65, 4, 4_099), (3, 700_001), (2, 3, 5, 30_011)]
            ).filter(lambda shape: least_dims <= len(shape) <= most_dims)
        )
    extent = st.one_of(st.integers(0, 6), st.integers(1, 6), st.sampled_from([17, 64, 129]))
    shape = tuple(draw(st.lists(extent, min_size=least_dims, max_size=most_dims)))
    return shape if np.prod(shape, dtype=np.int64) < 1 << 18 else shape[:2]


@dataclass
class Stored:
    """An array, and how a file holds it."""

    array: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)  # of lt.open, for what has no header
    order: str = "C"
    big_endian: bool = False
    version: tuple[int, int] | None = None
    before: bytes = b""
    after: bytes = b""
    cached: str = "all"

    def write(self, path: Path) -> Path:
        stored = self.array
        if self.big_endian:
            stored = stored.byteswap().view(stored.dtype.newbyteorder(">"))
        stored = np.array(stored, order=self.order)
        path.unlink(missing_ok=True)  # truncating an old file instead makes ext4 flush the new one
        with open(path, "wb") as file:
            if self.version is not None:
                np.lib.format.write_array(file, stored, version=self.version)
            else:
                file.write(self.before + stored.tobytes(order=self.order) + self.after)
            if self.cached != "all":
                file.flush()
                os.fsync(file.fileno())
                length = 0 if self.cached == "none" else file.tell() // 2
                os.posix_fadvise(file.fileno(), 0, length, os.POSIX_FADV_DONTNEED)
        return path

    @property
    def raw(self) -> bool:
        return self.version is None


@st.composite
def stored_arrays(draw: Any, values: Any = random_bits, shape: Any = None, raw: bool | None = None) -> Stored:
    extents = draw(shapes() if shape is None else shape)
    dtype = draw(st.sampled_from(DTYPES))
    stored = Stored(
        values(extents, dtype, draw(SEEDS)),
        order=draw(st.sampled_from("CF")),
        big_endian=draw(st.booleans()),
        cached=draw(st.sampled_from(CACHED)),
    )
    if draw(st.booleans()) if raw is None else raw:
        stored.before = bytes(draw(st.sampled_from([0, 1, 7, 64, 4_095, 4_096, 5_000])))
        stored.after = bytes(draw(st.sampled_from([0, 1, 4_096])))
        kept = stored.array.dtype.newbyteorder(">") if stored.big_endian else stored.array.dtype
        stored.options = {"dtype": kept, "shape": extents, "offset": len(stored.before), "order": stored.order}
    else:
        stored.version = draw(st.sampled_from([(1, 0), (2, 0), (3, 0)]))
    return stored


def _slice(draw: Any, extent: int) -> slice:
    if one_in(draw, 24):
        return slice(*draw(st.sampled_from([(None, None, 0), (-(10**30), 10**30, 10**20), (10**30, None, -(2**63))])))
    bound = st.one_of(st.none(), st.integers(-extent - 2, extent + 2))
    step = st.one_of(st.none(), st.integers(1, extent + 1), st.integers(-extent - 1, -1))
    return slice(draw(bound), draw(bound), draw(step))


def _laid_out(draw: Any, array: np.ndarray) -> Any:
    """The same array, as callers may have it."""
    how = draw(st.sampled_from(["plain", "list", "strided", "fortran", "reversed"]))
    if how == "list" and array.size < 1000:
        return array.tolist()
    if how == "strided":
        return np.repeat(array, 3, axis=-1)[..., ::3] if array.ndim else array
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "reversed" and array.ndim:
        return np.ascontiguousarray(array[::-1])[::-1]
    return array


def _positions(draw: Any, extent: int, shape: tuple[int, ...]) -> Any:
    beyond = int(one_in(draw, 24))
    low, high = (-extent - beyond, extent + beyond) if extent else (0, 1)
    values = np.random.default_rng(draw(SEEDS)).integers(low, high, shape)
    dtype = np.dtype(draw(st.sampled_from(["i8", "i8", "i4", "i2", "i1", "u1", "u4", "u8", ">i8", ">u2"])))
    if dtype.kind == "u":
        values = np.where(values < 0, values + extent, values)
    limits = np.iinfo(dtype)
    if np.all((values >= limits.min) & (values <= limits.max)):
        values = values.astype(dtype)
    return _laid_out(draw, values)


def _mask(draw: Any, shape: tuple[int, ...], trues: int | None) -> Any:
    rng = np.random.default_rng(draw(SEEDS))
    if one_in(draw, 24) and shape:
        shape = (*shape[:-1], shape[-1] + 1)
    mask = np.zeros(shape, dtype=bool)
    if trues is None:
        mask = rng.random(shape) < draw(st.sampled_from([0.0, 0.02, 0.5, 1.0]))
        return _laid_out(draw, np.asarray(mask))
    mask.flat[rng.choice(mask.size, min(trues, mask.size), replace=False)] = True
    return _laid_out(draw, mask)


@st.composite
def indices(draw: Any, shape: tuple[int, ...], most: int = 1 << 22, basic: bool = False) -> Any:
    """What may stand between the brackets of an array of this shape: nearly always valid."""
    total = int(np.prod(shape, dtype=np.int64))
    room = max(1, min(24, most // max(1, total)))
    together = tuple(draw(st.lists(st.integers(0 if one_in(draw, 12) else 1, 5), max_size=3)))
    if np.prod(together, dtype=np.int64) > room:
        together = (min(room, together[0]),)
    items: list[Any] = []
    axis, arrays = 0, 0
    kinds = ["int", "slice", "slice", "all"] if basic else ["int", "slice", "slice", "all", "array", "array", "mask"]
    while axis < len(shape) and not one_in(draw, 8):
        kind = draw(st.sampled_from(kinds))
        extent = shape[axis]
        if kind == "int":
            low, high = (-extent, extent - 1) if extent and not one_in(draw, 24) else (-extent - 1, extent)
            items.append(draw(st.sampled_from([int, np.int64, np.array]))(draw(st.integers(low, high))))
            axis += 1
        elif kind in ("slice", "all"):
            items.append(_slice(draw, extent) if kind == "slice" else slice(None))
            axis += 1
        elif kind == "array":
            mine = tuple(1 if one_in(draw, 5) else n for n in together)[draw(st.integers(0, len(together))) :]
            items.append(_positions(draw, extent, mine or (1,)))
            arrays += 1
            axis += 1
        else:
            count = draw(st.integers(1, min(2, len(shape) - axis)))
            items.append(_mask(draw, shape[axis : axis + count], None if arrays == 0 else (together or (1,))[-1]))
            arrays += 1
            axis += count
            kinds = [k for k in kinds if k != "array"]  # else seldom of one length
    for extra in (None, None, Ellipsis):
        if one_in(draw, 4):
            items.insert(draw(st.integers(0, len(items))), extra)
    if one_in(draw, 30):
        items.append(
            draw(st.sampled_from([Ellipsis, 0, slice(None), 10**30, 0.5, "a"] + ([] if basic else [True, False])))
        )
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def same_bits(ours: Any, expected: Any) -> bool:
    """Equal in shape, dtype and every bit: NaN payloads and signs of zero too."""
    expected = np.asarray(expected)
    return (
        isinstance(ours, np.ndarray)
        and ours.shape == expected.shape
        and ours.dtype == expected.dtype.newbyteorder("=")
        and ours.tobytes() == expected.tobytes()
    )


def outcome(work: Any) -> tuple[Any, type[Exception] | None]:
    """What a call gives, or the class of what it raises."""
    try:
        return work(), None
    except (IndexError, ValueError) as error:
        return None, IndexError if isinstance(error, IndexError) else ValueError
