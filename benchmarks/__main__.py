"""python -m benchmarks [NAME…]: ask the questions, print the tables."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import platform
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType

import numpy as np

import lowtide as lt

from . import disk, memory_cgroup
from .harness import Bench, Report

QUESTIONS = (
    "shuffled_rows",
    "sequential_scan",
    "copy_file",
    "expressions",
    "warm_reads",
    "open_file",
    "cost_follows_work",
    "naive_loop",
    "token_batches",
    "row_batches",
    "permutation_calls",
    "consumer_step",
    "doctor_overhead",
)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Compare lowtide with its peers, and with what the disk can do, on this machine.",
        epilog="example: python -m benchmarks shuffled_rows sequential_scan --quick --json figures.json",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"which questions (default all): {', '.join(QUESTIONS)}"
    )
    parser.add_argument("--quick", action="store_true", help="files of 512 MiB instead of 4 GiB, and 3 rounds")
    parser.add_argument("--rounds", type=int, help="how often each contender runs (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round of every contender here")
    parser.add_argument("--dir", type=Path, help="a folder for the files, on the disk to measure (default: temporary)")
    parser.add_argument("--keep", action="store_true", help="leave the files for the next run")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a bar is missed")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in QUESTIONS]
    if unknown:
        parser.error(f"no question is called {', '.join(unknown)}; there are {', '.join(QUESTIONS)}")
    return arguments


def _prepare(folder: Path, quick: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kind = disk.file_system(folder)
    if kind in disk.MEMORY_FILE_SYSTEMS:
        raise SystemExit(f"{folder} is on {kind}, which is memory: name a folder on a disk with --dir")
    needed = (4 if quick else 13) * disk.GIB
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SystemExit(f"{folder} has {free >> 30} GiB free, and {needed >> 30} are needed: name another with --dir")


def _machine(bench: Bench) -> dict[str, str]:
    with memory_cgroup.fresh() as cgroup:
        counted = "peak of a cgroup, page cache included" if cgroup else "peak resident set, WITHOUT the page cache"
    ahead = bench.device.read_ahead_kib
    if not bench.device.can_set_read_ahead():
        read_ahead = f"{ahead} KiB, which may not be changed here: np.memmap is measured with it"
    else:
        read_ahead = f"{ahead} KiB; 128 KiB, Linux's default, while np.memmap is measured"
    dropped = os.access("/proc/sys/vm/drop_caches", os.W_OK)
    return {
        "kernel": platform.release(),
        "cores": str(len(os.sched_getaffinity(0))),
        "disk": f"{disk.file_system(bench.folder)} on {bench.device.name}",
        "read-ahead": read_ahead,
        "cold": "fadvise, checked by cachestat" + (", and drop_caches" if dropped else ""),
        "memory": counted,
        "load": f"{os.getloadavg()[0]:.1f} at the start",
        "fio": "found" if disk.have_fio() else "not found: the disk's own rates are left out (apt install fio)",
        "versions": f"lowtide {lt.__version__}, NumPy {np.__version__}, Python {platform.python_version()}",
    }


def _fingerprint() -> str:
    folder = Path(lt.__file__).parent
    content = b"".join(path.read_bytes() for path in sorted([*folder.glob("_core*.so"), *folder.glob("*.py")]))
    return hashlib.sha256(content).hexdigest()[:12]


def _stop(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)  # an exception, so that what was changed is put back


def main() -> int:
    """Ask, print, put everything back."""
    arguments = _parse()
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGHUP, _stop)
    folder = arguments.dir / "lowtide-benchmarks" if arguments.dir else disk.default_folder()
    _prepare(folder, arguments.quick)
    bench = Bench(folder, arguments.quick, arguments.rounds or (3 if arguments.quick else 5), disk.Device(folder))
    machine = _machine(bench)
    machine["build"] = _fingerprint()
    for key, value in machine.items():
        print(f"{key:>10}: {value}")
    reports: list[Report] = []
    try:
        for name in arguments.names or QUESTIONS:
            for report in importlib.import_module(f"benchmarks.{name}").ask(bench):
                report.print()
                reports.append(report)
    finally:
        if arguments.json:
            answers = [report.as_json() for report in reports]
            arguments.json.write_text(json.dumps({"machine": machine, "answers": answers}, indent=1) + "\n")
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if machine["build"] != _fingerprint():
        print("\nWARNING: lowtide was installed anew during the run: these figures are of two builds")
    judged = [(report, bar) for report in reports for bar in report.bars if bar.passed is not None]
    missed = [f"{bar.what} ({report.setting.splitlines()[0]})" for report, bar in judged if not bar.passed]
    print(
        f"\n{len(judged) - len(missed)} of {len(judged)} bars pass" + "".join(f"\n  missed: {what}" for what in missed)
    )
    return 1 if missed and arguments.strict else 0


if __name__ == "__main__":
    sys.exit(main())
