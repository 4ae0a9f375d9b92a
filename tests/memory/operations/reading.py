"""Reading a selection, whole."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowtide as lt

from .case import ROW_BYTES, ROWS, Case
from .catalogue import Steps, operation
from .inputs import random, some_elements
from .refusal import is_refused


@operation(lambda case, c: c[100 : 100 + case.rows])
def compute_a_part(case: Case) -> Steps:
    yield
    yield case.array()[100 : 100 + case.rows].compute()


@operation(lambda case, c: c[7 : 7 + case.budget // ROW_BYTES * 3 // 4])
def compute_nearly_the_budget(case: Case) -> Steps:
    yield
    yield np.asarray(case.array()[7 : 7 + case.budget // ROW_BYTES * 3 // 4])


def some_rows(case: Case) -> np.ndarray[Any, Any]:
    return random().integers(-ROWS, ROWS, case.rows)


@operation(lambda case, c: c[some_rows(case)])
def read_random_rows(case: Case) -> Steps:
    rows = some_rows(case)
    yield
    yield case.array().read(rows)


@operation(lambda case, c: c[some_rows(case)])
def read_rows_of_a_list(case: Case) -> Steps:
    rows = some_rows(case).tolist()
    yield
    yield case.array().read(rows)


@operation(lambda case, c: c[some_rows(case)])
def read_rows_of_an_int32_index(case: Case) -> Steps:
    rows = some_rows(case).astype(np.int32)
    yield
    yield case.array().read(rows)


@operation(lambda case, c: c.reshape(-1).view(np.int64)[some_elements()])
def read_100000_elements(case: Case) -> Steps:
    elements = some_elements()
    yield
    yield case.elements().read(elements)


def few_rows() -> np.ndarray[Any, Any]:
    return random().random(ROWS) < 0.03


@operation(lambda case, c: c[few_rows()])
def read_a_mask(case: Case) -> Steps:
    mask = few_rows()
    yield
    yield case.array().read(mask)


@operation(lambda case, c: c[::8, ::7])
def read_with_a_stride(case: Case) -> Steps:
    yield
    yield case.array()[::8, ::7].compute()


@operation(lambda case, c: [c[::-32], c[50 : 50 + case.rows, ::-1]])
def read_reversed(case: Case) -> Steps:
    yield
    yield case.array()[::-32].compute()
    yield case.array()[50 : 50 + case.rows, ::-1].compute()


@operation(lambda case, c: c.T[10:18])
def read_transposed(case: Case) -> Steps:
    yield
    yield case.array().T[10:18].compute()


@operation(lambda case, c: [c[40:2088:2], c[:, 3:9]])
def read_fortran_order(case: Case) -> Steps:
    yield
    yield case.array("fortran.npy")[40:2088:2].compute()
    yield case.array("fortran.npy")[:, 3:9].compute()


@operation(lambda case, c: c[9 : 9 + case.rows])
def read_big_endian(case: Case) -> Steps:
    yield
    yield case.array("big.npy")[9 : 9 + case.rows].compute()


@operation(lambda case, c: c[: case.budget // 6 // ROW_BYTES].astype(np.float64))
def asarray_with_a_dtype(case: Case) -> Steps:
    yield
    yield np.asarray(case.array()[: case.budget // 6 // ROW_BYTES], dtype=np.float64)


@operation(lambda case, c: [np.array([True])])
def asarray_with_a_dtype_that_does_not_fit(case: Case) -> Steps:
    yield
    rows = case.budget // ROW_BYTES * 3 // 4  # of int32: twice that as float64
    yield np.array([is_refused(lambda: np.asarray(case.array()[:rows], dtype=np.float64))])


@operation(lambda case, c: [np.array([True])])
def index_list_that_does_not_fit(case: Case) -> Steps:
    index = [5] * (case.budget // 8 + 1000)
    yield
    yield np.array([is_refused(lambda: case.elements().read(index))])


@operation(lambda case, c: [c[5, 6:7], c[:3], np.array(c[7, 8])])
def small_things(case: Case) -> Steps:
    yield
    a = case.array()
    assert repr(a)
    assert a._repr_html_()
    assert lt.info()["files"]
    yield np.array([a[5, 6].item()], np.int32)
    yield np.from_dlpack(a[:3])
    yield np.array(int(a[7, 8]), np.int32)
