"""How long does it take to open a file?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

Measure = Callable[[], Any]


def _times(measure: Measure, open_one: Callable[[], Any], repeats: int) -> dict[str, Any]:
    open_one()
    seconds = []
    with measure():
        for _ in range(repeats):
            start = time.perf_counter()
            opened = open_one()
            seconds.append(time.perf_counter() - start)
            del opened
    return {"work": repeats, "median": float(np.median(seconds)), "p99": float(np.percentile(seconds, 99))}


def numpy(measure: Measure, path: str, repeats: int) -> dict[str, Any]:
    """np.load(mmap_mode="r"), the header cached."""
    return _times(measure, lambda: np.load(path, mmap_mode="r"), repeats)


def lowtide(measure: Measure, path: str, repeats: int) -> dict[str, Any]:
    """lt.open."""
    import lowtide as lt

    return _times(measure, lambda: lt.open(path), repeats)


def ask(bench: Bench) -> Iterator[Report]:
    """The median and the 99th percentile of many opens, in each round."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    path = bench.folder / f"rows-{size >> 20}.npy"
    disk.make_npy(path, size)

    def run(function: Callable[..., Any]) -> Callable[[], Sample]:
        def once() -> Sample:
            disk.make_cold(path)
            return bench.worker(function, path=path, repeats=1000)

        return once

    rounds = bench.interleave({"np.load, mapped": run(numpy), "lowtide": run(lowtide)})
    report = Report(__doc__, f"{size >> 20} MiB .npy, opened 1000 times in each round", "opens/s", rounds)
    for name, below in (("np.load, mapped", None), ("lowtide", 1e-3)):
        for figure in ("median", "p99"):
            report.time(f"{name}, {figure}", [sample.more[figure] for sample in rounds[name] if sample], below)
    yield report
