"""Does a gather of 4096 rows cost the same from a file of 1 GiB and from one of 16 GiB?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

ROWS = 4096
ROOM = 64 * disk.KIB  # kept around each row, so that neighbours in the file are not neighbours on the disk


def _wanted(size: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(size).permutation(size // disk.ROW_BYTES)[:ROWS]


def make_sparse(path: Path, size: int) -> None:
    """A file of holes in which only the wanted rows are there: a hole would be read without asking the disk."""
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (size // disk.ROW_BYTES, disk.COLUMNS)}
        np.lib.format.write_array_header_1_0(file, header)
        file.flush()
        file.truncate(disk.HEADER_BYTES + size)
        for row in _wanted(size).tolist():
            at = disk.HEADER_BYTES + row * disk.ROW_BYTES
            os.posix_fallocate(
                file.fileno(), at // ROOM * ROOM, min(ROOM, disk.HEADER_BYTES + size - at // ROOM * ROOM)
            )
            os.pwrite(file.fileno(), random.bytes(disk.ROW_BYTES), at)
        os.fsync(file.fileno())


def lowtide(measure: Callable[[], Any], path: str, size: int) -> dict[str, Any]:
    """One read of all the rows."""
    import lowtide as lt

    index = _wanted(size)
    lt.reset_peak()
    with measure():
        lt.open(path).read(index)
    return {"work": ROWS, "held_bytes": lt.usage().peak}


def ask(bench: Bench) -> Iterator[Report]:
    """Rates are judged by eye: 1 is perfect."""
    sizes = {"1 GiB": disk.GIB, "16 GiB": 16 * disk.GIB}
    paths = {name: bench.folder / f"sparse-{size >> 30}.npy" for name, size in sizes.items()}
    for name, size in sizes.items():
        make_sparse(paths[name], size)

    def run(name: str) -> Callable[[], Sample]:
        def once() -> Sample:
            disk.make_cold(paths[name])
            before = bench.device.reads()
            sample = bench.worker(lowtide, path=paths[name], size=sizes[name])
            after = bench.device.reads()
            sample.more["device_reads"] = None if before is None or after is None else after - before
            return sample

        return once

    rounds = bench.interleave({name: run(name) for name in sizes})

    def figures(name: str) -> str:
        more = [sample.more for sample in rounds[name] if sample]
        if not more:
            return f"{name}: did not finish"
        reads = "?" if more[0]["device_reads"] is None else f"{median(m['device_reads'] for m in more):.0f}"
        read_bytes = median(m["read_bytes"] for m in more) / disk.MIB
        held = max(m["held_bytes"] for m in more) / disk.MIB
        return f"{name}: {read_bytes:.1f} MiB read, {reads} requests at the device, {held:.1f} MiB of budget at most"

    setting = f"{ROWS} rows of 4 KiB, cold, sparse files\n  " + "\n  ".join(figures(name) for name in sizes)
    setting += "\n  (the device's count includes starting the process, and whatever else the machine reads)"
    report = Report(__doc__, setting, "rows/s", rounds)
    report.bar("16 GiB", "1 GiB")
    yield report
