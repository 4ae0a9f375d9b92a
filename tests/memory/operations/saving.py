"""Saving arrays, from a file and from memory."""

from __future__ import annotations

import numpy as np

import lowtide as lt

from .case import ROWS, Case
from .catalogue import Steps, operation
from .inputs import values


@operation(lambda case, c: c, "output")
def save_a_copy(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array())


@operation(lambda case, c: c[: ROWS // 2].astype(np.float64), "output")
def save_with_a_dtype(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array()[: ROWS // 2], dtype="float64")


@operation(lambda case, c: c[:4096], "output")
def save_in_fortran_order(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array()[:4096], order="F")


@operation(lambda case, c: c[:, :128], "output")
def save_from_fortran_order(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array("fortran.npy")[:, :128])


@operation(lambda case, c: c[::2, 1:], "output")
def save_a_strided_view(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array()[::2, 1:])


@operation(lambda case, c: c, "output")
def save_a_big_endian_file(case: Case) -> Steps:
    yield
    lt.save(case.output, case.array("big.npy"))


@operation(lambda case, c: values(16384, np.float32), "output")
def save_an_ndarray(case: Case) -> Steps:
    array = values(16384)
    yield
    lt.save(case.output, array, dtype="float32")


@operation(lambda case, c: values(16384), "output")
def save_a_big_endian_ndarray(case: Case) -> Steps:
    array = values(16384, ">i4")
    yield
    lt.save(case.output, array)
