"""Operators on arrays are lazy, and give what NumPy gives."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt

COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
BITS = ("and_", "or_", "xor", "lshift", "rshift")
IN_PLACE = ("iadd", "isub", "imul", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift")


def same(ours: Any, expected: Any) -> None:
    assert isinstance(ours, lt.Array)
    np.testing.assert_array_equal(ours.compute(), expected, strict=True)


class TestArrayOperators:
    @pytest.mark.parametrize("name", COMPARE + ARITHMETIC + BITS)
    def test_an_operator_is_numpys_on_either_side(self, npy: File, name: str) -> None:
        values = np.arange(1, 5)
        array = lt.open(npy(values))
        apply: Callable[[Any, Any], Any] = getattr(operator, name)
        same(apply(array, 5), apply(values, 5))
        same(apply(5, array), apply(5, values))
        same(apply(array, array), apply(values, values))
        same(apply(array, np.int8(2)), apply(values, np.int8(2)))
        for other in (np.arange(4, 0, -1), np.arange(1, 4)[:, None]):
            same(apply(array, other), apply(values, other))
            same(apply(other, array), apply(other, values))
        same(apply(array, [1, 2, 3, 4]), apply(values, [1, 2, 3, 4]))

    @pytest.mark.parametrize("apply", [operator.neg, operator.pos, operator.invert, abs])
    def test_an_operator_of_one_operand_is_numpys(self, npy: File, apply: Callable[[Any], Any]) -> None:
        values = np.arange(-2, 3)
        same(apply(lt.open(npy(values))), apply(values))

    def test_matmul_takes_matrices_and_vectors(self, npy: File) -> None:
        values = np.arange(12.0).reshape(3, 4)
        array = lt.open(npy(values))
        same(array @ values.T, values @ values.T)
        same(values.T @ array, values.T @ values)
        same(array @ np.arange(4.0), values @ np.arange(4.0))

    def test_divmod_gives_both(self, npy: File) -> None:
        values = np.arange(5)
        array = lt.open(npy(values))
        for ours, expected in zip(divmod(array, 2), divmod(values, 2), strict=True):
            same(ours, expected)

    def test_nothing_is_read_before_it_is_computed(self, npy: File) -> None:
        path = npy(np.arange(4.0))
        total = (lt.open(path) * 2 + 1).sum()
        np.save(path, np.arange(5.0))
        with pytest.raises(lt.DataChangedError):
            total.compute()

    def test_what_it_cannot_know_is_left_to_the_other(self, npy: File) -> None:
        class Other:
            def __radd__(self, other: Any) -> str:
                return "mine"

        array = lt.open(npy(np.arange(4)))
        assert array + Other() == "mine"
        assert (array == None) is False  # noqa: E711
        with pytest.raises(TypeError):
            array + "text"

    def test_it_is_hashed_by_what_it_is(self, npy: File) -> None:
        array = lt.open(npy(np.arange(4)))
        assert {array: 1}[array] == 1

    def test_in_looks_at_every_element(self, npy: File) -> None:
        array = lt.open(npy(np.arange(12).reshape(3, 4)))
        assert 11 in array
        assert 12 not in array
        assert 5 in array[1, 1]

    def test_one_element_is_a_python_number(self) -> None:
        x = lt.asarray(3)
        assert (int(x + 1), float(x + 1), complex(x + 1), bool(x - 3)) == (4, 4.0, 4 + 0j, False)
        assert [10, 20, 30, 40][x] == 40
        with pytest.raises(ValueError, match="ambiguous"):
            bool(lt.asarray([1, 2]) == 1)


class TestInPlace:
    @pytest.mark.parametrize("name", IN_PLACE)
    def test_a_file_of_mode_r_plus_is_changed(self, npy: File, name: str) -> None:
        values = np.arange(1, 13).reshape(3, 4)
        path = npy(values)
        array = lt.open(path, mode="r+")
        again = getattr(operator, name)(array, 2)
        assert again is array
        array.flush()
        np.testing.assert_array_equal(np.load(path), getattr(operator, name)(values, 2), strict=True)

    def test_of_a_file_that_is_only_read_a_new_array_is_made(self, npy: File) -> None:
        path = npy(np.arange(4))
        array = before = lt.open(path)
        array += 1
        same(array, np.arange(1, 5))
        same(before + 0, np.arange(4))

    def test_a_dtype_that_does_not_fit_is_refused_as_numpy_refuses_it(self, npy: File) -> None:
        array = lt.open(npy(np.arange(4)), mode="r+")
        with pytest.raises(TypeError, match="same_kind"):
            array += 0.5
        with pytest.raises(ValueError, match="broadcast"):
            array += np.ones((3, 4), int)

    def test_rows_are_written_block_by_block(self, npy: File) -> None:
        values = np.arange(1 << 20, dtype=np.float64).reshape(-1, 8)
        path = npy(values)
        with lt.budget("6MiB"), lt.open(path, mode="r+") as array:
            array *= 2.0
            array[array > 100.0] = -1.0
        values *= 2
        values[values > 100.0] = -1.0
        np.testing.assert_array_equal(np.load(path), values)

    @pytest.mark.parametrize("change", [lambda a: a[::-1], lambda a: a[:, ::-1] + a, lambda a: a + a.sum(axis=0)])
    def test_an_expression_that_needs_other_rows_is_computed_first(
        self, npy: File, change: Callable[[Any], Any]
    ) -> None:
        values = np.arange(4000.0).reshape(-1, 4)
        path = npy(values)
        with lt.open(path, mode="r+") as array:
            lt.update(array, change(array))
        np.testing.assert_array_equal(np.load(path), change(values))

    def test_assigning_to_what_is_computed_leaves_those_who_use_it_alone(self, npy: File) -> None:
        x = lt.open(npy(np.arange(4))) * 1
        doubled = x * 2
        x[1] = 100
        same(x, [0, 100, 2, 3])
        same(doubled, [0, 2, 4, 6])
