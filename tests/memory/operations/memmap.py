"""Reading and writing as np.memmap does, and releasing one of NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowtide as lt

from .case import COLUMNS, HEADER, MIB, ROWS, Case
from .catalogue import Steps, operation
from .inputs import random, values


def windows() -> list[int]:
    return random().integers(0, ROWS * COLUMNS * 2 - 1025, 3000).tolist()


@operation(lambda case, c: [c.reshape(-1).view(np.uint16)[i : i + 1025] for i in windows()])
def memmap_windows(case: Case) -> Steps:
    starts = windows()
    yield
    m = lt.memmap(case.path("raw.bin"), dtype=np.uint16, mode="r")
    for i in starts:
        yield m[i : i + 1025]


@operation(lambda case, c: c)
def memmap_slices(case: Case) -> Steps:
    yield
    m = lt.memmap(case.path("c.npy"), dtype=np.int32, mode="r", offset=HEADER, shape=(ROWS, COLUMNS))
    for start in range(0, ROWS, 512):
        yield m[start : start + 512]


def memmap_assigned(case: Case, c: Any) -> Any:
    out = c.reshape(-1).copy()
    for start in range(1000, ROWS * COLUMNS - 700_000, 700_000):
        out[start : start + 500_000] = values(500)[:, :1000].reshape(-1)
    return out.reshape(ROWS, COLUMNS)


@operation(memmap_assigned, "target")
def memmap_writes(case: Case) -> Steps:
    block = values(500)[:, :1000].reshape(-1)
    yield
    m = lt.memmap(case.target, dtype=np.int32, mode="r+", offset=HEADER)
    for start in range(1000, ROWS * COLUMNS - 700_000, 700_000):
        m[start : start + 500_000] = block
    m.flush()


@operation(lambda case, c: [c[:4096].reshape(-1)[::-1]])
def memmap_new_file(case: Case) -> Steps:
    yield
    count = 4096 * COLUMNS
    m = lt.memmap(case.output, dtype=np.int32, mode="w+", shape=(count,))
    source = case.array()
    for start in range(0, 4096, 128):
        rows = source.read(np.s_[start : start + 128])
        m[count - (start + 128) * COLUMNS : count - start * COLUMNS] = rows.reshape(-1)[::-1]
    m.flush()
    for start in range(0, count, 128 * COLUMNS):
        yield m[start : start + 128 * COLUMNS]


@operation(lambda case, c: [np.array([c.sum(dtype=np.int64)])])
def release_an_ordinary_memmap(case: Case) -> Steps:
    yield
    m = np.memmap(case.path("raw.bin"), dtype=np.int32, mode="r")
    total = 0
    for start in range(0, len(m), MIB):
        total += int(m[start : start + MIB].sum(dtype=np.int64))
        lt.release(m)
    yield np.array([total])
