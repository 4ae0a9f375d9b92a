"""Threads whose results do not fit beside each other wait for each other, in the order of coming, and never in vain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import lowtide as lt

MIB = 1 << 20


@pytest.fixture
def array(tmp_path: Path) -> lt.Array:
    np.save(tmp_path / "x.npy", np.arange(3 * MIB, dtype=np.uint64).reshape(-1, 1024))
    return lt.open(tmp_path / "x.npy")


@pytest.fixture(autouse=True)
def budget() -> Iterator[None]:
    with lt.budget("40MiB", wait=120):  # a loaded machine is slow, and no test waits that long in vain
        yield


def test_eight_threads_of_ten_mib_each_under_forty(array: lt.Array) -> None:
    expected = int(array.read(slice(0, 1280)).sum())

    def total(_: int) -> int:
        return int(array.read(slice(0, 1280)).sum())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(total, range(40))) == [expected] * 40


def test_a_large_read_is_not_starved_by_small_ones(array: lt.Array) -> None:
    stop = threading.Event()
    failures: list[BaseException] = []

    def small() -> None:
        try:
            while not stop.is_set():
                array.read(slice(0, 512))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=small) for _ in range(6)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert array.read().shape == (3072, 1024)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_nobody_waits_for_his_own_results(array: lt.Array) -> None:
    kept = array.read(slice(0, 3000))
    with pytest.raises(lt.BudgetError, match="results"):
        array.read(slice(0, 3000))
    assert kept.shape == (3000, 1024)


def test_nobody_waits_for_threads_that_wait_for_him(array: lt.Array) -> None:
    """Each holds one result and wants another: without a refusal they would wait for each other."""
    both = threading.Barrier(2)
    outcomes: list[str] = []

    def two() -> None:
        first = array.read(slice(0, 2000))
        both.wait()
        try:
            second = array.read(slice(0, 2000))
            outcomes.append(f"read {len(second)}")
        except lt.BudgetError:
            outcomes.append("refused")
        del first

    threads = [threading.Thread(target=two) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "refused" in outcomes


def test_waiting_ends_in_a_refusal(array: lt.Array) -> None:
    kept: list[np.ndarray] = []
    holder = threading.Thread(target=lambda: kept.append(array.read(slice(0, 3000))))
    holder.start()
    holder.join()
    lt.set_budget("40MiB", wait=0.05)
    with pytest.raises(lt.BudgetError):
        array.read(slice(0, 3000))
    lt.set_budget("40MiB", wait=0)
    with pytest.raises(lt.BudgetError):
        array.read(slice(0, 3000))


@pytest.mark.parametrize("wait", [-1, float("nan")])
def test_a_wait_is_a_time(wait: float) -> None:
    with pytest.raises(ValueError, match="wait must be"):
        lt.set_budget("40MiB", wait=wait)
