"""How fast is a pass over a cold file, beside a loop over np.memmap and beside the disk's own rate?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

Measure = Callable[[], Any]
BLOCK_ROWS = 1024  # np.memmap's blocks: 4 MiB, what lowtide chooses for itself

# What is done with each block. A row is a page: "pages" touches every page once, so that a map has to read them all.
TOUCH: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "nothing": lambda rows: rows[0, 0],
    "pages": lambda rows: np.add.reduce(rows[:, 0]),
    "sum": lambda rows: np.add.reduce(rows, axis=None),
}


def memmap(measure: Measure, path: str, touch: str) -> int:
    """Blocks of a map."""
    use = TOUCH[touch]
    with measure():
        m = np.load(path, mmap_mode="r")
        for start in range(0, len(m), BLOCK_ROWS):
            use(m[start : start + BLOCK_ROWS])
    return m.nbytes


def lowtide(measure: Measure, path: str, touch: str) -> int:
    """a.blocks()."""
    import lowtide as lt

    use = TOUCH[touch]
    with measure():
        a = lt.open(path)
        for _, rows in a.blocks():
            use(rows)
    return a.nbytes


def ask(bench: Bench) -> Iterator[Report]:
    """Touching nothing is compared with fio, touching each page with np.memmap, summing is reported."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    path = bench.folder / f"rows-{size >> 20}.npy"
    disk.make_npy(path, size)

    def run_memmap(touch: str) -> Callable[[], Sample]:
        def run() -> Sample:
            disk.make_cold(path)
            with bench.device.read_ahead(128):
                return bench.worker(memmap, scale=1 / disk.MIB, path=path, touch=touch)

        return run

    def run_lowtide(touch: str) -> Callable[[], Sample]:
        def run() -> Sample:
            disk.make_cold(path)
            return bench.worker(lowtide, scale=1 / disk.MIB, path=path, touch=touch)

        return run

    def run_fio(huge_pages: bool) -> Callable[[], Sample]:
        job = {"filename": path, "rw": "read", "bs": "1m", "iodepth": 8, "size": size}

        def run() -> Sample:
            disk.make_cold(path)
            read = disk.fio(job, huge_pages=huge_pages)[0]["read"]
            return Sample(read["bw_bytes"] / disk.MIB, read["runtime"] / 1e3)

        return run

    contenders = {
        "np.memmap, each page touched": run_memmap("pages"),
        "np.memmap, summed": run_memmap("sum"),
        "lowtide": run_lowtide("nothing"),
    }
    if disk.have_fio():
        contenders["fio, 1 MiB, depth 8"] = run_fio(False)
        contenders["fio, huge pages"] = run_fio(True)
    contenders["lowtide, each page touched"] = run_lowtide("pages")
    contenders["lowtide, summed"] = run_lowtide("sum")
    report = Report(__doc__, f"{size >> 20} MiB, cold, float32", "MiB/s", bench.interleave(contenders))
    report.bar("lowtide", "fio, 1 MiB, depth 8", at_least=0.85)
    report.bar("lowtide", "fio, huge pages", at_least=0.85)
    report.bar("lowtide, each page touched", "np.memmap, each page touched", at_least=2)
    report.bar("lowtide, summed", "np.memmap, summed")
    report.bar("lowtide, summed", "fio, 1 MiB, depth 8")
    yield report
