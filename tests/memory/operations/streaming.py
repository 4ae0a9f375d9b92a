"""Streaming a file, block by block."""

from __future__ import annotations

from .case import Case
from .catalogue import Steps, operation


@operation(lambda case, c: c)
def stream_blocks(case: Case) -> Steps:
    yield
    for _, rows in case.array().blocks():
        yield rows
        del rows


@operation(lambda case, c: c)
def stream_blocks_of_7_rows(case: Case) -> Steps:
    yield
    for _, rows in case.array().blocks(rows=7):
        yield rows
        del rows


@operation(lambda case, c: c)
def stream_blocks_of_a_big_endian_file(case: Case) -> Steps:
    yield
    for _, rows in case.array("big.npy").blocks():
        yield rows
        del rows


@operation(lambda case, c: c[:, :16].T)
def stream_blocks_transposed(case: Case) -> Steps:
    yield
    for _, rows in case.array()[:, :16].T.blocks():
        yield rows
        del rows


@operation(lambda case, c: c[:4096])
def stream_blocks_of_a_fortran_file(case: Case) -> Steps:
    yield
    for _, rows in case.array("fortran.npy")[:4096].blocks():
        yield rows
        del rows


@operation(lambda case, c: c)
def iterate(case: Case) -> Steps:
    yield
    for row in case.array():
        yield row
        del row
