"""What does not fit is refused before any IO, with the numbers and what to type."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB, bytes_read_by_this_process

import lowtide as lt


class TestBudgetError:
    def test_it_is_a_memory_error_with_numbers(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(2 * MiB)))
        with lt.budget("8MiB"), pytest.raises(MemoryError) as caught:
            array.compute()
        assert isinstance(caught.value, lt.BudgetError)
        assert isinstance(caught.value, lt.Error)
        assert caught.value.needed >= 16 * MiB
        assert caught.value.limit == 8 * MiB

    def test_its_message_says_what_needs_how_much_and_what_to_type(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(2 * MiB)))
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError, match="needs at least") as caught:
            array.compute()
        for part in (array.path, "the budget is 8 MiB", "set_budget(", ".blocks()"):
            assert part in str(caught.value)

    def test_the_budget_it_asks_for_is_enough(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(2 * MiB)))
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError) as caught:
            array.compute()
        with lt.budget(str(caught.value).split('set_budget("')[1].split('"')[0]):
            assert array.compute().size == 2 * MiB

    def test_it_names_the_results_that_are_held(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(MiB)))
        with lt.budget("12MiB"):
            first = array.compute()
            with pytest.raises(lt.BudgetError, match=r"results 8.* MiB.*\n.*drop results"):
                array.compute()
        del first

    @pytest.mark.parametrize(
        "materialise",
        [lambda a: a.compute(), lambda a: a.read(), lambda a: a.read(slice(None, None, -1)), np.asarray, np.array,
         np.from_dlpack, lambda a: a.T.compute()],
        ids=["compute", "read", "read-reversed", "asarray", "array", "from_dlpack", "transposed"],
    )  # fmt: skip
    def test_it_comes_before_any_io(
        self, npy: File, io_mode: str, drop_pages: Callable[[Path], None], materialise: Callable[[lt.Array], Any]
    ) -> None:
        path = npy(np.zeros((2048, 1024)))
        drop_pages(path)
        array = lt.open(path)
        with lt.budget("8MiB"):
            before = bytes_read_by_this_process()
            with pytest.raises(lt.BudgetError):
                materialise(array)
            assert bytes_read_by_this_process() - before < 64 * 1024

    def test_a_refused_save_leaves_no_file(self, npy: File, tmp_path: Path) -> None:
        array = lt.open(npy(np.zeros((4, MiB))))
        with lt.budget("4MiB"), pytest.raises(lt.BudgetError):
            lt.save(tmp_path / "out.npy", array)
        assert os.listdir(tmp_path) == ["x.npy"]

    def test_a_refused_save_keeps_the_file_it_would_replace(self, npy: File, tmp_path: Path) -> None:
        array, old = lt.open(npy(np.zeros((4, MiB)))), npy(np.arange(5), "old.npy")
        with lt.budget("4MiB"), pytest.raises(lt.BudgetError):
            lt.save(old, array, overwrite=True)
        assert np.load(old).tolist() == [0, 1, 2, 3, 4]

    def test_memmap_refuses_what_cannot_fit(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.zeros(2 * MiB)), dtype="f8", mode="r")
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError):
            np.asarray(mapped[:])

    def test_an_index_is_paid_for_too(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(10)))
        with lt.budget("4MiB"), pytest.raises(lt.BudgetError):
            array[np.zeros(MiB, dtype=np.int32)]

    def test_asarray_with_a_dtype_counts_what_it_converts_to(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(8 * MiB, dtype=np.uint8)))
        with lt.budget("32MiB"), pytest.raises(lt.BudgetError):
            np.asarray(array, dtype=np.float64)


class TestHintsFitTheCase:
    def test_a_map_is_told_to_read_less_of_it(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.zeros(MiB)), "f8", "r")
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError, match=r"m\[i:j\]") as caught:
            np.asarray(mapped)
        assert "a.blocks()" not in str(caught.value)

    def test_a_save_is_not_told_of_blocks(self, tmp_path: Path) -> None:
        with lt.budget("64KiB"), pytest.raises(lt.BudgetError, match="set_budget") as caught:
            lt.save(tmp_path / "y.npy", np.zeros((100, 1000)))
        assert "blocks()" not in str(caught.value)

    def test_a_notebook_that_keeps_results_is_named(self, npy: File, monkeypatch: pytest.MonkeyPatch) -> None:
        array = lt.open(npy(np.zeros(MiB)))
        shell = types.SimpleNamespace(user_ns={"Out": {3: np.zeros(4), 5: "text"}})
        monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError, match=r"Out\[3\] .*%reset -f out"):
            array.compute()
