"""The meters themselves: they see what is there, and a process that breaks the promise does not pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from files import Files
from meter import MIB, Cgroup, Meter, Proc, Sampler, cached_bytes, cached_bytes_by_mincore

# Holds 40 MiB of its own and 60 MiB of page cache for a moment, then waits.
GREEDY = """
import os, sys, time
print("ready", flush=True); sys.stdin.readline()
block = bytearray(b"x") * (40 << 20)
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
for start in range(0, 60):
    os.pread(fd, 1 << 20, start << 20)
time.sleep(0.05)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
del block
print("done", flush=True); sys.stdin.readline()
"""


def growth_of_greedy(meter: Meter, files: Files) -> tuple[int, int]:
    """As the meter says, and as a sampler beside it does."""
    files.cool()
    command = [*meter.enter, sys.executable, "-c", GREEDY, str(files.folder / "raw.bin")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        meter.start(process.pid)
        sampler = Sampler(meter.usage) if isinstance(meter, Cgroup) else None
        for step in ("go", "end"):
            if step == "end":
                seen = meter.peak_growth(), sampler.stop() - meter.base if sampler else 0
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
    return seen


def test_cgroup_counts_memory_and_page_cache(files: Files, cgroup: Cgroup) -> None:
    for _ in range(3):  # someone may drop the machine's caches meanwhile
        peak, sampled = growth_of_greedy(cgroup, files)
        if peak >= 99 * MIB:
            break
    assert 99 * MIB <= peak <= 104 * MIB
    assert 95 * MIB <= sampled <= peak


def test_proc_counts_memory_and_page_cache(files: Files) -> None:
    for _ in range(3):
        with Proc(files.folder) as meter:
            peak, _ = growth_of_greedy(meter, files)
        if peak >= 99 * MIB:
            break
    assert 99 * MIB <= peak <= 104 * MIB


def test_proc_takes_over_where_no_cgroup_can_be_made(files: Files) -> None:
    """With the fall-back forced, tests that need a cgroup say why they are skipped, and those of /proc pass."""
    chosen = "stream_blocks and uring"
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-k", chosen, "test_promise.py"]
    environment = os.environ | {"LOWTIDE_METER": "proc", "LOWTIDE_FULL": "0"}
    done = subprocess.run(command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "LOWTIDE_METER=proc: the peak is only seen through /proc here" in done.stdout
    assert " passed" in done.stdout


@pytest.mark.parametrize("count", [cached_bytes, cached_bytes_by_mincore])
def test_pages_of_a_file_in_the_page_cache_are_counted(count, files: Files) -> None:
    files.cool()
    fd = os.open(files.folder / "c.npy", os.O_RDONLY)
    try:
        assert count(fd) == 0
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(fd, 3 * MIB, 0)
        assert count(fd) == 3 * MIB
    finally:
        os.close(fd)
        files.cool()
