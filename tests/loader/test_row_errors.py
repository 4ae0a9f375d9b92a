"""What goes wrong around a RowLoader ends as it does around a TokenLoader, whatever the shuffle."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pressed_keys import loop_to_the_end

import lowtide as lt

SHUFFLES = ["global", "windowed"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Row i begins with i."""
    rows = np.zeros((20_000, 64), np.int32)
    rows[:, 0] = np.arange(len(rows))
    np.save(tmp_path / "rows.npy", rows)
    return tmp_path / "rows.npy"


def loader_of(path: Path, shuffle: str, **options: Any) -> lt.RowLoader:
    window = {"window": 2_000} if shuffle == "windowed" else {}
    return lt.RowLoader(lt.open(path), batch=64, shuffle=shuffle, seed=3, **window, **options)


def numbers(loader: lt.RowLoader) -> list[int]:
    return [int(row) for batch in loader for row in batch[:, 0]]


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_fork_with_a_live_loader_leaves_two_that_work(path: Path, shuffle: str) -> None:
    reference = numbers(loader_of(path, shuffle))
    loader = loader_of(path, shuffle)
    batches = iter(loader)
    seen = [int(row) for _ in range(5) for row in next(batches)[:, 0]]
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if seen + numbers(loader) == reference else 1)
    assert seen + numbers(loader) == reference
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_an_exception_in_the_loop_loses_nothing(path: Path, shuffle: str) -> None:
    reference = numbers(loader_of(path, shuffle))
    loader = loader_of(path, shuffle)
    seen: list[int] = []

    def train() -> None:
        for batch in loader:
            seen.extend(batch[:, 0].tolist())
            if len(seen) > 1000:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    assert seen + numbers(loader) == reference


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_file_changed_between_save_and_resume_is_refused_by_name(path: Path, shuffle: str) -> None:
    loader = loader_of(path, shuffle)
    next(iter(loader))
    state = loader.state_dict()
    loader.close()
    with path.open("r+b") as file:
        file.seek(200)
        file.write(b"\xff")
    with pytest.raises(lt.DataChangedError, match=r"rows\.npy"):
        loader_of(path, shuffle).load_state_dict(state)


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_file_that_shrinks_under_the_loader_is_an_error(path: Path, shuffle: str) -> None:
    loader = loader_of(path, shuffle, epochs=None)
    batches = iter(loader)
    next(batches)
    os.truncate(path, 4096)
    with pytest.raises(lt.DataChangedError, match=r"rows\.npy"):
        for _ in batches:
            pass


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_a_budget_too_small_for_a_batch_is_refused(path: Path, shuffle: str) -> None:
    loader = lt.RowLoader(lt.open(path), batch=10_000, shuffle=shuffle)
    with lt.budget("256KiB"), pytest.raises(lt.BudgetError, match=r"rows.*needs"):
        next(iter(loader))


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_ctrl_c_loses_no_more_than_the_batch_in_hand(path: Path, shuffle: str) -> None:
    reference = numbers(loader_of(path, shuffle))
    loader = loader_of(path, shuffle)
    seen: list[int] = []
    interrupted = loop_to_the_end(loader, lambda batch: seen.extend(batch[:, 0].tolist()))
    assert interrupted > 0
    assert len(seen) >= len(reference) - 64 * interrupted
    came = set(seen)
    assert [row for row in reference if row in came] == seen
