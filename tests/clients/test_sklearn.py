"""scikit-learn learns from the blocks of an array, and from what it reads of one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import LinearRegression

import lowtide as lt


def test_a_model_that_learns_in_parts_learns_from_blocks(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    expected, learnt = IncrementalPCA(3), IncrementalPCA(3)
    for start, block in array.blocks(rows=500):
        learnt.partial_fit(block)
        expected.partial_fit(values[start : start + len(block)])
        del block
    assert np.array_equal(learnt.components_, expected.components_)


def test_a_model_takes_an_array_for_a_matrix(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    learnt = LinearRegression().fit(array[:, :-1], array[:, -1])
    assert np.allclose(learnt.coef_, LinearRegression().fit(values[:, :-1], values[:, -1]).coef_)
