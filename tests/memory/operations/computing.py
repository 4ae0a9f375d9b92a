"""Expressions and reductions of files that are many times the budget."""

from __future__ import annotations

import numpy as np

import lowtide as lt

from .case import Case
from .catalogue import Steps, operation


@operation(lambda case, c: (c.astype(np.int64) * 3 + 1).astype(np.int32), "output")
def save_an_expression(case: Case) -> Steps:
    yield
    lt.save(case.output, lt.astype(lt.astype(case.array(), "int64") * 3 + 1, "int32"))


@operation(lambda case, c: c ^ c[::-1], "output")
def save_an_expression_of_two_arrays(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array() ^ case.array("big.npy")[::-1])


@operation(lambda case, c: [c.sum(axis=0), c.max(axis=1)])
def reduce_along_either_axis(case: Case) -> Steps:
    yield
    yield lt.sum(case.array(), axis=0).compute()
    yield lt.max(case.array(), axis=1).compute()


@operation(lambda case, c: [c.sum(axis=0), c.max(axis=1)])
def reduce_fortran_order(case: Case) -> Steps:
    yield
    yield lt.sum(case.array("fortran.npy"), axis=0).compute()
    yield lt.max(case.array("fortran.npy"), axis=1).compute()


@operation(lambda case, c: [c.min(), c.max(), np.int64((c > 0).sum())])
def several_reductions_at_once(case: Case) -> Steps:
    a = case.array()
    yield
    yield from lt.compute(lt.min(a), lt.max(a), lt.count_nonzero(a > 0))


@operation(lambda case, c: (c - c.max(axis=0))[-100:])
def an_expression_with_a_reduction_in_it(case: Case) -> Steps:
    yield
    a = case.array()
    yield (a - lt.max(a, axis=0))[-100:].compute()


@operation(lambda case, c: c.sum(axis=0, dtype=np.int64))
def stream_an_expression(case: Case) -> Steps:
    yield
    total = np.zeros(1024, np.int64)
    for _, rows in (case.array() * 1).blocks():
        total += rows.sum(axis=0, dtype=np.int64)
    yield total
