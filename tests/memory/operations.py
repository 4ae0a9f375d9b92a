"""Every public operation, as a small program that is run under a budget, with what NumPy says it should give.

A program is a generator. What comes before its first yield is the caller's own (indices, values) and is not measured;
what it yields after that is checksummed and dropped. `expect` says the same with NumPy, in the parent.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random  # loaded lazily otherwise, and charged to whoever comes first

import lowtide as lt

MIB = 1 << 20
ROWS, COLUMNS = 32768, 1024  # of int32: rows of 4 KiB, 128 MiB
ROW_BYTES = COLUMNS * 4
HEADER = 128  # bytes of an .npy header


@dataclass(frozen=True)
class Case:
    operation: str
    mode: str
    budget: int
    folder: str
    output: str  # does not exist yet
    target: str  # a copy of c.npy that may be written to

    def path(self, name: str) -> str:
        return str(Path(self.folder) / name)

    def array(self, name: str = "c.npy") -> lt.Array:
        return lt.open(self.path(name))

    def elements(self) -> lt.Array:
        return lt.open(self.path("raw.bin"), dtype="int64")

    @property
    def rows(self) -> int:
        """As many rows as fill half of the budget."""
        return self.budget // 2 // ROW_BYTES


Steps = Iterator[Any]
Expect = Callable[[Case, "np.ndarray[Any, Any]"], Any]


@dataclass(frozen=True)
class Operation:
    name: str
    steps: Callable[[Case], Steps]
    expect: Expect
    result: str  # where it is: "yields", or the file "output" or "target"


CATALOGUE: dict[str, Operation] = {}


def operation(expect: Expect, result: str = "yields") -> Callable[[Callable[[Case], Steps]], Callable[[Case], Steps]]:
    def add(steps: Callable[[Case], Steps]) -> Callable[[Case], Steps]:
        CATALOGUE[steps.__name__] = Operation(steps.__name__, steps, expect, result)
        return steps

    return add


def is_refused(call: Callable[[], Any]) -> bool:
    try:
        call()
    except lt.BudgetError:
        return True
    return False


def random() -> np.random.Generator:
    return np.random.default_rng(20)


# --- reading a selection


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


def some_elements() -> np.ndarray[Any, Any]:
    return random().integers(0, ROWS * COLUMNS // 2, 100_000)


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


# --- streaming


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


# --- saving


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


def values(rows: int, dtype: Any = np.int32) -> np.ndarray[Any, Any]:
    return np.arange(rows * COLUMNS, dtype=np.int64).reshape(rows, COLUMNS).astype(dtype)


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


# --- new files


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


# --- in place


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


# --- memmap


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


# --- holding on


def held(make: Iterable[Any]) -> list[Any]:
    """What there is when the budget says no."""
    kept = []
    try:
        for result in make:
            kept.append(result)
            del result
    except lt.BudgetError:
        return kept
    raise AssertionError(f"held {len(kept)} results and was never refused")


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


# --- several threads


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
