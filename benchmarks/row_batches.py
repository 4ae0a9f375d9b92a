"""How many batches of 256 shuffled 4 KiB rows a second does lt.RowLoader make from a cold file, beside np.memmap?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import disk
from .harness import Bench, Report, Sample
from .shuffled_rows import memmap

Measure = Callable[[], Any]
BATCH = 256
MEMMAP, ROW_LOADER, READ = "np.memmap[shuffled]", "lt.RowLoader", "lt.Array.read(shuffled)"


def row_loader(measure: Measure, path: str, batches: int) -> int:
    """One epoch's beginning; opening the file and the loader is timed too."""
    import lowtide as lt

    with measure():
        stream = iter(lt.RowLoader({"x": lt.open(path)}, batch=BATCH, shuffle="global", seed=7))
        for _ in range(batches):
            next(stream)
    return batches


def read(measure: Measure, path: str, batches: int) -> int:
    """The same rows without a loader, one batch after the other."""
    import lowtide as lt

    with measure():
        a = lt.open(path)
        order = lt.Permutation(len(a), seed=7)
        for start in range(0, batches * BATCH, BATCH):
            a.read(order[start : start + BATCH])
    return batches


def ask(bench: Bench) -> Iterator[Report]:
    """The bar is against fancy indexing, which is how a map is shuffled."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    # np.memmap runs on fewer rows: it is slow, and its read-around warms the file for it as it goes.
    ours, theirs = (64, 4) if bench.quick else (256, 32)
    path = bench.folder / f"rows-{size >> 20}.npy"
    disk.make_npy(path, size)

    def run_memmap() -> Sample:
        disk.make_cold(path)
        with bench.device.read_ahead(128):
            return bench.worker(memmap, scale=1 / BATCH, path=path, count=theirs * BATCH, batch=BATCH)

    def run_ours(function: Callable[..., int]) -> Callable[[], Sample]:
        def run() -> Sample:
            disk.make_cold(path)
            return bench.worker(function, path=path, batches=ours)

        return run

    def run_fio() -> Sample:
        disk.make_cold(path)
        job = {"filename": path, "rw": "randread", "bs": "4k", "iodepth": 128, "size": size}
        found = disk.fio({**job, "io_size": ours * BATCH * disk.ROW_BYTES})[0]["read"]
        return Sample(found["iops"] / BATCH, found["runtime"] / 1e3)

    contenders = {MEMMAP: run_memmap, ROW_LOADER: run_ours(row_loader), READ: run_ours(read)}
    if disk.have_fio():
        contenders["fio, depth 128"] = run_fio
    rounds = bench.interleave(contenders)
    setting = f"{size >> 20} MiB, cold, float32 x {disk.COLUMNS}; {ours} batches, np.memmap {theirs}; one process each"
    report = Report(__doc__, setting, "batches/s", rounds)
    report.bar(ROW_LOADER, MEMMAP, at_least=8)
    report.bar(ROW_LOADER, READ)
    report.bar(ROW_LOADER, "fio, depth 128")
    yield report
