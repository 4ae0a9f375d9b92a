"""Reductions over any axes, of any dtype, shape and layout, give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import DTYPES, SEEDS, cases, shapes, small_numbers
from fixture_types import File
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt

NAMES = ("sum", "prod", "min", "max", "any", "all", "count_nonzero", "mean", "var", "std")
ROUNDED = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}


def assert_close(ours: np.ndarray, expected: Any) -> None:
    expected = np.asarray(expected)
    rounded = ROUNDED.get(expected.dtype.name, 0.0)
    np.testing.assert_allclose(ours, expected, rtol=rounded, atol=rounded, strict=True)


@pytest.mark.filterwarnings("ignore")
@cases(300)
@given(
    shape=shapes(most_dims=4, large=20),
    dtype=st.sampled_from(DTYPES),
    name=st.sampled_from(NAMES),
    keepdims=st.booleans(),
    seed=SEEDS,
    data=st.data(),
)
def test_a_reduction_is_numpys(
    shape: tuple[int, ...], dtype: str, name: str, keepdims: bool, seed: int, data: Any
) -> None:
    values = small_numbers(shape, dtype, seed)
    if name == "prod":
        values = np.where(np.random.default_rng(seed).random(shape) < 0.9, 1, values).astype(dtype)
    if data.draw(st.booleans()):
        values = values.T
    chosen = tuple(i for i in range(values.ndim) if data.draw(st.booleans()))
    axis = data.draw(st.sampled_from([None, chosen, *range(-values.ndim, values.ndim)]))
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    try:
        expected = getattr(np, name)(values, **options)
    except ValueError:
        with pytest.raises(ValueError, match="zero-size"):
            getattr(lt, name)(lt.asarray(values), **options).compute()
        return
    if dtype == "float16" and name in ("sum", "prod", "var", "std", "mean"):
        with np.errstate(all="ignore"):  # NumPy's own is less exact in half precision
            wide = getattr(np, name)(values.astype("f8"), **options)
            expected = np.asarray(wide).astype("f2")
    assert_close(getattr(lt, name)(lt.asarray(values), **options).compute(), expected)


@cases(100)
@given(shape=shapes(most_dims=3, least_dims=1), dtype=st.sampled_from(DTYPES[:-2]), seed=SEEDS, data=st.data())
def test_the_place_of_an_extreme_is_the_first_as_in_numpy(
    shape: tuple[int, ...], dtype: str, seed: int, data: Any
) -> None:
    values = small_numbers(shape, dtype, seed)
    if values.dtype.kind == "f" and values.size and data.draw(st.booleans()):
        values.flat[seed % values.size] = np.nan
    axis = data.draw(st.sampled_from([None, *range(values.ndim)]))
    for name in ("argmin", "argmax"):
        try:
            expected = getattr(np, name)(values, axis=axis)
        except ValueError:
            with pytest.raises(ValueError, match="empty sequence"):
                getattr(lt, name)(lt.asarray(values), axis=axis).compute()
            continue
        np.testing.assert_array_equal(getattr(lt, name)(lt.asarray(values), axis=axis).compute(), expected)


@cases(100)
@given(shape=shapes(most_dims=3, least_dims=1), dtype=st.sampled_from(DTYPES), seed=SEEDS, data=st.data())
def test_running_sums_are_numpys(shape: tuple[int, ...], dtype: str, seed: int, data: Any) -> None:
    if dtype == "float16":
        return  # NumPy rounds at every step
    values = small_numbers(shape, dtype, seed)
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    start = data.draw(st.booleans())
    ours = lt.cumulative_sum(lt.asarray(values), axis=axis, include_initial=start)
    assert_close(ours.compute(), np.cumulative_sum(values, axis=axis, include_initial=start))


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmin", "nanmax"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c16"])
def test_nan_is_left_out_as_numpy_leaves_it_out(name: str, dtype: str) -> None:
    if dtype == "c16" and name in ("nanmin", "nanmax"):
        return
    values = np.arange(1, 25).reshape(4, 6).astype(dtype)
    if values.dtype.kind != "i":
        values[1, 2] = values[3, 2] = values[0, 0] = np.nan
    for axis in (None, 0, 1):
        assert_close(getattr(lt, name)(lt.asarray(values), axis=axis).compute(), getattr(np, name)(values, axis=axis))


@pytest.mark.parametrize("name", ["min", "max", "sum", "mean", "argmax"])
def test_a_nan_is_seen(name: str) -> None:
    values = np.arange(100_000.0)
    values[70_000] = np.nan
    np.testing.assert_array_equal(getattr(lt, name)(lt.asarray(values)).compute(), getattr(np, name)(values))


def test_a_file_larger_than_the_budget_is_reduced_within_it(npy: File) -> None:
    values = np.random.default_rng(0).random((20_000, 64))
    array = lt.open(npy(values))
    with lt.budget("4MiB"):
        lt.reset_peak()
        mean, spread, top = lt.compute(array.mean(axis=0), (array * 2).std(), array.max(axis=1))
        assert lt.usage().peak <= 4 << 20
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(spread, (values * 2).std(), rtol=1e-12)
    np.testing.assert_array_equal(top, values.max(axis=1))
