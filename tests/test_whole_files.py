"""A file that fits what the budget has to spare is brought in once reads jump about in it, and given up when asked."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from fixture_types import File
from measures import MiB, bytes_read_by_this_process, resident_bytes

import lowtide as lt

SIZE = 32 * MiB


@pytest.fixture
def path(raw: File, drop_pages: Callable[[Path], None]) -> Path:
    with lt.budget("1KiB"):
        pass  # what other tests have left is given up
    path = raw(np.arange(SIZE // 8))
    drop_pages(path)
    _until_nothing_is_read()
    return path


def _until_nothing_is_read() -> None:
    """What other tests have begun to bring in is in."""
    while True:
        read = bytes_read_by_this_process()
        time.sleep(0.2)
        if bytes_read_by_this_process() - read <= 4096:  # looking reads, too
            return


def _jump_about(path: Path, turns: int, seed: int = 0) -> None:
    """As nanoGPT does: the map is made again for each batch."""
    rng = np.random.default_rng(seed)
    for _ in range(turns):
        data = lt.memmap(path, "i8", "r")
        for i in rng.integers(0, len(data) - 128, 24):
            assert data[i : i + 128].tolist() == list(range(i, i + 128))


def _kept() -> int:
    return lt.usage().by_purpose.get("cache", 0)


def _until_brought_in(path: Path) -> None:
    patience = time.monotonic() + 30
    while time.monotonic() < patience:
        if resident_bytes(np.memmap(path, "u1", "r")) == SIZE:
            return
        time.sleep(0.01)
    pytest.fail("the file was not brought in")


def test_random_reads_of_a_file_that_fits_become_reads_of_memory(path: Path, io_mode: str) -> None:
    with lt.budget("256MiB"):
        for seed in range(100):  # reads that the read-ahead could foretell do not count
            _jump_about(path, 10, seed)
            if _kept() >= SIZE:
                break
        assert _kept() >= SIZE
        _until_brought_in(path)
        for seed in range(1, 100):  # the thread may be at its last pass
            before = bytes_read_by_this_process()
            _jump_about(path, 10, seed)
            if bytes_read_by_this_process() - before < MiB // 2:
                return
            time.sleep(0.01)
        pytest.fail("it is still read from the disk")


def _read_and_kept(path: Path) -> tuple[int, int]:
    with lt.budget("34MiB"):
        before = bytes_read_by_this_process()
        _jump_about(path, 10)
        return bytes_read_by_this_process() - before, _kept()


def test_a_file_that_does_not_fit_is_not_brought_in(path: Path) -> None:
    # In a process of its own: threads of other tests read, too. What was asked for twice comes with its surroundings.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        read, kept = process.submit(_read_and_kept, path).result()
    assert 0 < read < SIZE * 3 // 4
    assert kept < SIZE


def test_reads_one_after_the_other_do_not_bring_it_in(path: Path) -> None:
    with lt.budget("256MiB"):
        data = lt.memmap(path, "i8", "r")
        for i in range(0, 200 * 128, 128):
            data[i : i + 128]
        assert _kept() < SIZE


def test_it_is_given_up_when_the_bytes_are_needed(path: Path, npy: File) -> None:
    large = lt.open(npy(np.zeros(36 * MiB // 8)))
    with lt.budget("64MiB"):
        _jump_about(path, 10)
        _until_brought_in(path)
        result = large.compute()
        assert _kept() < SIZE
        del result
        assert resident_bytes(np.memmap(path, "u1", "r")) < SIZE // 4
        _jump_about(path, 1, seed=2)


def test_a_child_of_fork_reads_on(path: Path) -> None:
    with lt.budget("256MiB"):
        _jump_about(path, 10)  # the thread is at work
        child = os.fork()
        if child == 0:
            try:
                _jump_about(path, 10, seed=3)
                os._exit(0)
            except BaseException:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        _until_brought_in(path)
