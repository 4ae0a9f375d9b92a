"""joblib sends arrays to its workers by their paths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np

import lowtide as lt


def row_sums(array: lt.Array, start: int, stop: int) -> np.ndarray[Any, Any]:
    sums: np.ndarray[Any, Any] = array[start:stop].read().sum(axis=1)
    return sums


def test_loky_workers_read_for_themselves(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    jobs = (joblib.delayed(row_sums)(array, start, start + 500) for start in range(0, 2000, 500))
    with joblib.parallel_config("loky", n_jobs=2):
        parts = joblib.Parallel()(jobs)
    assert np.allclose(np.concatenate(parts), values.sum(axis=1))


def test_loky_workers_read_a_map_for_themselves(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    mapped = lt.memmap(array.path, "f8", "r", offset=128, shape=values.shape)
    with joblib.parallel_config("loky", n_jobs=2):
        parts = joblib.Parallel()(joblib.delayed(np.sum)(mapped, axis=1) for _ in range(2))
    assert np.allclose(parts, [values.sum(axis=1)] * 2)


def test_a_memory_of_results_knows_a_rewritten_file(npy: Callable[..., Path], tmp_path: Path) -> None:
    path = npy(np.arange(4), "x.npy")
    total = joblib.Memory(tmp_path / "memory", verbose=0).cache(whole_sum)
    assert total(lt.open(path)) == 6
    assert total(lt.open(path)) == 6
    np.save(path, np.arange(4, 8))
    assert total(lt.open(path)) == 22


def whole_sum(array: lt.Array) -> int:
    return int(array.compute().sum())
