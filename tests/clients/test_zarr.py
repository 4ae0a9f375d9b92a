"""Zarr stores what is read from an array, block by block."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import zarr

import lowtide as lt


def test_an_array_is_copied_into_a_store(array: lt.Array, values: np.ndarray[Any, Any], tmp_path: Path) -> None:
    stored = zarr.create_array(tmp_path / "z.zarr", shape=array.shape, dtype=array.dtype, chunks=(500, 12))
    for start, block in array.blocks(rows=500):
        stored[start : start + len(block)] = block
        del block
    assert np.array_equal(stored[:], values)
