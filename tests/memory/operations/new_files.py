"""Making new files, piece by piece."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowtide as lt

from .case import COLUMNS, ROWS, Case
from .catalogue import Steps, operation
from .inputs import random, values


def regions() -> list[int]:
    return random().permutation(np.arange(0, 16384, 256)).tolist()


def filled_regions(case: Case, c: Any) -> Any:
    out, block = np.zeros((16384, COLUMNS), np.int32), values(256)
    for k, row in enumerate(regions()):
        out[row : row + 256] = block
        out[row, :] = k
    return out


@operation(filled_regions, "output")
def create_and_fill_in_random_order(case: Case) -> Steps:
    block, order = values(256), regions()
    yield
    with lt.create(case.output, shape=(16384, COLUMNS), dtype="int32") as w:
        for k, row in enumerate(order):
            w[row : row + 256] = block
            w[row, :] = k


def filled_columns(case: Case, c: Any) -> Any:
    out = np.zeros((16384, COLUMNS), np.float64)
    out[:, 3] = 1.5
    out[::5, 100:200] = 7
    return out


@operation(filled_columns, "output")
def create_and_fill_columns(case: Case) -> Steps:
    yield
    with lt.create(case.output, shape=(16384, COLUMNS), dtype="float64") as w:
        w[:, 3] = 1.5
        w[::5, 100:200] = 7


@operation(lambda case, c: np.tile(values(1000), (32, 1)), "output")
def create_and_append(case: Case) -> Steps:
    block = values(1000)
    yield
    with lt.create(case.output, shape=(0, COLUMNS), dtype="int32") as w:
        for _ in range(32):
            w.append(block)


@operation(lambda case, c: np.tile(values(1000, np.float64), (16, 1)), "output")
def create_and_append_with_a_cast(case: Case) -> Steps:
    block = values(1000)
    yield
    with lt.create(case.output, shape=(0, COLUMNS), dtype="float64") as w:
        for _ in range(16):
            w.append(block)


@operation(lambda case, c: c, "output")
def copy_by_hand(case: Case) -> Steps:
    yield
    a = case.array()
    step = case.rows // 2
    with lt.create(case.output, shape=(0, COLUMNS), dtype="int32") as w:
        for start in range(0, ROWS, step):
            w.append(a.read(np.s_[start : start + step]))
