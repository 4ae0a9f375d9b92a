"""Array files whose element i is i."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

WIDTH = 1024  # uint32 a row: 4 KiB


def expected_rows(start: int, stop: int) -> np.ndarray:
    return np.arange(start * WIDTH, stop * WIDTH, dtype=np.uint32).reshape(-1, WIDTH)


def write_array(path: Path, row_count: int) -> Path:
    """Synced and out of the page cache."""
    np.save(path, expected_rows(0, row_count))
    make_cold(path)
    return path


def make_cold(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
