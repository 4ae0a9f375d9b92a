"""The budget: how it is set, what is counted against it, and what info() tells."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB

import lowtide as lt


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class TestBudget:
    def test_set_budget_returns_the_previous_one(self) -> None:
        lt.set_budget("10MiB")
        assert lt.set_budget("20MiB") == 10 * MiB

    @pytest.mark.parametrize(
        ("text", "count"),
        [("512MiB", 512 * MiB), ("2 GB", 2 * 10**9), ("1.5GiB", 3 << 29), ("1073741824", 1 << 30), ("64 KiB", 65536)],
    )
    def test_sizes_are_read_as_they_are_written(self, text: str, count: int) -> None:
        with lt.budget(text) as limit:
            assert limit == count

    def test_a_percentage_is_of_what_is_available(self) -> None:
        with lt.budget("10%") as tenth, lt.budget("50%") as half:
            assert tenth < half

    @pytest.mark.parametrize("wrong", ["", "abc", "-5MiB", "5XiB", -1])
    def test_what_is_no_size_is_a_value_error(self, wrong: str | int) -> None:
        with pytest.raises(ValueError, match="size in bytes"):
            lt.set_budget(wrong)

    def test_a_budget_block_restores_the_budget_after_an_exception(self) -> None:
        with pytest.raises(KeyError), lt.budget("8MiB"):
            raise KeyError
        assert lt.usage().limit == 64 * MiB

    def test_usage_counts_a_result_until_it_is_collected(self, npy: File, held: Callable[[], dict[str, int]]) -> None:
        result = lt.open(npy(np.zeros(MiB))).compute()
        assert held()["results"] >= result.nbytes
        del result
        assert held() == {}

    def test_a_view_of_a_result_keeps_its_bytes_counted(self, npy: File) -> None:
        view = lt.open(npy(np.zeros(MiB))).compute()[::1000]
        gc.collect()
        assert lt.usage().by_purpose["results"] >= 8 * MiB
        assert view.sum() == 0

    def test_peak_is_the_highest_held_since_reset(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(MiB)))
        lt.reset_peak()
        array.compute()
        assert 8 * MiB <= lt.usage().peak <= 64 * MiB
        lt.reset_peak()
        assert lt.usage().peak == lt.usage().held

    def test_usage_prints_held_and_limit(self) -> None:
        assert "of 64 MiB held" in str(lt.usage())

    def test_info_names_each_open_file_and_its_io_mode(self, npy: File, io_mode: str) -> None:
        array = lt.open(npy(np.zeros(3)))
        assert [file["io"] for file in lt.info()["files"] if file["path"] == array.path] == [io_mode]

    def test_info_tells_version_and_budget(self) -> None:
        assert lt.info()["version"] == lt.__version__
        assert lt.info()["budget"] == 64 * MiB

    def test_the_environment_sets_the_budget(self) -> None:
        told = run("import lowtide as lt; print(lt.usage().limit, lt.info()['budget_source'])", LOWTIDE_BUDGET="123MiB")
        assert told == f"{123 * MiB} LOWTIDE_BUDGET"

    def test_the_default_budget_is_half_of_what_is_available(self) -> None:
        assert run("import lowtide as lt; print(lt.info()['budget_source'])", LOWTIDE_BUDGET="").startswith("half of ")

    def test_an_unknown_io_mode_is_refused_with_the_known_ones(
        self, npy: File, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LOWTIDE_IO", "floppy")
        with pytest.raises(ValueError, match="auto, uring, threads, dontcache or buffered"):
            lt.open(npy(np.zeros(3)))


@pytest.mark.parametrize("size", [1.5, 1e9, None, np.float64(2)])
def test_a_size_that_is_no_whole_number_of_bytes_is_a_type_error(size: Any) -> None:
    with pytest.raises(TypeError, match=r'whole bytes, or a string such as "1\.5GiB"'):
        lt.set_budget(size)
    assert lt.set_budget(np.int64(64 << 20)) == 64 << 20


def test_views_held_by_the_thousand_are_paid_for(npy: File) -> None:
    whole = lt.open(npy(np.arange(10)))
    held = []
    with lt.budget("8MiB"):
        with pytest.raises(lt.BudgetError, match="one more view of"):
            held.extend(whole[1:] for _ in range(100_000))
        assert len(held) > 10_000
        assert lt.usage().held > 7 * MiB
        held.clear()
        assert whole[1:].read().tolist() == list(range(1, 10))
