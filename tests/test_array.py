"""An array on disk as NumPy's users meet it: views, results, numbers, iteration and blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB

import lowtide as lt


class TestArray:
    def test_indexing_is_lazy_and_gives_an_array(self, npy: File) -> None:
        assert isinstance(lt.open(npy(np.arange(10)))[2:5], lt.Array)

    def test_compute_of_one_element_is_an_ndarray_without_axes(self, npy: File) -> None:
        result = lt.open(npy(np.arange(10)))[3].compute()
        assert isinstance(result, np.ndarray)
        assert result.shape == ()

    def test_results_are_writable_and_leave_the_file_alone(self, npy: File) -> None:
        array = lt.open(npy(np.arange(10)))
        result = array.compute()
        result[:] = 7
        assert array[3].item() == 3

    def test_item_is_a_python_scalar(self, npy: File) -> None:
        assert type(lt.open(npy(np.arange(10, dtype=np.uint8)))[3].item()) is int

    def test_item_of_many_elements_is_a_value_error(self, npy: File) -> None:
        with pytest.raises(ValueError, match="size 1"):
            lt.open(npy(np.arange(10))).item()

    @pytest.mark.parametrize("convert", [int, float, complex, bool])
    def test_one_element_converts_to_a_python_number(self, npy: File, convert: type) -> None:
        expected = np.array([[2.5]])
        assert convert(lt.open(npy(expected))) == convert(expected[0, 0])

    def test_truth_of_many_elements_is_ambiguous(self, npy: File) -> None:
        with pytest.raises(ValueError, match="ambiguous"):
            bool(lt.open(npy(np.arange(10))))

    def test_asarray_reads_the_array(self, npy: File) -> None:
        expected = np.random.default_rng(0).random((5, 6))
        np.testing.assert_array_equal(np.asarray(lt.open(npy(expected))[::2, ::-1]), expected[::2, ::-1], strict=True)

    def test_asarray_converts_to_a_dtype(self, npy: File) -> None:
        assert np.asarray(lt.open(npy(np.arange(4))), dtype=np.float32).dtype == np.float32

    def test_asarray_without_a_copy_is_refused(self, npy: File) -> None:
        with pytest.raises(ValueError, match="copy"):
            np.asarray(lt.open(npy(np.arange(4))), copy=False)

    @pytest.mark.parametrize("shape", [(4, 5), (0, 5), ()])
    def test_from_dlpack_reads_the_array(self, npy: File, shape: tuple[int, ...]) -> None:
        expected = np.random.default_rng(0).random(shape)
        np.testing.assert_array_equal(np.from_dlpack(lt.open(npy(expected))), expected, strict=True)

    def test_repr_tells_shape_dtype_bytes_and_path(self, npy: File) -> None:
        array = lt.open(npy(np.zeros((100, 4))))
        assert repr(array) == f"<lowtide.Array (100, 4) float64, 3.1 KiB, npy, C order, {array.path!r}>"

    def test_html_repr_tells_the_budgets_and_escapes_the_path(self, npy: File) -> None:
        shown = lt.open(npy(np.zeros((100, 4)), "<b>.npy"))._repr_html_()
        for part in ("(100, 4)", "float64", "least budget", "read whole in", "&lt;b&gt;.npy"):
            assert part in shown

    def test_len_of_an_array_without_axes_is_a_type_error(self, npy: File) -> None:
        with pytest.raises(TypeError, match="unsized"):
            len(lt.open(npy(np.array(3))))

    def test_iteration_over_an_array_without_axes_is_a_type_error(self, npy: File) -> None:
        with pytest.raises(TypeError, match="0-d"):
            next(iter(lt.open(npy(np.array(3)))))

    def test_iteration_yields_rows_that_outlive_it(self, npy: File) -> None:
        expected = np.arange(12).reshape(4, 3)
        np.testing.assert_array_equal(list(lt.open(npy(expected))), expected)

    @pytest.mark.parametrize("axes", [(), (1, 0, 2), ((2, 0, 1),), (-1, 0, 1)])
    def test_transpose_takes_axes_as_numpy_does(self, npy: File, axes: tuple[Any, ...]) -> None:
        expected = np.arange(24).reshape(2, 3, 4)
        np.testing.assert_array_equal(lt.open(npy(expected)).transpose(*axes).compute(), expected.transpose(*axes))

    @pytest.mark.parametrize("axes", [(5, 0, 1), (0, 0, 1), (0, 1), (-4, 0, 1)])
    def test_transpose_refuses_axes_as_numpy_does(self, npy: File, axes: tuple[int, ...]) -> None:
        expected = np.zeros((2, 3, 4))
        with pytest.raises(ValueError) as theirs:  # noqa: PT011
            expected.transpose(axes)
        with pytest.raises(theirs.type):
            lt.open(npy(expected)).transpose(axes)

    @pytest.mark.parametrize("rows", [0, -3])
    def test_blocks_of_no_rows_are_refused_when_asked_for(self, npy: File, rows: int) -> None:
        with pytest.raises(ValueError, match="rows must be positive"):
            lt.open(npy(np.arange(4))).blocks(rows)

    def test_blocks_of_an_array_without_axes_are_refused(self, npy: File) -> None:
        with pytest.raises(ValueError, match="one dimension"):
            lt.open(npy(np.array(3))).blocks()

    def test_blocks_stay_far_below_the_file_in_size(self, npy: File, io_mode: str) -> None:
        array = lt.open(npy(np.arange(4 * MiB).reshape(-1, 64)))
        with lt.budget("8MiB"):
            lt.reset_peak()
            total = sum(int(rows.sum()) for _, rows in array.blocks())
            assert lt.usage().peak <= 8 * MiB
        assert total == (4 * MiB) * (4 * MiB - 1) // 2

    @pytest.mark.parametrize("rows", [None, 20])
    def test_blocks_of_a_transposed_array_run_in_eight_mebibytes(
        self, npy: File, io_mode: str, rows: int | None
    ) -> None:
        expected = np.random.default_rng(0).random((700, 513))
        array = lt.open(npy(expected)).T
        with lt.budget("8MiB"):
            for start, block in array.blocks(rows):
                np.testing.assert_array_equal(block, expected.T[start : start + len(block)])

    def test_blocks_run_in_the_least_budget_that_the_array_states(self, npy: File, io_mode: str) -> None:
        array = lt.open(npy(np.ones((300, 513))))
        with lt.budget(dict(array._facts())["least budget"]):
            assert sum(rows.sum() for _, rows in array.blocks()) == array.size

    def test_blocks_left_half_way_hold_nothing(self, npy: File, held: Callable[[], dict[str, int]]) -> None:
        for _ in lt.open(npy(np.zeros((64, MiB // 8)))).blocks(rows=4):
            break
        del _
        assert held() == {}
