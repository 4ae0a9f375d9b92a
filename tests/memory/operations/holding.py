"""Holding on to results, writers and iterators until the budget says no."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowtide as lt

from .case import COLUMNS, ROW_BYTES, ROWS, Case
from .catalogue import Steps, operation
from .inputs import values
from .refusal import held, is_refused


def refused(case: Case, c: Any) -> Any:
    return [np.array([True])]


@operation(refused)
def hold_results(case: Case) -> Steps:
    yield
    a = case.array()
    kept = held(a[start : start + 173].compute() for start in range(0, ROWS, 173))
    yield np.array([sum(k.nbytes for k in kept) > case.budget // 2])


@operation(refused)
def hold_small_results(case: Case) -> Steps:
    yield
    a = case.array()
    kept = held(a.read(row) for row in range(ROWS))
    yield np.array([len(kept) > 100])


@operation(refused)
def hold_tiny_results(case: Case) -> Steps:
    yield
    m = lt.memmap(case.path("raw.bin"), dtype=np.int64, mode="r")
    kept = held(m[i : i + 1] for i in range(ROWS * 4))
    yield np.array([len(kept) > 100])


@operation(refused)
def hold_gathers(case: Case) -> Steps:
    yield
    a = case.array()
    kept = held(a.read(np.arange(start, ROWS, 500)) for start in range(500 * 20))
    yield np.array([len(kept) > 1])


@operation(refused)
def hold_blocks(case: Case) -> Steps:
    yield
    kept = held(rows for _, rows in case.array().blocks())
    yield np.array([len(kept) > 1])


@operation(refused)
def hold_rows_of_an_iteration(case: Case) -> Steps:
    yield
    kept = held(case.array())
    yield np.array([len(kept) > 1])


@operation(refused)
def hold_lazy_gathers(case: Case) -> Steps:
    index = np.arange(100_000)
    yield
    a = case.elements()
    kept = held(a[index + k] for k in range(1000))
    yield np.array([len(kept) > 1])


@operation(lambda case, c: [c[:512]])
def lower_the_budget(case: Case) -> Steps:
    yield
    lt.set_budget(case.budget // 2)  # the most that this case may show is the budget, so it is lowered from half of it
    a = case.array()
    for start in range(0, ROWS, 512):
        a.read(np.arange(start, start + 512, 4))
    lt.set_budget(case.budget // 4)
    yield a.read(np.s_[:256])
    yield a.read(np.s_[256:512])


@operation(lambda case, c: [np.array([True])])
def read_while_a_writer_is_open(case: Case) -> Steps:
    """What an open writer keeps is nothing to wait for: this thread alone could give it back."""
    block = values(1000)
    yield
    with lt.create(case.output, shape=(0, COLUMNS), dtype="int32") as w:
        w.append(block)
        is_refused(lambda: case.array()[: case.budget // ROW_BYTES - 400].compute())
    yield np.array([True])


@operation(lambda case, c: [np.array([True])])
def read_while_an_iterator_is_open(case: Case) -> Steps:
    yield
    a = case.array()
    a.read(np.arange(0, ROWS, 64))
    blocks = a[:, :16].T.blocks()
    next(blocks)
    is_refused(lambda: a[: case.budget // ROW_BYTES - 400].compute())
    yield np.array([True])
