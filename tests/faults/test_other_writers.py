"""Several processes and threads that write neighbouring rows of one file, none of which is lost."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import subject

import lowtide as lt

ROWS, COLUMNS = 1200, 37  # 148 bytes a row: some thirty in each unit that direct IO writes whole

# Three processes take turns: row 0, row 1, row 2, row 0 + 3 … They start together.
WRITERS = """
    def opened():
        if arguments[1] == "memmap":
            return lt.memmap(arguments[0], dtype="u4", mode="r+", offset=128, shape=(1200, 37))
        return lt.open(arguments[0], mode="r+")

    before = opened() if arguments[2] == "before" else None
    waiting, start = os.pipe()
    children = []
    for turn in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.close(start)
                m = opened() if before is None else before
                os.read(waiting, 1)
                for row in range(turn, 1200, 3):
                    m[row] = row + 1
                status = 0
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    os.close(start)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
"""


def zeros(path: Path) -> Path:
    np.save(path, np.zeros((ROWS, COLUMNS), dtype="u4"))
    return path


def expected() -> np.ndarray:
    return np.repeat(np.arange(1, ROWS + 1, dtype="u4")[:, None], COLUMNS, axis=1)


@pytest.mark.parametrize("opened", ["before", "after"])
@pytest.mark.parametrize("how", ["memmap", "array"])
def test_processes_that_write_neighbouring_rows_lose_none(tmp_path: Path, mode: str, how: str, opened: str) -> None:
    path = zeros(tmp_path / "x.npy")
    subject.check(WRITERS, path, how, opened, mode=mode)
    np.testing.assert_array_equal(np.load(path), expected())


def test_threads_that_write_neighbouring_rows_lose_none(tmp_path: Path, mode: str) -> None:
    path = zeros(tmp_path / "x.npy")
    failures: list[BaseException] = []

    def write(turn: int) -> None:
        try:
            array = lt.open(path, mode="r+")
            for row in range(turn, ROWS, 4):
                array[row] = row + 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    np.testing.assert_array_equal(np.load(path), expected())


def test_an_array_open_for_writing_shows_what_other_writers_wrote(tmp_path: Path, mode: str) -> None:
    path = zeros(tmp_path / "x.npy")
    array = lt.open(path, mode="r+")
    assert array.read(5).sum() == 0
    subject.check("lt.open(arguments[0], mode='r+')[5] = 7", path, mode=mode)
    assert (array.read(5) == 7).all()
