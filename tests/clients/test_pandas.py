"""pandas and pyarrow take what is read from an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import lowtide as lt


def test_a_frame_is_made_of_rows(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    frame = pd.DataFrame(array[100:200].read(), columns=[f"c{i}" for i in range(12)])
    assert np.array_equal(frame["c7"].to_numpy(), values[100:200, 7])


def test_a_column_becomes_an_arrow_array(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    assert np.array_equal(pa.array(array[:, 2].read()).to_numpy(), values[:, 2])
