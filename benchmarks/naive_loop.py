"""What does a loop that takes one row at a time cost, on a cold file, through lt.memmap and through np.memmap?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

Measure = Callable[[], Any]


def _loop(measure: Measure, m: Any, count: int, order: str) -> int:
    rows = range(count) if order == "in order" else np.random.default_rng(9).permutation(len(m))[:count].tolist()
    with measure():
        for i in rows:
            m[i][0]  # a view of a map has read nothing until it is touched
    return count


def memmap(measure: Measure, path: str, rows: int, count: int, order: str) -> int:
    """np.memmap"""
    m = np.memmap(path, dtype=np.float32, mode="r", offset=disk.HEADER_BYTES, shape=(rows, disk.COLUMNS))
    return _loop(measure, m, count, order)


def lowtide(measure: Measure, path: str, rows: int, count: int, order: str) -> int:
    """One word changed."""
    import lowtide as lt

    m = lt.memmap(path, dtype=np.float32, mode="r", offset=disk.HEADER_BYTES, shape=(rows, disk.COLUMNS))
    return _loop(measure, m, count, order)


def ask(bench: Bench) -> Iterator[Report]:
    """Reported, not judged: one request at a time is what lowtide exists to avoid."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    path = bench.folder / f"rows-{size >> 20}.npy"
    disk.make_npy(path, size)

    def run(function: Callable[..., Any], count: int, order: str) -> Callable[[], Sample]:
        def once() -> Sample:
            disk.make_cold(path)
            with bench.device.read_ahead(128):
                return bench.worker(function, path=path, rows=size // disk.ROW_BYTES, count=count, order=order)

        return once

    for order, count in (("in order", 8192), ("at random", 2048)):
        pair = {"np.memmap": run(memmap, count, order), "lt.memmap": run(lowtide, count, order)}
        setting = f"{size >> 20} MiB, cold; {count} rows of 4 KiB, one at a time, {order}"
        report = Report(__doc__, setting, "rows/s", bench.interleave(pair, rounds=3))
        report.bar("lt.memmap", "np.memmap")
        yield report
