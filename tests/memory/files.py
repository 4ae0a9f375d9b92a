"""The files that operations read and write: 128 MiB each, made once, cold whenever a case begins."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from meter import cached_bytes
from operations import COLUMNS, HEADER, ROWS, Case, Operation


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        np.save(folder / "c.npy", self.reference)
        np.save(folder / "fortran.npy", np.asfortranarray(self.reference))
        np.save(folder / "big.npy", self.reference.astype(">i4"))
        self.reference.tofile(folder / "raw.bin")
        assert (folder / "c.npy").stat().st_size == HEADER + self.reference.nbytes

    @cached_property
    def reference(self) -> np.ndarray[Any, Any]:
        """Distinct values everywhere, so that no two places can be mistaken for each other."""
        count = np.arange(ROWS * COLUMNS, dtype=np.uint32)
        return (count * np.uint32(2654435761)).view(np.int32).reshape(ROWS, COLUMNS)

    @property
    def output(self) -> Path:
        return self.folder / "output.npy"

    @property
    def target(self) -> Path:
        return self.folder / "target.npy"

    def prepare(self, operation: Operation) -> None:
        for path in self.folder.glob("output*"):
            path.unlink()
        if operation.result == "target":
            np.save(self.target, self.reference)
        self.cool()

    def cool(self) -> None:
        """Nothing of any file is in the page cache."""
        for path in self.folder.iterdir():
            fd = os.open(path, os.O_RDWR)
            try:
                os.fsync(fd)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                assert cached_bytes(fd) == 0, f"{path} is still in the page cache"
            finally:
                os.close(fd)

    def cached(self) -> int:
        """Bytes of all files in the page cache."""
        total = 0
        for path in self.folder.iterdir():
            with path.open("rb") as file:
                total += cached_bytes(file.fileno())
        return total

    def expected(self, operation: Operation, case: Case) -> Any:
        return operation.expect(case, self.reference)
