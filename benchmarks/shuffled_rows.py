"""How many shuffled 4 KiB rows a second come from a cold file, beside np.memmap and beside the disk's own rate?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

Measure = Callable[[], Any]


def shuffled(path: str, count: int) -> np.ndarray[Any, Any]:
    """Distinct rows of the file, in no order."""
    rows = np.load(path, mmap_mode="r").shape[0]
    return np.random.default_rng(7).permutation(rows)[:count]


def memmap(measure: Measure, path: str, count: int, batch: int) -> int:
    """Fancy indexing, a batch at a time."""
    index = shuffled(path, count)
    with measure():
        m = np.load(path, mmap_mode="r")
        for start in range(0, count, batch):
            m[index[start : start + batch]]
    return count


def lowtide(measure: Measure, path: str, count: int, batch: int) -> int:
    """The same through lowtide."""
    import lowtide as lt

    index = shuffled(path, count)
    with measure():
        a = lt.open(path)
        for start in range(0, count, batch):
            a.read(index[start : start + batch])
    return count


def ask(bench: Bench) -> Iterator[Report]:
    """The bars are judged at batches of 4096."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    # np.memmap runs on fewer rows: it is slow, and its read-around warms the file for it as it goes.
    ours, theirs = (16384, 1024) if bench.quick else (65536, 8192)
    path = bench.folder / f"rows-{size >> 20}.npy"
    disk.make_npy(path, size)

    def run_memmap() -> Sample:
        disk.make_cold(path)
        with bench.device.read_ahead(128):
            return bench.worker(memmap, path=path, count=theirs, batch=min(4096, theirs))

    def run_lowtide(batch: int) -> Callable[[], Sample]:
        def run() -> Sample:
            disk.make_cold(path)
            return bench.worker(lowtide, path=path, count=ours, batch=batch)

        return run

    def run_fio(more: dict[str, int]) -> Callable[[], Sample]:
        job = {"filename": path, "rw": "randread", "bs": "4k", "iodepth": 128, "size": size}

        def run() -> Sample:
            disk.make_cold(path)
            read = disk.fio({**job, "io_size": ours * disk.ROW_BYTES, **more})[0]["read"]
            return Sample(read["iops"], read["runtime"] / 1e3)

        return run

    contenders = {
        "np.memmap": run_memmap,
        "lowtide, batches of 256": run_lowtide(256),
        "lowtide, batches of 4096": run_lowtide(4096),
        "lowtide, one read": run_lowtide(ours),
    }
    if disk.have_fio():
        contenders["fio, depth 128"] = run_fio({})
        contenders["fio, depth 128, grouped"] = run_fio(disk.GROUPED)
    rounds = bench.interleave(contenders)
    setting = f"{size >> 20} MiB, cold, float32 x {disk.COLUMNS}; {ours} rows, np.memmap {theirs}; one process each"
    report = Report(__doc__, setting, "rows/s", rounds)
    report.bar("lowtide, batches of 4096", "np.memmap", at_least=8)
    report.bar("lowtide, batches of 4096", "fio, depth 128", at_least=0.7)
    report.bar("lowtide, batches of 4096", "fio, depth 128, grouped", at_least=0.7)
    report.bar("lowtide, batches of 256", "np.memmap")
    report.bar("lowtide, batches of 256", "fio, depth 128")
    report.bar("lowtide, one read", "np.memmap")
    report.bar("lowtide, one read", "fio, depth 128")
    yield report
