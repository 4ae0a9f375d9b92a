"""Assigning to an array that is open for writing."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt


class TestAssignment:
    def test_what_is_assigned_is_in_the_file(self, npy: File) -> None:
        path = npy(np.zeros((4, 3)))
        array = lt.open(path, "r+")
        array[1] = [1, 2, 3]
        array.flush()
        assert np.load(path)[1].tolist() == [1, 2, 3]

    def test_other_views_of_the_file_see_it(self, npy: File) -> None:
        path = npy(np.zeros(4))
        before, array = lt.open(path), lt.open(path, "r+")
        array[2] = 5
        assert before.compute().tolist() == [0, 0, 5, 0]

    def test_a_read_only_array_says_how_to_open_it(self, npy: File) -> None:
        with pytest.raises(ValueError, match=r'mode="r\+"'):
            lt.open(npy(np.arange(3)))[0] = 1

    def test_the_last_of_repeated_indices_wins(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(4)), "r+")
        array[[1, 1, 1]] = [3, 4, 5]
        assert array.compute().tolist() == [0, 5, 0, 0]

    def test_an_array_on_disk_is_assigned_from_another(self, npy: File) -> None:
        array = lt.open(npy(np.arange(6)), "r+")
        array[1:] = array[:-1]
        assert array.compute().tolist() == [0, 0, 1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("dtype", "value"),
        [
            *[("uint8", 300), ("uint8", -1), ("int8", [1, 200]), ("int32", float("nan")), ("float32", 1j)],
            *[("int64", 2**64), ("int8", np.int64(300)), ("int16", np.float64("nan"))],
        ],
    )
    def test_a_number_that_does_not_fit_is_refused_as_numpy_refuses_it(self, npy: File, dtype: str, value: Any) -> None:
        expected = np.zeros(2, dtype=dtype)
        array = lt.open(npy(expected), "r+")
        with pytest.raises((OverflowError, ValueError, TypeError)) as theirs:
            expected[:] = value
        with pytest.raises(theirs.type):
            array[:] = value

    def test_values_that_do_not_broadcast_are_refused_and_nothing_is_written(self, npy: File) -> None:
        array = lt.open(npy(np.zeros((4, 3))), "r+")
        with pytest.raises(ValueError, match=r"broadcast.*\(2,\).*\(4,3\)"):
            array[:] = [1, 2]
        assert array.compute().sum() == 0

    def test_where_windows_overlap_the_later_one_wins(self, npy: File) -> None:
        path = npy(np.zeros(100))
        windows = np.array([np.arange(10, 18), np.arange(5, 13)])
        array = lt.open(path, mode="r+")
        array[windows] = np.array([[1.0] * 8, [2.0] * 8])
        expected = np.zeros(100)
        expected[windows] = np.array([[1.0] * 8, [2.0] * 8])
        assert np.array_equal(array.compute(), expected)

    def test_a_reader_beside_a_writer_of_this_process_is_not_refused(self, npy: File) -> None:
        array = lt.open(npy(np.zeros((2000, 1000))), mode="r+")
        stop = threading.Event()
        errors: list[BaseException] = []

        def read() -> None:
            try:
                while not stop.is_set():
                    array.read(slice(0, 5))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        for value in range(20):
            array[:] = value
        stop.set()
        thread.join()
        assert errors == []
