"""Arrow takes the elements of an array at once, not one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import lowtide as lt


def test_an_array_and_a_map_become_arrow_arrays(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    column = array[:, 3]
    assert np.array_equal(pa.array(column), values[:, 3])
    assert pa.array(column, type=pa.float32()).type == pa.float32()
    mapped = lt.memmap(array.path, "f8", "r", offset=128)
    assert np.array_equal(pa.array(mapped), values.ravel())
    assert pa.py_buffer(mapped).size == values.nbytes


def test_their_memory_is_that_of_the_result(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    taken = pa.array(array[:, 0])
    assert lt.usage().by_purpose["results"] >= values[:, 0].nbytes
    del taken
