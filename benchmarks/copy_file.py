"""How fast is a cold copy that is safe on disk, beside cp and sync and beside the disk reading and writing at once?"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import disk
from .harness import Bench, Report, Sample


def lowtide(measure: Callable[[], Any], source: str, target: str) -> int:
    """lt.save of an lt.open: streamed, synced, renamed."""
    import lowtide as lt

    with measure():
        a = lt.open(source)
        lt.save(target, a)
    return a.nbytes


def ask(bench: Bench) -> Iterator[Report]:
    """cp keeps the machine's read-ahead, and may not share blocks: the data is copied by all."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    source, target = bench.folder / f"rows-{size >> 20}.npy", bench.folder / "copy.npy"
    disk.make_npy(source, size)

    def fresh() -> None:
        target.unlink(missing_ok=True)
        subprocess.run(["sync", "-f", str(bench.folder)], check=True)  # nobody pays for the deletion before
        disk.make_cold(source)

    def run_cp() -> Sample:
        fresh()
        start = time.perf_counter()
        subprocess.run(["cp", "--reflink=never", str(source), str(target)], check=True)
        subprocess.run(["sync", str(target)], check=True)
        seconds = time.perf_counter() - start
        return Sample(size / disk.MIB / seconds, seconds)

    def run_lowtide() -> Sample:
        fresh()
        return bench.worker(lowtide, scale=1 / disk.MIB, source=source, target=target)

    def run_fio(huge_pages: bool) -> Callable[[], Sample]:
        common = {"bs": "1m", "iodepth": 8, "size": size}
        read, write = {"filename": source, "rw": "read"}, {"filename": target, "rw": "write", "end_fsync": 1}

        def run() -> Sample:
            fresh()
            jobs = disk.fio({**read, **common}, {**write, **common}, huge_pages=huge_pages)
            seconds = max(jobs[0]["read"]["runtime"], jobs[1]["write"]["runtime"]) / 1e3
            return Sample(size / disk.MIB / seconds, seconds)

        return run

    contenders = {"cp, sync": run_cp, "lowtide": run_lowtide}
    if disk.have_fio():
        contenders["fio, reading and writing"] = run_fio(False)
        contenders["fio, huge pages"] = run_fio(True)
    try:
        rounds = bench.interleave(contenders)
    finally:
        target.unlink(missing_ok=True)
    report = Report(__doc__, f"{size >> 20} MiB, cold; the rate is bytes copied", "MiB/s", rounds)
    report.bar("lowtide", "cp, sync", at_least=3)
    report.bar("lowtide", "fio, reading and writing", at_least=0.7)
    report.bar("lowtide", "fio, huge pages", at_least=0.7)
    yield report
