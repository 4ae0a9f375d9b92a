"""Indices and values that operations are given: the same ones in the child and in its parent."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.random  # loaded lazily otherwise, and charged to whoever comes first

from .case import COLUMNS, ROWS


def random() -> np.random.Generator:
    return np.random.default_rng(20)


def some_elements() -> np.ndarray[Any, Any]:
    return random().integers(0, ROWS * COLUMNS // 2, 100_000)


def values(rows: int, dtype: Any = np.int32) -> np.ndarray[Any, Any]:
    return np.arange(rows * COLUMNS, dtype=np.int64).reshape(rows, COLUMNS).astype(dtype)
