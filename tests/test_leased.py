"""What Python sequences become on their way in and out is paid for before it is allocated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB

import lowtide as lt

COUNT = MiB  # 8 MiB as int64, under a budget of 6
SEQUENCES: dict[str, Any] = {
    "range": range(COUNT),
    "list": [0] * COUNT,
    "nested list": [[0, 1]] * (COUNT // 2),
    "tuple": (0,) * COUNT,
}


@pytest.fixture
def nothing_made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What np.asarray was asked for meanwhile."""
    made: list[Any] = []
    real = np.asarray

    def asarray(values: Any, *rest: Any, **more: Any) -> Any:
        made.append(type(values))
        return real(values, *rest, **more)

    monkeypatch.setattr(np, "asarray", asarray)
    return made


@pytest.mark.parametrize("kind", SEQUENCES)
def test_a_sequence_to_save_that_does_not_fit_is_refused_before_it_is_an_array(
    kind: str, tmp_path: Path, nothing_made: list[Any]
) -> None:
    lt.set_budget("6MiB")
    with pytest.raises(lt.BudgetError, match="the values"):
        lt.save(tmp_path / "y.npy", SEQUENCES[kind])
    assert nothing_made == []
    assert list(tmp_path.iterdir()) == []


def test_a_list_to_assign_or_append_is_refused_in_time(npy: File, tmp_path: Path, nothing_made: list[Any]) -> None:
    array = lt.open(npy(np.zeros(COUNT)), "r+")
    lt.set_budget("6MiB")
    with pytest.raises(lt.BudgetError):
        array[:] = SEQUENCES["list"]
    writer = lt.create(tmp_path / "y.npy", (0,))
    with pytest.raises(lt.BudgetError):
        writer.append(SEQUENCES["list"])
    writer.discard()
    assert nothing_made == []


@pytest.mark.parametrize("index", ["list", "nested list", "range"])
def test_a_list_of_indices_that_does_not_fit_is_refused_in_time(npy: File, index: str, nothing_made: list[Any]) -> None:
    array = lt.open(npy(np.zeros(4)))
    lt.set_budget("6MiB")
    for work in (lambda: array[SEQUENCES[index]], lambda: lt.Permutation(10)[SEQUENCES[index]]):
        with pytest.raises(lt.BudgetError):
            work()
    assert nothing_made == []


def test_a_swapped_copy_is_paid_for_while_it_is_kept(npy: File, held: Callable[[], dict[str, int]]) -> None:
    array = lt.open(npy(np.arange(COUNT, dtype="f4")))
    kept = np.asarray(array, dtype=">f4")
    assert kept.dtype == np.dtype(">f4")
    assert kept[7] == 7
    assert held()["results"] >= kept.nbytes


def test_values_of_a_list_are_given_back(npy: File, held: Callable[[], dict[str, int]]) -> None:
    path = npy(np.zeros(COUNT))
    lt.open(path, "r+")[:] = list(range(COUNT))
    assert held() == {}
    assert np.array_equal(np.load(path), np.arange(COUNT))
