"""Is reading what is already in memory no slower than np.memmap?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report

Measure = Callable[[], Any]
WINDOW, WINDOWS = 1024, 12  # tokens, and how many make a batch


def _faulted_in(m: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    flat = m.reshape(-1).view(np.uint8)
    np.add.reduce(flat[::4096])  # one byte a page: in the page cache, and mapped
    return m


def _rows(path: str) -> np.ndarray[Any, Any]:
    return _faulted_in(np.load(path, mmap_mode="r"))


def _tokens(path: str) -> np.ndarray[Any, Any]:
    return _faulted_in(np.memmap(path, dtype=np.uint16, mode="r"))


def gather_memmap(measure: Measure, path: str, batch: int, repeats: int) -> int:
    """m[index]"""
    m = _rows(path)
    index = np.random.default_rng(3).integers(0, len(m), (repeats, batch))
    m[index[0]]
    with measure():
        for wanted in index:
            m[wanted]
    return repeats * batch


def gather_lowtide(measure: Measure, path: str, batch: int, repeats: int) -> int:
    """a.read(index)"""
    import lowtide as lt

    count = len(_rows(path))
    a = lt.open(path)
    index = np.random.default_rng(3).integers(0, count, (repeats, batch))
    a.read(index[0])
    with measure():
        for wanted in index:
            a.read(wanted)
    return repeats * batch


def _stack_windows(measure: Measure, m: Any, count: int, repeats: int) -> int:
    starts = np.random.default_rng(4).integers(0, count - WINDOW, (repeats, WINDOWS)).tolist()
    np.stack([m[i : i + WINDOW] for i in starts[0]])
    with measure():
        for wanted in starts:
            np.stack([m[i : i + WINDOW] for i in wanted])
    return repeats


def windows_memmap(measure: Measure, path: str, repeats: int) -> int:
    """nanoGPT's batch, on a map that is kept."""
    m = _tokens(path)
    return _stack_windows(measure, m, m.size, repeats)


def windows_lowtide(measure: Measure, path: str, repeats: int) -> int:
    """The same line, np.memmap replaced by lt.memmap."""
    import lowtide as lt

    count = _tokens(path).size
    return _stack_windows(measure, lt.memmap(path, dtype=np.uint16, mode="r"), count, repeats)


def _index_windows(measure: Measure, read: Callable[[Any], Any], count: int, repeats: int) -> int:
    starts = np.random.default_rng(4).integers(0, count - WINDOW, (repeats, WINDOWS, 1))
    step = np.arange(WINDOW)
    read(starts[0] + step)
    with measure():
        for wanted in starts:
            read(wanted + step)
    return repeats


def indexed_memmap(measure: Measure, path: str, repeats: int) -> int:
    """m[starts[:, None] + arange(1024)]"""
    m = _tokens(path)
    return _index_windows(measure, m.__getitem__, m.size, repeats)


def indexed_lowtide(measure: Measure, path: str, repeats: int) -> int:
    """a.read(starts[:, None] + arange(1024))"""
    import lowtide as lt

    count = _tokens(path).size
    return _index_windows(measure, lt.open(path, dtype="uint16").read, count, repeats)


def _slices(measure: Measure, m: Any, count: int, repeats: int) -> int:
    starts = np.random.default_rng(5).integers(0, count - WINDOW, repeats).tolist()
    np.array(m[0:WINDOW])
    with measure():
        for i in starts:
            np.array(m[i : i + WINDOW], copy=None if type(m) is not np.memmap else True)
    return repeats


def slice_memmap(measure: Measure, path: str, repeats: int) -> int:
    """One slice, copied: a view would not have read anything."""
    m = _tokens(path)
    return _slices(measure, m, m.size, repeats)


def slice_lowtide(measure: Measure, path: str, repeats: int) -> int:
    """One slice, which is a copy."""
    import lowtide as lt

    count = _tokens(path).size
    return _slices(measure, lt.memmap(path, dtype=np.uint16, mode="r"), count, repeats)


PARTS: dict[str, tuple[Callable[[int], Any], int, float]] = {  # an index, how often, the least ratio
    "a[:, 5], one column": (lambda i: (slice(None), 5 + i % 100), 20, 1 / 1.3),
    "a[::10], every tenth row": (lambda i: slice(i % 10, None, 10), 6, 1 / 1.3),
    "a[:, :64], the first columns": (lambda i: (slice(None), slice(0, 64)), 20, 1 / 1.3),
    "a[i], a row": (lambda i: i * 7919 % 4096, 20000, 1 / 1.3),
    "a[i, j], one element": (lambda i: (i * 7919 % 4096, i % 64), 20000, 1 / 4),
}


def _parts(measure: Measure, read: Callable[[Any], Any], part: str, repeats: int) -> int:
    index_of = PARTS[part][0]
    wanted = [index_of(i) for i in range(repeats)]
    for index in wanted[:3]:
        read(index)
    with measure():
        for index in wanted:
            read(index)
    return repeats


def part_memmap(measure: Measure, path: str, part: str, repeats: int) -> int:
    """Copied: a view would not have read anything."""
    m = _rows(path)
    return _parts(measure, (lambda i: m[i]) if "element" in part else (lambda i: np.array(m[i])), part, repeats)


def part_lowtide(measure: Measure, path: str, part: str, repeats: int) -> int:
    """a.read(index)"""
    import lowtide as lt

    kept = _rows(path)
    a = lt.open(path)
    count = _parts(measure, a.read, part, repeats)
    del kept
    return count


def one_memmap(measure: Measure, path: str, repeats: int) -> int:
    """m[i] in a loop"""
    m = _tokens(path)
    return _parts(measure, m.__getitem__, "a[i], a row", repeats)


def one_lowtide(measure: Measure, path: str, repeats: int) -> int:
    """The same, np.memmap replaced by lt.memmap."""
    import lowtide as lt

    kept = _tokens(path)
    count = _parts(measure, lt.memmap(path, dtype=np.uint16, mode="r").__getitem__, "a[i], a row", repeats)
    del kept
    return count


def ask(bench: Bench) -> Iterator[Report]:
    """Each worker touches every page of its map before it is timed."""
    size = disk.GIB // (4 if bench.quick else 1)
    rows, tokens = bench.folder / f"warm-{size >> 20}.npy", bench.folder / f"warm-{size >> 20}.bin"
    disk.make_npy(rows, size)
    disk.make_tokens(tokens, size)
    fewer = 4 if bench.quick else 1

    for batch, repeats in ((256, 800 // fewer), (4096, 50 // fewer)):
        pair = {
            "np.memmap": lambda b=batch, r=repeats: bench.worker(gather_memmap, path=rows, batch=b, repeats=r),
            "lowtide": lambda b=batch, r=repeats: bench.worker(gather_lowtide, path=rows, batch=b, repeats=r),
        }
        setting = f"4 KiB rows in batches of {batch}, {size >> 20} MiB cached and mapped"
        report = Report(__doc__, setting, "rows/s", bench.interleave(pair))
        report.bar("lowtide", "np.memmap", at_least=1)
        yield report

    for part, (_, repeats, needed) in PARTS.items():
        pair = {
            "np.memmap": lambda p=part, r=repeats: bench.worker(part_memmap, path=rows, part=p, repeats=r),
            "lowtide": lambda p=part, r=repeats: bench.worker(part_lowtide, path=rows, part=p, repeats=r),
        }
        setting = f"{part} of rows of 4 KiB, {size >> 20} MiB cached and mapped"
        report = Report(__doc__, setting, "reads/s", bench.interleave(pair))
        report.bar("lowtide", "np.memmap", at_least=needed)
        yield report

    stacked = {"np.memmap": windows_memmap, "lowtide": windows_lowtide}
    indexed = {"np.memmap": indexed_memmap, "lowtide": indexed_lowtide}
    sliced = {"np.memmap": slice_memmap, "lowtide": slice_lowtide}
    single = {"np.memmap": one_memmap, "lowtide": one_lowtide}
    cases = (
        (single, 50000, "m[i], one uint16 in a loop", "elements/s", 1 / 4),
        (stacked, 4000, f"{WINDOWS} windows of {WINDOW} uint16: np.stack of slices", "batches/s", None),
        (indexed, 2000, f"{WINDOWS} windows of {WINDOW} uint16: one array of indices", "batches/s", 1.0),
        (sliced, 50000, f"single slices of {WINDOW} uint16, copied", "slices/s", None),
    )
    for functions, repeats, setting, unit, needed in cases:
        pair = {
            name: lambda f=function, r=repeats // fewer: bench.worker(f, path=tokens, repeats=r)
            for name, function in functions.items()
        }
        report = Report(__doc__, f"{setting}, {size >> 20} MiB cached and mapped", unit, bench.interleave(pair))
        report.bar("lowtide", "np.memmap", at_least=needed)
        yield report
