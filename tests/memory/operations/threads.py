"""Several threads at once, under one budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import lowtide as lt

from .case import ROWS, Case
from .catalogue import Expect, Steps, operation
from .inputs import some_elements


def run_in_threads(count: int, work: Callable[[int], bytes]) -> bytes:
    """Each thread's answer, in order. What the budget refuses for now is tried again, as a caller would."""
    answers: list[bytes | BaseException] = [b""] * count

    def run(k: int) -> None:
        for attempt in range(2000):
            try:
                answers[k] = work(k)
                return
            except lt.BudgetError as error:
                answers[k] = error
                threading.Event().wait(0.001 * (1 + attempt % 10))
            except BaseException as error:
                answers[k] = error
                return

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return b"".join(answers)  # type: ignore[arg-type]


def add_up(blocks: Iterable[np.ndarray[Any, Any]]) -> bytes:
    total = 0
    for block in blocks:
        total += int(block.sum(dtype=np.int64))
        del block
    return total.to_bytes(16, "little", signed=True)


def thread_parts(k: int, count: int) -> tuple[int, int]:
    return ROWS * k // count, ROWS * (k + 1) // count


def thread_work(case: Case, count: int) -> Callable[[int], bytes]:
    a, elements, fortran = case.array(), case.elements(), case.array("fortran.npy")
    index = some_elements()[:20_000]

    def work(k: int) -> bytes:
        begin, end = thread_parts(k, count)
        match k % 4:
            case 0:
                return add_up(rows for _, rows in a[begin:end].blocks())
            case 1:
                return add_up([elements.read(index + k)])
            case 2:
                return add_up(a[row : row + 64].compute() for row in range(begin, end, 64))
            case _:
                return add_up([fortran[begin : begin + 50, ::2].compute()])

    return work


def threads_expected(count: int) -> Expect:
    def expect(case: Case, c: np.ndarray[Any, Any]) -> list[bytes]:
        out = []
        for k in range(count):
            begin, end = thread_parts(k, count)
            elements = c.reshape(-1).view(np.int64)[some_elements()[:20_000] + k]
            out.append(add_up([(c[begin:end], elements, c[begin:end], c[begin : begin + 50, ::2])[k % 4]]))
        return out

    return expect


@operation(threads_expected(2))
def two_threads(case: Case) -> Steps:
    yield
    yield run_in_threads(2, thread_work(case, 2))


@operation(threads_expected(8))
def eight_threads(case: Case) -> Steps:
    yield
    yield run_in_threads(8, thread_work(case, 8))


@operation(lambda case, c: [add_up([c])] * 8)
def eight_threads_over_the_same_rows(case: Case) -> Steps:
    yield
    a = case.array()
    yield run_in_threads(8, lambda k: add_up(a.read(np.s_[row : row + 64]) for row in range(0, ROWS, 64)))


@operation(lambda case, c: [c[:2048], c[1:2049], c[:2048], c[3:2051]])
def four_threads_saving(case: Case) -> Steps:
    yield
    a = case.array()

    def work(k: int) -> bytes:
        path = f"{case.output}.{k}.npy"
        lt.save(path, a[k:][:2048] if k % 2 else a[:2048].T, order="C", overwrite=True)
        return b""

    run_in_threads(4, work)
    for k in range(4):
        out = lt.open(f"{case.output}.{k}.npy")
        for rows in (out.T if k % 2 == 0 else out).blocks():
            yield rows[1]
            del rows
