"""What an operation is run with: its budget, its IO mode and its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import lowtide as lt

MIB = 1 << 20
ROWS, COLUMNS = 32768, 1024  # of int32: rows of 4 KiB, 128 MiB
ROW_BYTES = COLUMNS * 4
HEADER = 128  # bytes of an .npy header


@dataclass(frozen=True)
class Case:
    operation: str
    mode: str
    budget: int
    folder: str
    output: str  # does not exist yet
    target: str  # a copy of c.npy that may be written to

    def path(self, name: str) -> str:
        return str(Path(self.folder) / name)

    def array(self, name: str = "c.npy") -> lt.Array:
        return lt.open(self.path(name))

    def elements(self) -> lt.Array:
        return lt.open(self.path("raw.bin"), dtype="int64")

    @property
    def rows(self) -> int:
        """As many rows as fill half of the budget."""
        return self.budget // 2 // ROW_BYTES
