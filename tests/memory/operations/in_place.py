"""Assigning to a file in place."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowtide as lt

from .case import COLUMNS, ROWS, Case
from .catalogue import Expect, Steps, operation
from .inputs import random, values


def assigned(*pairs: tuple[Any, Any]) -> Expect:
    def expect(case: Case, c: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        out = c.copy()
        for index, value in pairs:
            out[index] = value() if callable(value) else value
        return out

    return expect


BIG_SLICE = np.s_[1000:17384]


@operation(assigned((BIG_SLICE, lambda: values(16384)), (np.s_[::-9, 5:9], 3)), "target")
def assign_slices(case: Case) -> Steps:
    block = values(16384)
    yield
    a = lt.open(case.target, mode="r+")
    a[BIG_SLICE] = block
    a[::-9, 5:9] = 3
    a.flush()


@operation(assigned((np.s_[:, 17], -1), (np.s_[:, 900:903], 4)), "target")
def assign_columns(case: Case) -> Steps:
    yield
    a = lt.open(case.target, mode="r+")
    a[:, 17] = -1
    a[:, 900:903] = 4.0
    a.flush()


FANCY = random().permutation(ROWS)[:8000]


@operation(assigned((FANCY, lambda: values(8000))), "target")
def assign_rows_of_an_index(case: Case) -> Steps:
    block = values(8000)
    yield
    a = lt.open(case.target, mode="r+")
    a[FANCY] = block
    a.flush()


MASK = random().random(ROWS) < 0.2


@operation(assigned((MASK, 11)), "target")
def assign_a_mask(case: Case) -> Steps:
    yield
    a = lt.open(case.target, mode="r+")
    a[MASK] = 11
    a.flush()


ELEMENTS = random().integers(0, 4096, 60_000), random().integers(0, COLUMNS, 60_000)[::-1].copy()


@operation(assigned((ELEMENTS, 13)), "target")
def assign_elements_out_of_order(case: Case) -> Steps:
    yield
    a = lt.open(case.target, mode="r+")
    a[ELEMENTS] = 13
    a.flush()


@operation(assigned((np.s_[:16384], lambda: values(16384))), "target")
def assign_big_endian_values(case: Case) -> Steps:
    block = values(16384, ">i4")
    yield
    a = lt.open(case.target, mode="r+")
    a[:16384] = block
    a.flush()


@operation(lambda case, c: assigned((np.s_[100 : 100 + case.rows], c[: case.rows]))(case, c), "target")
def assign_an_array(case: Case) -> Steps:
    yield
    a = lt.open(case.target, mode="r+")
    a[100 : 100 + case.rows] = case.array()[: case.rows]
