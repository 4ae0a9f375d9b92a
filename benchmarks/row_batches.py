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


def shuffled(measure: Measure, path: str, row_bytes: int, shuffle: str, batches: int) -> int:
    """Small rows, the first window of a windowed shuffle timed too."""
    import lowtide as lt

    with measure():
        lt.set_budget("128MiB")
        rows = lt.open(path, dtype="uint8", shape=(-1, row_bytes), offset=disk.HEADER_BYTES)
        stream = iter(lt.RowLoader(rows, batch=BATCH, shuffle=shuffle, seed=7))
        for _ in range(batches):
            next(stream)
    return batches


def ask(bench: Bench) -> Iterator[Report]:
    """Against a map first, then the two shuffles against each other, where rows are small."""
    yield against_a_map(bench)
    for row_bytes in (256, 1024, 4096):
        yield against_each_other(bench, row_bytes)


def against_each_other(bench: Bench, row_bytes: int) -> Report:
    """What the choice between the shuffles rests on: src/lowtide/loader/shuffle_plan.cpp."""
    size = disk.GIB // 2
    path = bench.folder / f"bytes-{size >> 20}.bin"
    disk.make_npy(path, size)
    counts = {"global": 64, "windowed": size // row_bytes // BATCH}  # the windowed one has a window to read first

    def run(shuffle: str) -> Callable[[], Sample]:
        def run_one() -> Sample:
            disk.make_cold(path)
            return bench.worker(shuffled, path=path, row_bytes=row_bytes, shuffle=shuffle, batches=counts[shuffle])

        return run_one

    rounds = bench.interleave({shuffle: run(shuffle) for shuffle in counts})
    question = f"How much faster is a windowed shuffle of rows of {row_bytes} bytes than a global one?"
    report = Report(question, f"{size >> 20} MiB, cold; batches of {BATCH}, a budget of 128 MiB", "batches/s", rounds)
    report.bar("windowed", "global")
    return report


def against_a_map(bench: Bench) -> Report:
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
    return report
