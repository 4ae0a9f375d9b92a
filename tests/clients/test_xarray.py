"""xarray names the axes of an array."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import xarray as xr

import lowtide as lt


def test_named_axes_over_blocks_of_an_array(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    named = xr.DataArray(dask.array.from_array(array, chunks=(500, 12)), dims=("time", "channel"))
    assert named.chunks is not None
    assert np.allclose(named.mean("time").compute(), values.mean(axis=0))


def test_a_file_is_opened_by_the_backend_and_only_what_is_selected_is_read(
    array: lt.Array, values: np.ndarray[Any, Any]
) -> None:
    lt.reset_peak()
    held = lt.usage().held
    with xr.open_dataset(array.path, engine="lowtide", dims=("time", "channel"), name="x", cache=False) as opened:
        x = opened["x"]
        part = x[100:200:5, [3, 1]]
        assert lt.usage().peak - held < values.nbytes // 4
        assert np.array_equal(part.values, values[100:200:5][:, [3, 1]])
        assert lt.usage().peak - held < values.nbytes // 4
        assert np.allclose(x.mean("time"), values.mean(axis=0))
        assert np.array_equal(x.isel(time=7, channel=2), values[7, 2])


def test_a_backend_variable_is_chunked_by_dask(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    with xr.open_dataset(array.path, chunks={"dim_0": 500}) as opened:
        assert opened["data"].chunks == ((500,) * 4, (12,))
        assert np.allclose(opened["data"].sum("dim_1").compute(), values.sum(axis=1))


def test_an_array_itself_has_named_axes_and_stays_lazy(array: lt.Array, values: np.ndarray[Any, Any]) -> None:
    named = xr.DataArray(array, dims=("time", "channel"))
    assert isinstance(named.data, lt.Array)
    means = ((named - 1) ** 2).mean("time")
    assert isinstance(means.data, lt.Array)
    assert np.allclose(means.values, ((values - 1) ** 2).mean(axis=0))
    assert np.array_equal(named.isel(time=slice(10, 20), channel=3).values, values[10:20, 3])
