"""Other shapes and orders, joins, searches and products give what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import SEEDS, cases, indices, outcome, shapes, small_numbers
from hypothesis import given
from hypothesis import strategies as st

import lowtide as lt

A = np.arange(24.0).reshape(2, 3, 4)
SAME: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_to": lambda xp, a: xp.broadcast_to(a[:, :1], (5, 2, 3, 4)),
    "concat": lambda xp, a: xp.concat([a, a[:, :1], a * 2], axis=1),
    "concat of dtypes": lambda xp, a: xp.concat([xp.astype(a, np.dtype("i4")), xp.astype(a, np.dtype("f4"))], axis=-1),
    "concat flat": lambda xp, a: xp.concat([a, a[0]], axis=None),
    "stack": lambda xp, a: xp.stack([a, a + 1], axis=-1),
    "unstack": lambda xp, a: xp.unstack(a, axis=1)[1],
    "permute_dims": lambda xp, a: xp.permute_dims(a, (2, 0, 1)),
    "moveaxis": lambda xp, a: xp.moveaxis(a, (0, 1), (-1, 0)),
    "roll": lambda xp, a: xp.roll(a, (1, -2), axis=(0, 2)),
    "roll flat": lambda xp, a: xp.roll(a, 5),
    "flip": lambda xp, a: xp.flip(a, axis=(0, 2)),
    "repeat": lambda xp, a: xp.repeat(a, 3, axis=1),
    "repeat by counts": lambda xp, a: xp.repeat(a, np.array([2, 0, 1]), axis=1),
    "tile": lambda xp, a: xp.tile(a, (2, 1, 3)),
    "tile in front": lambda xp, a: xp.tile(a, (2, 1, 1, 2)),
    "take": lambda xp, a: xp.take(a, np.array([2, 0, 0]), axis=1),
    "take_along_axis": lambda xp, a: xp.take_along_axis(a, np.array([[[3], [0], [1]]]), axis=2),
    "matmul": lambda xp, a: xp.matmul(a, xp.matrix_transpose(a)),
    "vecdot": lambda xp, a: xp.vecdot(a, a + 1, axis=1),
    "tensordot": lambda xp, a: xp.tensordot(a, a, axes=((0, 2), (0, 2))),
    "einsum": lambda xp, a: xp.einsum("bij,bkj->ikb", a, a),
    "einsum of one": lambda xp, a: xp.einsum("ijk->kj", a),
    "trace": lambda xp, a: xp.linalg.trace(a, offset=1),
    "diagonal": lambda xp, a: xp.linalg.diagonal(a, offset=-1),
    "vector_norm": lambda xp, a: xp.linalg.vector_norm(a, axis=(0, 1), ord=3),
    "matrix_norm": lambda xp, a: xp.linalg.matrix_norm(a, ord=-1),
    "cross": lambda xp, a: xp.linalg.cross(a[..., :3], a[..., 1:]),
    "kron": lambda xp, a: xp.kron(a[0], a[1, :2]),
    "eye": lambda xp, a: xp.eye(3, 4, k=1, dtype=np.dtype("i2")),
    "triu": lambda xp, a: xp.triu(a, k=-1),
    "linspace": lambda xp, a: xp.linspace(0, 1, num=7, endpoint=False),
    "arange": lambda xp, a: xp.arange(10, -3, -3),
    "arange of floats": lambda xp, a: xp.arange(0.5, 3.0, 0.25),
    "meshgrid": lambda xp, a: xp.meshgrid(a[0, 0], a[0, :, 0])[1],
    "nonzero": lambda xp, a: xp.nonzero(a % 3)[2],
    "unique_values": lambda xp, a: xp.unique_values(a // 5),
    "unique_counts": lambda xp, a: xp.unique_counts(a // 5).counts,
    "searchsorted": lambda xp, a: xp.searchsorted(a[0, 0], a + 0.5, side="right"),
    "isin": lambda xp, a: xp.isin(a, np.arange(0.0, 24.0, 2.0)),
    "split": lambda xp, a: xp.split(a, [1, 3], axis=2)[1],
    "diff": lambda xp, a: xp.diff(a * a, n=2, axis=1),
    "histogram of weights": lambda xp, a: xp.histogram(a, bins=[0.0, 3.0, 20.0], weights=a)[0],
    "bincount": lambda xp, a: xp.bincount(xp.astype(a[0, 0], np.dtype("u1")), minlength=9),
    "compress": lambda xp, a: xp.compress([True, False, True], a, axis=1),
    "swapaxes": lambda xp, a: xp.swapaxes(a, 0, -1),
}


@pytest.mark.parametrize("name", SAME)
def test_a_function_is_numpys(name: str) -> None:
    ours = SAME[name](lt, lt.asarray(A))
    np.testing.assert_allclose(ours.compute(), SAME[name](np, A), rtol=1e-14, strict=True)


@cases(100)
@given(shape=shapes(most_dims=3), seed=SEEDS, data=st.data())
def test_indices_into_what_is_computed_are_numpys(shape: tuple[int, ...], seed: int, data: Any) -> None:
    values = small_numbers(shape, "int32", seed)
    index = data.draw(indices(shape))
    expected, theirs = outcome(lambda: (values * 2 + 1)[index])
    ours, raised = outcome(lambda: (lt.asarray(values) * 2 + 1)[index].compute())
    assert raised is theirs
    if raised is None:
        np.testing.assert_array_equal(ours, expected)


@cases(60)
@given(shape=shapes(most_dims=4, least_dims=1), seed=SEEDS, data=st.data())
def test_reshapes_of_views_are_numpys(shape: tuple[int, ...], seed: int, data: Any) -> None:
    values = small_numbers(shape, "uint16", seed)
    ours: Any = lt.asarray(values)
    order = data.draw(st.permutations(range(values.ndim)))
    step = data.draw(st.sampled_from([1, 2, -1, -3]))
    ours, values = ours.transpose(*order)[::step], values.transpose(order)[::step]
    factors = [n for n in (2, 3, 4, 5, 7) if values.size % n == 0]
    first = data.draw(st.sampled_from(factors)) if factors and values.size else None
    wanted = (first, -1) if first else (values.size,)
    np.testing.assert_array_equal(ours.reshape(wanted).compute(), values.reshape(wanted), strict=True)
    np.testing.assert_array_equal(
        (ours + 1).reshape(wanted)[..., ::2].compute(), (values + 1).reshape(wanted)[..., ::2]
    )


def test_a_lazy_mask_and_lazy_places_select() -> None:
    array = lt.asarray(A)
    np.testing.assert_array_equal(array[array > 7].compute(), A[A > 7])
    places = lt.argmax(array, axis=2)
    np.testing.assert_array_equal(array[0][:, places[0]].compute(), A[0][:, A.argmax(axis=2)[0]])


class TestRandom:
    def test_a_seed_decides_the_numbers_whatever_part_is_read(self) -> None:
        x = lt.random.normal(size=(5000, 30), seed=7)
        whole = x.compute()
        np.testing.assert_array_equal(x[1234:1300, ::7].compute(), whole[1234:1300, ::7])
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in x.blocks(777)]), whole)
        assert not np.array_equal(lt.random.normal(size=(5000, 30), seed=8).compute(), whole)

    def test_distributions_have_their_moments(self) -> None:
        uniform = lt.random.uniform(2, 4, size=200_000, seed=1).compute()
        normal = lt.random.normal(3, 2, size=200_000, seed=1).compute()
        whole = lt.random.integers(-3, 4, size=200_000, seed=1).compute()
        assert (uniform >= 2).all()
        assert (uniform < 4).all()
        np.testing.assert_allclose([uniform.mean(), normal.mean(), whole.mean()], [3, 3, 0], atol=0.03)
        np.testing.assert_allclose([uniform.std(), normal.std(), whole.std()], [2 / 12**0.5, 2, 2], atol=0.02)
        assert sorted(set(whole.tolist())) == list(range(-3, 4))

    def test_a_permutation_has_each_number_once(self) -> None:
        assert sorted(lt.random.permutation(1000, seed=3).compute().tolist()) == list(range(1000))

    def test_without_a_seed_they_differ(self) -> None:
        one, other = lt.compute(lt.random.uniform(size=4), lt.random.uniform(size=4))
        assert not np.array_equal(one, other)
