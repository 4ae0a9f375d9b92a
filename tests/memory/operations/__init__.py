"""Every public operation, as a small program that is run under a budget, with what NumPy says it should give.

A program is a generator. What comes before its first yield is the caller's own (indices, values) and is not measured;
what it yields after that is checksummed and dropped. `expect` says the same with NumPy, in the parent.
"""

from importlib import import_module

from .case import COLUMNS, HEADER, MIB, ROWS, Case
from .catalogue import CATALOGUE, Operation

__all__ = ["CATALOGUE", "COLUMNS", "HEADER", "MIB", "ROWS", "Case", "Operation"]

# In the order of the catalogue, by which tests deal out the IO modes; import statements would be sorted.
for _subject in (
    "reading",
    "streaming",
    "saving",
    "new_files",
    "in_place",
    "memmap",
    "holding",
    "threads",
    "loading",
    "computing",
):
    import_module(f".{_subject}", __name__)
