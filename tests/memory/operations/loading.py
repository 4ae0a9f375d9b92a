"""Batches for training, over whole epochs of files many times the budget."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowtide as lt

from .case import COLUMNS, ROWS, Case
from .catalogue import Steps, operation
from .refusal import held

TOKENS = ROWS * COLUMNS * 2  # of uint16
BLOCK, BATCH = 1024, 12


def token_windows(case: Case, c: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    count = TOKENS // (BLOCK + 1)
    windows = c.reshape(-1).view(np.uint16)[: count * (BLOCK + 1)].reshape(count, BLOCK + 1)
    return [windows.sum(axis=0, dtype=np.int64)]


def add_up(loader: Any) -> np.ndarray[Any, Any]:
    total = np.zeros(BLOCK + 1, np.int64)
    for x, y in loader:
        total[:-1] += x.sum(axis=0)
        total[-1] += y[:, -1].sum()
        del x, y
    return total


@operation(token_windows)
def load_an_epoch_of_tokens(case: Case) -> Steps:
    yield
    loader = lt.TokenLoader(case.path("raw.bin"), BLOCK, BATCH, epochs=1, token_dtype="uint16")
    yield add_up(loader)
    assert case.budget >= loader.stats().peak


@operation(token_windows)
def load_an_epoch_of_tokens_in_order(case: Case) -> Steps:
    yield
    yield add_up(lt.TokenLoader(case.path("raw.bin"), BLOCK, BATCH, epochs=1, shuffle=False, token_dtype="uint16"))


@operation(token_windows)
def load_an_epoch_of_tokens_in_large_batches(case: Case) -> Steps:
    yield
    batch = case.budget // 4 // (2 * 8 * BLOCK)  # a quarter of the budget each
    yield add_up(lt.TokenLoader(case.path("raw.bin"), BLOCK, batch, epochs=1, token_dtype="uint16"))


@operation(lambda case, c: [np.array([3000 * BATCH])])
def sample_tokens(case: Case) -> Steps:
    yield
    loader = lt.TokenLoader(case.path("raw.bin"), BLOCK, BATCH, token_dtype="uint16")
    yield np.array([sum(len(loader.sample()[0]) for _ in range(3000))])


@operation(lambda case, c: [np.array([True])])
def hold_batches_of_tokens(case: Case) -> Steps:
    yield
    kept = held(iter(lt.TokenLoader(case.path("raw.bin"), BLOCK, BATCH, token_dtype="uint16")))
    yield np.array([sum(x.nbytes + y.nbytes for x, y in kept) > case.budget // 2])


@operation(lambda case, c: [c.sum(axis=0, dtype=np.int64)])
def load_an_epoch_of_rows(case: Case) -> Steps:
    yield
    total = np.zeros(COLUMNS, np.int64)
    for rows in lt.RowLoader(case.array(), batch=256):
        total += rows.sum(axis=0, dtype=np.int64)
        del rows
    yield total


@operation(lambda case, c: [np.array([c.sum(dtype=np.int64)])])
def load_an_epoch_of_tiny_rows(case: Case) -> Steps:
    yield
    rows = lt.open(case.path("raw.bin"), dtype="int32", shape=(-1, 8))
    yield np.array([sum(int(batch.sum(dtype=np.int64)) for batch in lt.RowLoader(rows, batch=4096))])


@operation(lambda case, c: [c[:, ::7].sum(axis=0, dtype=np.int64)])
def load_an_epoch_of_rows_of_a_view(case: Case) -> Steps:
    yield
    yield sum(rows.sum(axis=0, dtype=np.int64) for rows in lt.RowLoader(case.array()[:, ::7], batch=256))
