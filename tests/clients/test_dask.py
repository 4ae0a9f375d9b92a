"""Dask takes a lowtide array for what it is: something that is sliced when a block is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array
import numpy as np

import lowtide as lt


def test_dask_computes_on_blocks_of_an_array(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    lazy = dask.array.from_array(array, chunks=(500, 12))
    assert lazy.numblocks == (4, 1)
    assert np.allclose(lazy.mean(axis=0).compute(scheduler="threads"), values.mean(axis=0))
    assert np.array_equal(lazy[37:911:3, ::2].compute(scheduler="synchronous"), values[37:911:3, ::2])


def test_blocks_are_ndarrays_and_nothing_is_read_before_they_are_wanted(
    array: lt.Array, values: np.ndarray[Any, Any]
) -> None:
    lt.reset_peak()
    lazy = dask.array.from_array(array, chunks=(500, 12))
    total = ((lazy - 1) ** 2).sum(axis=1)
    assert type(lazy._meta) is np.ndarray
    assert type(total._meta) is np.ndarray
    assert lt.usage().peak < values.nbytes
    assert np.allclose(total.compute(scheduler="threads"), ((values - 1) ** 2).sum(axis=1))


def test_a_rewritten_file_is_another_graph(npy: Callable[..., Path]) -> None:
    path = npy(np.arange(4), "x.npy")
    before, same = (dask.array.from_array(lt.open(path)) for _ in range(2))
    assert before.name == same.name
    np.save(path, np.arange(4, 8))
    after = dask.array.from_array(lt.open(path))
    assert after.name != before.name
    assert after.compute().tolist() == [4, 5, 6, 7]


def test_processes_read_a_gather_and_a_map_for_themselves(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    index = np.array([5, 3, 1999])
    mapped = lt.memmap(array.path, "f8", "r", offset=128, shape=values.shape)
    for source in (array[index], mapped[index]):
        lazy = dask.array.from_array(source, chunks=(2, 12))
        assert np.array_equal(lazy.compute(scheduler="processes", num_workers=2), values[index])
    lazy = dask.array.from_array(mapped, chunks=(500, 12))
    assert np.array_equal(lazy[::100].compute(scheduler="processes", num_workers=2), values[::100])
