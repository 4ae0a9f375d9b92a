"""lowtide is an array API namespace; what it lacks says so."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt
from lowtide import _missing


class TestNames:
    def test_an_array_knows_its_namespace(self, npy: File) -> None:
        array = lt.open(npy(np.arange(4)))
        assert array.__array_namespace__() is lt
        assert array.__array_namespace__(api_version="2025.12") is lt
        with pytest.raises(ValueError, match=r"2025\.12"):
            array.__array_namespace__(api_version="1999.12")

    @pytest.mark.parametrize("name", sorted(_missing.NAMESPACE))
    def test_a_name_that_is_missing_says_what_to_type(self, name: str) -> None:
        assert not hasattr(lt, name)
        with pytest.raises(lt.UnsupportedError, match=r"a\.compute\(\)|is called lt\."):
            getattr(lt, name)

    @pytest.mark.parametrize("name", _missing.LINALG)
    def test_a_decomposition_that_is_missing_does_too(self, name: str) -> None:
        with pytest.raises(lt.UnsupportedError, match=rf"np\.linalg\.{name}\(a\.compute\(\)\)"):
            getattr(lt.linalg, name)

    def test_another_name_is_an_ordinary_attribute_error(self) -> None:
        with pytest.raises(AttributeError, match="no attribute 'nonsense'") as raised:
            lt.nonsense  # noqa: B018
        assert not isinstance(raised.value, lt.UnsupportedError)

    def test_only_the_cpu_is_a_device(self) -> None:
        assert lt.zeros(2, device="cpu").device == "cpu"
        assert lt.zeros(2).to_device("cpu").shape == (2,)
        with pytest.raises(lt.UnsupportedError, match="cuda"):
            lt.zeros(2, device="cuda:0")


class TestAsArray:
    def test_memory_of_others_is_shared_and_not_counted(self) -> None:
        values = np.zeros(1 << 20)
        held = lt.usage().held
        array = lt.asarray(values)
        assert lt.usage().held == held
        values[3] = 7
        assert array[3].item() == 7

    def test_a_copy_is_counted_and_its_own(self) -> None:
        values = np.zeros(1 << 17)
        array = lt.asarray(values, copy=True)
        assert lt.usage().by_purpose["results"] >= values.nbytes
        values[3] = 7
        assert array[3].item() == 0

    @pytest.mark.parametrize("dtype", [">f4", ">i2", "<u8"])
    def test_foreign_byte_orders_become_native(self, dtype: str) -> None:
        values = np.arange(6, dtype=dtype).reshape(2, 3)[:, ::-1]
        np.testing.assert_array_equal(lt.asarray(values).compute(), values)
        assert lt.asarray(values).dtype.isnative

    def test_what_is_no_number_is_refused(self) -> None:
        for values in (["a", "b"], np.array([object()]), np.array(["x"])):
            with pytest.raises(lt.UnsupportedError, match="dtype"):
                lt.asarray(values)

    def test_a_map_is_the_same_file(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.arange(50, dtype=np.uint16)), np.uint16, "r")
        array = lt.asarray(mapped)
        assert array.path == str(mapped.filename)
        assert (array.sum().item(), (array[10:] + 1)[0].item()) == (1225, 11)

    def test_dlpack_goes_both_ways(self, npy: File) -> None:
        assert lt.from_dlpack(np.arange(3)).compute().tolist() == [0, 1, 2]
        assert np.from_dlpack(lt.arange(3) * 2).tolist() == [0, 2, 4]
        with pytest.raises(BufferError, match="copy"):
            lt.open(npy(np.arange(3))).__dlpack__(copy=False)
        values = np.arange(3)
        assert np.shares_memory(np.from_dlpack(lt.asarray(values), copy=False), values)


class TestRecipes:
    def test_an_expression_is_pickled_as_what_it_is_made_of(self, npy: File) -> None:
        values = np.random.default_rng(0).random((500, 40))
        array = lt.open(npy(values))
        shared = array - array.mean(axis=0)
        expression = (shared * np.arange(40) + shared[::-1]).T[[3, 1]] / 2
        text = pickle.dumps(expression)
        assert len(text) < 4000
        np.testing.assert_array_equal(pickle.loads(text).compute(), expression.compute(), strict=True)

    def test_a_chain_longer_than_pythons_stack_is_pickled(self) -> None:
        x = lt.zeros(3)
        for _ in range(3000):
            x = x + 1
        assert pickle.loads(pickle.dumps(x)).compute().tolist() == [3000.0] * 3

    def test_much_memory_is_not_pickled(self) -> None:
        values = np.broadcast_to(np.zeros(1), (9 << 20,))
        with pytest.raises(lt.UnsupportedError, match=r"72\.?0? MiB.*lt\.save"):
            pickle.dumps(lt.asarray(values) + 1)

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
    def test_a_copy_is_the_same_expression(self, again: Any) -> None:
        assert again(lt.arange(4) * 2).compute().tolist() == [0, 2, 4, 6]

    def test_what_is_mapped_is_pickled_with_its_function(self, npy: File) -> None:
        values = np.random.default_rng(0).random((50, 4))
        mapped = lt.map_blocks(np.sort, lt.open(npy(values)), axis=1)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(mapped)).compute(), np.sort(values, axis=1))


class TestShown:
    def test_an_expression_says_what_it_is_made_of_and_computes_nothing(self, npy: File) -> None:
        path = npy(np.zeros((100, 4)))
        array = lt.open(path)
        np.save(path, np.zeros(3))
        shown = repr(array * np.ones(4))
        for part in ("(100, 4)", "float64", "3.1 KiB", "multiply", "x.npy", "32 bytes of memory", "least budget"):
            assert part in shown

    def test_in_a_notebook_too(self, npy: File) -> None:
        shown = lt.open(npy(np.zeros((100, 4)), "<b>.npy")).sum(axis=0)._repr_html_()
        for part in ("(4,)", "float64", "sum of", "&lt;b&gt;.npy", "least budget"):
            assert part in shown

    def test_a_plan_tells_bytes_and_passes(self, npy: File) -> None:
        plan = lt.open(npy(np.zeros((100, 4)))).mean(axis=0).explain()
        assert plan.read_bytes == 3200
        assert plan.result_bytes >= 32
        assert plan.least_bytes <= plan.peak_bytes
        assert "1. mean over (4, 100)" in str(plan)


class TestBlocks:
    def test_mapped_rows_are_saved_as_they_are_made(self, npy: File, tmp_path: Any) -> None:
        values = np.random.default_rng(0).random((100_000, 16))
        mapped = lt.map_blocks(lambda x, y: x[:, :2] + y, lt.open(npy(values)), 1.0)
        assert mapped.shape == (100_000, 2)
        with lt.budget("4MiB"):
            lt.reset_peak()
            lt.save(tmp_path / "out.npy", mapped)
            assert lt.usage().peak <= 4 << 20
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), values[:, :2] + 1)

    def test_what_is_mapped_is_an_array_like_any_other(self, npy: File) -> None:
        values = np.random.default_rng(0).random((50, 4))
        mapped = lt.map_blocks(np.cumsum, lt.open(npy(values)), axis=1, rows=7)
        expected = np.cumsum(values, axis=1)
        np.testing.assert_array_equal((mapped * 2)[3].compute(), expected[3] * 2)
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in mapped.blocks(9)]), expected)

    def test_a_function_that_makes_no_rows_is_refused(self, npy: File) -> None:
        with pytest.raises(ValueError, match="one row for each"):
            lt.map_blocks(np.sum, lt.open(npy(np.zeros((5, 4)))))

    def test_several_results_come_together(self, npy: File) -> None:
        array = lt.open(npy(np.arange(12.0).reshape(3, 4)))
        low, text, means = lt.compute(array.min(), "as it is", array.mean(axis=0))
        assert (float(low), text, means.tolist()) == (0.0, "as it is", [4.0, 5.0, 6.0, 7.0])
