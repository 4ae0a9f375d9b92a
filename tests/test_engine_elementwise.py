"""Every elementwise function gives what NumPy gives: values, dtypes, NaN, infinities, integer wrap, broadcasting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import DTYPES, SEEDS, cases, shapes
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt

FLOATS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 3.5, 30.0, -7.0, np.nan, np.inf, -np.inf])
COMPLEX = np.array([0, 1, -1, 2j, -0.5j, 1 + 2j, -3 - 0.25j, 0.1 - 0.7j])
ROUNDED = {"float16": 4e-3, "float32": 4e-6, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-11}

UNARY = (
    *("abs", "negative", "positive", "sign", "square", "sqrt", "cbrt", "reciprocal", "exp", "exp2", "expm1", "log"),
    *("log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
    *("atanh", "floor", "ceil", "trunc", "round", "conj", "real", "imag", "bitwise_invert", "bitwise_count"),
    *("logical_not", "isnan", "isinf", "isfinite", "signbit", "deg2rad", "rad2deg", "spacing"),
)
BINARY = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "pow", "atan2", "hypot"),
    *("logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside", "maximum", "minimum", "fmax", "fmin", "gcd"),
    *("lcm", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "logical_and"),
    *("logical_or", "logical_xor", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
)
# Where NumPy has other rules than the array API, which lowtide follows.
OF_THE_STANDARD = {("round", "bool")}
# Of two integer dtypes, NumPy takes the narrowest float that holds both; lowtide that of the integer which does.
IN_FLOATS = {"atan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside"}


def interesting(dtype: str) -> np.ndarray:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([True, False])
    if kind in "iu":
        limits = np.iinfo(dtype)
        below = [-1, -2, -7] if kind == "i" else []
        return np.array([0, 1, 2, 3, 5, 7, 64, 100, limits.max, limits.max - 1, limits.min, *below], dtype=dtype)
    return (COMPLEX if kind == "c" else FLOATS).astype(dtype)


def outcome(work: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return np.asarray(work())
    except TypeError:
        return TypeError


def assert_same(ours: Any, expected: Any, exact: bool = False) -> None:
    if expected is TypeError or ours is TypeError:
        assert ours is expected
        return
    assert ours.dtype == expected.dtype
    rounded = 0.0 if exact and expected.dtype.kind != "c" else ROUNDED.get(expected.dtype.name, 0.0)
    if expected.dtype.kind == "c":
        np.testing.assert_allclose(ours, expected, rtol=rounded, atol=rounded, strict=True)
        return
    np.testing.assert_allclose(ours, expected, rtol=rounded, atol=0 if exact else rounded * 1e-2, strict=True)


EXACT = {"add", "subtract", "multiply", "divide", "abs", "negative", "maximum", "minimum", "where", "floor", "equal"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_a_function_of_one_array_is_numpys(name: str, dtype: str) -> None:
    if (name, dtype) in OF_THE_STANDARD:
        return
    values = interesting(dtype)
    ours = outcome(lambda: getattr(lt, name)(lt.asarray(values)))
    assert_same(ours, outcome(lambda: getattr(np, name)(values)), name in EXACT and "complex" not in dtype)


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arrays_is_numpys(name: str) -> None:
    for one in DTYPES:
        for other in (one, *(("int8", "uint16", "float32") if one in ("int16", "uint64", "float16") else ())):
            if (name in IN_FLOATS and one != other and "int" in one) or (name in ("gcd", "lcm") and one == "bool"):
                continue
            left, right = interesting(one)[:, None], interesting(other)
            if name == "pow" and right.dtype.kind in "iub":
                right = right[(right >= 0) & (right < 8)] if right.dtype.kind != "b" else right
            ours = outcome(lambda left=left, right=right: getattr(lt, name)(lt.asarray(left), lt.asarray(right)))
            expected = outcome(lambda left=left, right=right: getattr(np, name)(left, right))
            assert_same(ours, expected, name in EXACT)


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "less", "maximum", "pow"])
@pytest.mark.parametrize("scalar", [True, 2, 2.5, 1 + 2j], ids=repr)
def test_python_numbers_take_on_the_arrays_dtype(name: str, scalar: Any) -> None:
    for dtype in DTYPES:
        values = interesting(dtype)
        if name == "pow" and np.dtype(dtype).kind in "iu":
            values = values[np.abs(values.astype("f8")) < 100]
        for flip in (False, True):
            given = (scalar, values) if flip else (values, scalar)
            if name == "pow" and flip and np.dtype(dtype).kind in "iu":
                continue
            ours = outcome(
                lambda given=given: getattr(lt, name)(*(lt.asarray(x) if x is not scalar else x for x in given))
            )
            assert_same(ours, outcome(lambda given=given: getattr(np, name)(*given)), name in EXACT)


@pytest.mark.parametrize("number", [300, -1])
def test_a_number_that_does_not_fit_is_refused_as_numpy_refuses_it(number: int) -> None:
    with pytest.raises(OverflowError):
        np.zeros(2, np.uint8) + number
    with pytest.raises(OverflowError):
        (lt.zeros(2, dtype="uint8") + number).compute()


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_are_numpys(dtype: str, to: str) -> None:
    values = interesting(dtype)
    if np.dtype(to).kind in "iu" and np.dtype(dtype).kind in "fc":
        values = np.array([0, 1, 2, 99]).astype(dtype)  # others are undefined
    if np.dtype(dtype).kind == "c" and np.dtype(to).kind in "iuf":
        values = values.real.astype(dtype)
        with pytest.warns(np.exceptions.ComplexWarning):
            expected = values.astype(to)
    else:
        with np.errstate(all="ignore"):
            expected = values.astype(to)
    np.testing.assert_array_equal(lt.asarray(values).astype(to).compute(), expected, strict=True)


@cases(100)
@given(data=st.data(), shape=shapes(most_dims=3), seed=SEEDS, dtype=st.sampled_from(["f8", "f4", "i4", "u1", "?"]))
def test_a_fused_expression_of_files_and_memory_is_numpys(
    data: Any, shape: tuple[int, ...], seed: int, dtype: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("fused")
    ours, theirs = [], []
    for i in range(2):
        values = (rng.random(shape) * 20).astype(dtype)
        np.save(folder / f"{i}.npy", np.asarray(values, order=data.draw(st.sampled_from("CF"))))
        ours.append(lt.open(folder / f"{i}.npy"))
        theirs.append(values)
    thin = tuple(n if data.draw(st.booleans()) else 1 for n in shape)
    theirs.append((rng.random(thin) * 3).astype(dtype))
    ours.append(lt.asarray(theirs[-1]))
    for _ in range(data.draw(st.integers(1, 6))):
        x, y = (data.draw(st.integers(0, len(ours) - 1)) for _ in range(2))
        name = data.draw(st.sampled_from(["add", "multiply", "maximum", "where", "less", "flip", "abs", "logical_and"]))
        for many, xp in ((ours, lt), (theirs, np)):
            if name == "where":
                many.append(xp.where(many[x] > many[y], many[x], many[y]))
            elif name in ("flip", "abs"):
                many.append(getattr(xp, name)(many[x]))
            else:
                many.append(getattr(xp, name)(many[x], many[y]))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ours[-1].compute(), theirs[-1], strict=True)
    for path in folder.iterdir():
        Path.unlink(path)
