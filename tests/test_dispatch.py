"""NumPy's functions on lt.Arrays stay lazy, or refuse; none loads the array silently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt

VALUES = np.random.default_rng(0).random((30, 4)) * 10 - 5
WEIGHTS = np.arange(4.0)

LAZY: dict[str, Callable[[Any], Any]] = {
    "sum": lambda a: np.sum(a, axis=0),
    "sum keyword": lambda a: np.sum(a=a, axis=(0, 1), keepdims=True),
    "mean": lambda a: np.mean(a, axis=-1, keepdims=True),
    "std": lambda a: np.std(a, axis=0, ddof=1),
    "var": lambda a: np.var(a),
    "max": lambda a: np.max(a, axis=1),
    "amin": lambda a: np.amin(a),
    "any": lambda a: np.any(a > 4, axis=0),
    "argmax": lambda a: np.argmax(a, axis=1),
    "cumsum": lambda a: np.cumsum(a, axis=1),
    "cumsum flat": lambda a: np.cumsum(a),
    "count_nonzero": lambda a: np.count_nonzero(a > 0, axis=0),
    "clip": lambda a: np.clip(a, -1, 1),
    "where": lambda a: np.where(a > 0, a, 0.0),
    "concatenate": lambda a: np.concatenate([a, VALUES], axis=0),
    "stack": lambda a: np.stack([a, a], axis=1),
    "vstack": lambda a: np.vstack([a, a[0]]),
    "hstack": lambda a: np.hstack([a, a]),
    "column_stack": lambda a: np.column_stack([a[:, 0], a]),
    "reshape": lambda a: np.reshape(a, (4, -1)),
    "ravel": lambda a: np.ravel(a),
    "transpose": lambda a: np.transpose(a),
    "moveaxis": lambda a: np.moveaxis(a, 0, 1),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "roll": lambda a: np.roll(a, 3, axis=0),
    "flip": lambda a: np.flip(a, axis=1),
    "tile": lambda a: np.tile(a, (2, 1)),
    "repeat": lambda a: np.repeat(a, 2, axis=1),
    "take": lambda a: np.take(a, [0, 5, 2], axis=0),
    "expand_dims": lambda a: np.expand_dims(a, 1),
    "squeeze": lambda a: np.squeeze(a[:, :1]),
    "broadcast_to": lambda a: np.broadcast_to(a[0], (3, 4)),
    "pad": lambda a: np.pad(a, ((1, 2), (0, 1)), constant_values=9.0),
    "pad edge": lambda a: np.pad(a, 1, mode="edge"),
    "pad reflect": lambda a: np.pad(a, 2, mode="reflect"),
    "diff": lambda a: np.diff(a, axis=0),
    "tril": lambda a: np.tril(a, -1),
    "nanmean": lambda a: np.nanmean(np.where(a > 0, a, np.nan), axis=0),
    "nanmax": lambda a: np.nanmax(np.where(a > 0, a, np.nan), axis=0),
    "nan_to_num": lambda a: np.nan_to_num(np.where(a > 0, a, np.nan)),
    "average": lambda a: np.average(a, axis=1, weights=WEIGHTS),
    "ptp": lambda a: np.ptp(a, axis=0),
    "round": lambda a: np.round(a, 1),
    "isclose": lambda a: np.isclose(a, VALUES + 1e-9),
    "isin": lambda a: np.isin(np.floor(a), np.arange(-3.0, 3.0)),
    "dot": lambda a: np.dot(a, WEIGHTS),
    "tensordot": lambda a: np.tensordot(a, a, axes=([0], [0])),
    "einsum": lambda a: np.einsum("ij,kj->ik", a, VALUES[:3]),
    "outer": lambda a: np.outer(a[:, 0], WEIGHTS),
    "zeros_like": lambda a: np.zeros_like(a),
    "full_like": lambda a: np.full_like(a, 3.0),
    "linalg.norm": lambda a: np.linalg.norm(a, axis=1),
    "trace": lambda a: np.trace(a),
    "searchsorted": lambda a: np.searchsorted(np.arange(-5.0, 5.0), a),
    "apply_along_axis": lambda a: np.apply_along_axis(np.median, 1, a),
    "sqrt": lambda a: np.sqrt(np.abs(a)),
    "add": lambda a: np.add(VALUES, a),
    "arctan2": lambda a: np.arctan2(a, 2.0),
    "rint": lambda a: np.rint(a),
    "matmul": lambda a: np.matmul(a.T, a),
    "add.reduce": lambda a: np.add.reduce(a),
    "maximum.reduce": lambda a: np.maximum.reduce(a, axis=1),
    "add.accumulate": lambda a: np.add.accumulate(a, axis=1),
    "subtract.outer": lambda a: np.subtract.outer(a[0], a[1]),
    "with dtype": lambda a: np.multiply(a, 2, dtype="f4"),
}

REFUSED: dict[str, Callable[[Any], Any]] = {
    "np.linalg.svd": np.linalg.svd,
    "np.sort": np.sort,
    "np.median": np.median,
    "np.fft.fft": np.fft.fft,
    "np.gradient": np.gradient,
    "np.add.at": lambda a: np.add.at(a, [0], 1),
    "np.frexp": np.frexp,
    "np.sqrt": lambda a: np.sqrt(a, where=a > 0),
}


@pytest.fixture
def array(npy: File) -> lt.Array:
    return lt.open(npy(VALUES))


@pytest.mark.parametrize("name", LAZY)
def test_a_function_stays_lazy_and_is_numpys(array: lt.Array, name: str) -> None:
    made = LAZY[name](array)
    assert isinstance(made, lt.Array)
    np.testing.assert_allclose(made.compute(), LAZY[name](VALUES), rtol=1e-12, atol=1e-12, strict=True)


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_without_a_lazy_form_says_what_to_type(array: lt.Array, name: str) -> None:
    lt.reset_peak()
    held = lt.usage().held
    with pytest.raises(lt.UnsupportedError, match=rf"{name}.*(compute\(\)|lt\.where)"):
        REFUSED[name](array)
    assert lt.usage().peak == held


def test_answers_that_are_python_values_are_computed_within_the_budget(array: lt.Array) -> None:
    assert np.allclose(array, VALUES)
    assert np.array_equal(array, VALUES)
    assert not np.array_equal(array, VALUES[:3])
    assert (np.shape(array), np.ndim(array), np.size(array), np.iscomplexobj(array)) == ((30, 4), 2, 120, False)


def test_counts_are_ndarrays(array: lt.Array) -> None:
    for ours, expected in zip(np.histogram(array, bins=7), np.histogram(VALUES, bins=7), strict=True):
        np.testing.assert_array_equal(ours, expected, strict=True)
    np.testing.assert_array_equal(np.bincount(lt.asarray([3, 1, 3])), [0, 1, 0, 2])
    np.testing.assert_array_equal(np.unique(np.floor(array)), np.unique(np.floor(VALUES)))


def test_out_is_computed_into(array: lt.Array, npy: File) -> None:
    out = np.empty_like(VALUES)
    assert np.add(array, 1, out=out) is out
    np.testing.assert_array_equal(out, VALUES + 1)
    total = np.empty(4)
    assert np.sum(array, axis=0, out=total) is total
    np.testing.assert_allclose(total, VALUES.sum(axis=0))
    out -= array
    np.testing.assert_allclose(out, 1)
    target = lt.open(npy(VALUES, "target.npy"), mode="r+")
    assert np.multiply(target, 2, out=target) is target
    np.testing.assert_array_equal(target.compute(), VALUES * 2)


def test_an_array_of_others_answers_for_itself(array: lt.Array) -> None:
    class Theirs:
        def __array_ufunc__(self, *_: Any, **__: Any) -> str:
            return "theirs"

        def __array_function__(self, *_: Any) -> str:
            return "theirs"

    assert np.add(array, Theirs()) == "theirs"
    assert np.concatenate([array, Theirs()]) == "theirs"


def test_the_protocols_are_not_seen_on_an_array(array: lt.Array) -> None:
    # Dask and xarray take what has them for something to compute with block by block.
    assert not hasattr(array, "__array_function__")
    assert not hasattr(array, "__array_ufunc__")
