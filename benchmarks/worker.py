"""One contender in a process of its own: times what `with measure():` encloses, and what it cost in memory and reads.

python -m benchmarks.worker MODULE FUNCTION ARGUMENTS CGROUP prints one JSON object. The function gets `measure` and the
arguments, prepares, encloses the work, and returns how much work that was (rows, bytes) or a dict with "work" in it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .memory_cgroup import MemoryCgroup


def _counters() -> dict[str, int]:
    lines = Path("/proc/self/io").read_text().splitlines()
    return {key: int(value) for key, value in (line.split(": ") for line in lines)}


def _resident_peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


class Measure:
    """`with measure():` around the work; `found` holds what was seen."""

    def __init__(self, cgroup: MemoryCgroup | None) -> None:
        self.cgroup = cgroup
        self.found: dict[str, Any] = {}

    @contextmanager
    def __call__(self) -> Iterator[None]:
        Path("/proc/self/clear_refs").write_text("5")  # the resident peak starts here
        resident = _resident()
        held = self.cgroup.restart() if self.cgroup else 0
        before = _counters()
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        after = _counters()
        self.found = {
            "seconds": seconds,
            "read_bytes": after["read_bytes"] - before["read_bytes"],
            "resident_bytes": max(0, _resident_peak() - resident),
            "memory_bytes": max(0, self.cgroup.peak() - held) if self.cgroup else None,
        }


def main() -> None:
    """Run the one function that the arguments name."""
    module, function, arguments, cgroup_path = sys.argv[1:]
    cgroup = MemoryCgroup(Path(cgroup_path)) if cgroup_path else None
    if cgroup:
        cgroup.join()
    measure = Measure(cgroup)
    work = getattr(importlib.import_module(module), function)(measure, **json.loads(arguments))
    more = work if isinstance(work, dict) else {"work": work}
    print(json.dumps({**measure.found, **more}))


if __name__ == "__main__":
    main()
