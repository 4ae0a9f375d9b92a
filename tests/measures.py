"""What this process has read, and what of a mapping is in memory, as the kernel counts it."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import numpy as np

MiB = 1 << 20


def resident_bytes(mapped: np.memmap) -> int:
    """What of a mapping is in memory, by mincore(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    pages = -(-mapped.nbytes // mmap.PAGESIZE)
    flags = (ctypes.c_ubyte * pages)()
    address = mapped.__array_interface__["data"][0] // mmap.PAGESIZE * mmap.PAGESIZE
    assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(mapped.nbytes), flags) == 0
    return sum(flag & 1 for flag in flags) * mmap.PAGESIZE


def bytes_read_by_this_process() -> int:
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return max(int(counters["rchar"]), int(counters["read_bytes"]))
