"""np.memmap beside lowtide, in a container four times smaller than the file: seconds, peak memory, memory over time.

python -m examples.demo [--size 1GiB] [--picture build/demo.png]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks import disk, memory_cgroup

from . import demo_chart

MIB = 1 << 20
BUDGET = 64 * MIB
BATCH = 256
SHUFFLED_ROWS = 16_384
SINGLE_ROWS = 4_096
SAMPLE_SECONDS = 0.02


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
    key: str
    cold: bool = True

    def contenders(self) -> list[tuple[str, str]]:
        return [("np.memmap", f"memmap_{self.key}"), ("lowtide", f"lowtide_{self.key}")]


WORKS = [
    Work(f"{SHUFFLED_ROWS:,} shuffled rows of 4 KiB, batches of {BATCH}", "shuffled"),
    Work("a scan of the whole file, every number summed", "scan"),
    Work("a copy of the file, on disk at the end", "copy"),
    Work(f"{SINGLE_ROWS:,} single rows in a Python loop, file already cached", "single", cold=False),
]


@dataclass
class Run:
    """What one contender took."""

    name: str
    seconds: float = 0.0
    failure: str = ""
    peak: int = 0
    samples: list[tuple[float, int]] = field(default_factory=list)


def run(name: str, function: str, path: Path, out: Path, limit: int) -> Run:
    """The function in a process of its own, in a cgroup of its own, watched from outside."""
    result = Run(name)
    with memory_cgroup.fresh(limit) as group:
        command = [sys.executable, "-m", "examples.demo", "--worker", function, str(path), str(out), str(group or "")]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin
        assert process.stdout
        process.stdout.readline()  # imported, and in the cgroup
        cgroup = memory_cgroup.MemoryCgroup(group) if group else None
        process.stdin.write("go\n")
        process.stdin.flush()
        start = time.perf_counter()
        while process.poll() is None:
            if cgroup:
                result.samples.append((time.perf_counter() - start, cgroup.now()))
            with suppress(subprocess.TimeoutExpired):
                process.wait(SAMPLE_SECONDS)
        answer = process.stdout.read().strip()
        process.stdin.close()
        process.stdout.close()
        if process.returncode != 0 or not answer:
            result.failure = "killed: out of memory" if process.returncode == -9 else f"exit {process.returncode}"
            result.seconds = time.perf_counter() - start
        else:
            result.seconds = json.loads(answer)["seconds"]
        result.peak = cgroup.peak() if cgroup else 0
    return result


def worker(function: str, path: str, out: str, group: str) -> None:
    """The child: imports, joins its cgroup, waits for the word, works."""
    import lowtide as lt

    lt.set_budget(BUDGET)
    if group:
        memory_cgroup.MemoryCgroup(Path(group)).join()
    work: Callable[[str, str], None] = globals()[function]
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    work(path, out)
    print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)


def warm(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(4 * MIB):
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="1GiB", help="of the file that is made (default 1GiB)")
    parser.add_argument("--picture", default="build/demo.png", help="where the chart goes (default build/demo.png)")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(*arguments.worker)
        return
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
            f"Each contender runs in a container of {limit // MIB} MiB, page cache included. "
            f"lowtide's budget is {BUDGET // MIB} MiB.\n"
            f"Read-ahead is Linux's default, 128 KiB{'' if device.can_set_read_ahead() else ' (not set here)'}.\n"
        )
        results: list[tuple[Work, list[Run]]] = []
        for work in WORKS:
            runs = []
            for name, function in work.contenders():
                out.unlink(missing_ok=True)
                if work.cold:
                    disk.make_cold(path)
                else:
                    warm(path)
                with device.read_ahead(128):
                    runs.append(run(name, function, path, out, limit))
            results.append((work, runs))
            demo_chart.show(work.title, runs, limit)
    demo_chart.summarise(results, limit)
    picture = demo_chart.draw(results, limit, BUDGET, Path(arguments.picture))
    print(f"\nThe same as a picture: {picture}" if picture else "\n(no picture: matplotlib is not installed)")


if __name__ == "__main__":
    main()
