"""How fast are expressions and reductions of cold files, beside a loop over np.memmap, Dask and the disk's own rate?"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

Measure = Callable[[], Any]
COLUMNS = 10_000
BLOCK_ROWS = 250  # the peers' blocks: 20 MB


def _maps(paths: list[str]) -> list[np.ndarray[Any, Any]]:
    return [np.load(path, mmap_mode="r") for path in paths]


def memmap_loop(measure: Measure, paths: list[str], work: str) -> int:
    """Blocks of maps, by NumPy."""
    with measure():
        maps = _maps(paths)
        total = squares = 0.0
        for start in range(0, len(maps[0]), BLOCK_ROWS):
            blocks = [m[start : start + BLOCK_ROWS] for m in maps]
            if work == "mean and std":
                total += blocks[0].sum()
                squares += np.square(blocks[0]).sum()
            else:
                x, y = blocks
                total += (np.sin(x) ** 2 + np.cos(y) ** 2 + x * y).sum()
    return sum(m.nbytes for m in maps)


def dask_wrapped(measure: Measure, paths: list[str], work: str) -> int:
    """Dask, handed a wrapper that opens the map for each chunk."""
    import dask.array as da

    class Opened:
        def __init__(self, path: str) -> None:
            self.path = path
            m = np.load(path, mmap_mode="r")
            self.shape, self.dtype, self.ndim = m.shape, m.dtype, m.ndim

        def __getitem__(self, index: Any) -> Any:
            return np.array(np.load(self.path, mmap_mode="r")[index])

    with measure():
        arrays = [da.from_array(Opened(path), chunks=(BLOCK_ROWS, COLUMNS), asarray=False) for path in paths]
        if work == "mean and std":
            da.compute(arrays[0].mean(), arrays[0].std())
        else:
            x, y = arrays
            (da.sin(x) ** 2 + da.cos(y) ** 2 + x * y).sum().compute()
    return sum(array.nbytes for array in arrays)


def lowtide(measure: Measure, paths: list[str], work: str) -> int:
    """lt.compute."""
    import lowtide as lt

    with measure():
        arrays = [lt.open(path) for path in paths]
        x = arrays[0]
        if work == "mean and std":
            lt.compute(x.mean(), x.std())
        elif work in ("sum, axis=0", "sum, axis=1"):
            x.sum(axis=int(work[-1])).compute()
        else:
            y = arrays[1]
            (lt.sin(x) ** 2 + lt.cos(y) ** 2 + x * y).sum().compute()
    return sum(array.nbytes for array in arrays)


def ask(bench: Bench) -> Iterator[Report]:
    """Each work in a container of 1 GiB; what reads one file is compared with fio, too."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    paths = [bench.folder / f"{name}-{size >> 20}.npy" for name in ("x", "y")]
    for path in paths:
        disk.make_npy(path, size, COLUMNS, "<f8")

    def cold(function: Callable[..., int], work: str, files: list[Path]) -> Callable[[], Sample]:
        def run() -> Sample:
            for path in files:
                disk.make_cold(path)
            with bench.device.read_ahead(128):
                return bench.worker(function, scale=1 / disk.MIB, paths=[str(path) for path in files], work=work)

        return run

    def fio() -> Sample:
        disk.make_cold(paths[0])
        job = {"filename": paths[0], "rw": "read", "bs": "1m", "iodepth": 8, "size": size}
        read = disk.fio(job, huge_pages=True)[0]["read"]
        return Sample(read["bw_bytes"] / disk.MIB, read["runtime"] / 1e3)

    for work, files in (("mean and std", paths[:1]), ("sum(sin(x)² + cos(y)² + x·y)", paths)):
        contenders = {"np.memmap loop": cold(memmap_loop, work, files)}
        if importlib.util.find_spec("dask"):
            contenders["Dask, wrapped"] = cold(dask_wrapped, work, files)
        contenders["lowtide"] = cold(lowtide, work, files)
        if len(files) == 1:
            if disk.have_fio():
                contenders["fio, huge pages"] = fio
            for axis in ("sum, axis=0", "sum, axis=1"):
                contenders[axis] = cold(lowtide, axis, files)
        report = Report(
            __doc__, f"{work}; {size >> 20} MiB a file, cold, float64", "MiB/s", bench.interleave(contenders)
        )
        report.bar("lowtide", "np.memmap loop", at_least=3 if len(files) == 1 else 5)
        yield report
