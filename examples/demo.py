"""np.memmap beside lowtide, in a container four times smaller than the file: seconds, peak memory, memory over time.

python -m examples.demo [--size 1GiB] [--picture build/demo.png]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import disk

from . import demo_chart, memory_watch, watched_run

MIB = 1 << 20
BUDGET = 64 * MIB
BATCH = 256
SHUFFLED_ROWS = 16_384
SINGLE_ROWS = 4_096


def _order(rows: int, count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, rows, count)


def memmap_shuffled(path: str, _out: str) -> None:
    a = np.load(path, mmap_mode="r")
    order = _order(len(a), SHUFFLED_ROWS)
    for i in range(0, len(order), BATCH):
        a[order[i : i + BATCH]]


def lowtide_shuffled(path: str, _out: str) -> None:
    import lowtide as lt

    a = lt.open(path)
    order = _order(len(a), SHUFFLED_ROWS)
    for i in range(0, len(order), BATCH):
        a.read(order[i : i + BATCH])


def memmap_scan(path: str, _out: str) -> None:
    a = np.load(path, mmap_mode="r")
    for start in range(0, len(a), 1024):
        a[start : start + 1024].sum()


def lowtide_scan(path: str, _out: str) -> None:
    import lowtide as lt

    for _, rows in lt.open(path).blocks():
        rows.sum()


def memmap_copy(path: str, out: str) -> None:
    a = np.load(path, mmap_mode="r")
    b = np.lib.format.open_memmap(out, mode="w+", dtype=a.dtype, shape=a.shape)
    for start in range(0, len(a), 1024):
        b[start : start + 1024] = a[start : start + 1024]
    b.flush()


def lowtide_copy(path: str, out: str) -> None:
    import lowtide as lt

    lt.save(out, lt.open(path), overwrite=True)


def memmap_single(path: str, _out: str) -> None:
    a = np.load(path, mmap_mode="r")
    for i in range(SINGLE_ROWS):
        a[i].copy()


def lowtide_single(path: str, _out: str) -> None:
    import lowtide as lt

    a = lt.open(path)
    for i in range(SINGLE_ROWS):
        a.read(i)


@dataclass
class Work:
    """One thing to do, and how both do it."""

    title: str
    memmap: Callable[[str, str], None]
    lowtide: Callable[[str, str], None]
    cold: bool = True

    def contenders(self) -> list[tuple[str, Callable[[str, str], None]]]:
        return [("np.memmap", self.memmap), ("lowtide", self.lowtide)]


WORKS = [
    Work(f"{SHUFFLED_ROWS:,} shuffled rows of 4 KiB, batches of {BATCH}", memmap_shuffled, lowtide_shuffled),
    Work("a scan of the whole file, every number summed", memmap_scan, lowtide_scan),
    Work("a copy of the file, on disk at the end", memmap_copy, lowtide_copy),
    Work(
        f"{SINGLE_ROWS:,} single rows in a Python loop, file already cached", memmap_single, lowtide_single, cold=False
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1GiB", help="of the file that is made (default 1GiB)")
    parser.add_argument("--picture", default="build/demo.png", help="where the chart goes (default build/demo.png)")
    arguments = parser.parse_args()
    from lowtide._core import parse_bytes

    size = parse_bytes(arguments.size)
    limit = size // 4
    parent = disk.default_folder().parent
    with tempfile.TemporaryDirectory(prefix="lowtide-demo-", dir=parent) as folder:
        path, out = Path(folder, "x.npy"), Path(folder, "y.npy")
        print(f"Making {arguments.size} of float32 rows in {folder} …", flush=True)
        disk.make_npy(path, size)
        device = disk.Device(Path(folder))
        print(
            f"{memory_watch.describe(limit, path)} lowtide's budget is {BUDGET // MIB} MiB.\n"
            f"Read-ahead is Linux's default, 128 KiB{'' if device.can_set_read_ahead() else ' (not set here)'}.\n"
        )
        results: list[demo_chart.Result] = []
        for work in WORKS:
            runs = []
            for name, function in work.contenders():
                out.unlink(missing_ok=True)
                if work.cold:
                    disk.make_cold(path)
                else:
                    disk.make_warm(path)
                with device.read_ahead(128):
                    runs.append(watched_run.run(name, function, [path, out], limit, BUDGET))
            results.append((work.title, runs))
            demo_chart.show(work.title, runs, limit)
    demo_chart.summarise(results, limit)
    picture = demo_chart.draw(results, limit, BUDGET, Path(arguments.picture))
    print(f"\nThe same as a picture: {picture}" if picture else f"\n(no picture: {demo_chart.why_no_picture(results)})")


if __name__ == "__main__":
    main()
