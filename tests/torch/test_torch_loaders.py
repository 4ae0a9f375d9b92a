"""Loaders as PyTorch sees them: tensors of the same memory, and workers that together make the same stream."""

from __future__ import annotations

import gc
import json
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide as lt

pytest.importorskip("torch.nn")  # `torch` alone finds this folder where PyTorch is not installed
import torch
from torch.utils.data import DataLoader, get_worker_info

# torch warns of its own accord, in its own modules.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]
Make = Callable[..., Any]


@pytest.fixture
def tokens(raw: Callable[..., Path]) -> Path:
    return raw(np.random.default_rng(0).integers(0, 50_000, 20_000).astype(np.uint16), "tokens.bin")


@pytest.fixture
def rows(npy: Callable[..., Path]) -> dict[str, lt.Array]:
    numbers = np.arange(500, dtype=np.int64)
    wide = np.repeat(numbers[:, None], 300, axis=1).astype(np.float32)
    return {"x": lt.open(npy(wide, "wide.npy")), "y": lt.open(npy(numbers, "numbers.npy"))}


@pytest.fixture(params=["tokens", "rows", "windowed", "mixture"])
def make(request: pytest.FixtureRequest, tokens: Path, rows: dict[str, lt.Array]) -> Make:
    """A loader of each kind, finite, always the same."""

    def token_loader(seed: int = 1, epochs: int = 1) -> lt.TokenLoader:
        return lt.TokenLoader(tokens, block=32, batch=13, seed=seed, epochs=epochs)

    return {
        "tokens": token_loader,
        "rows": lambda: lt.RowLoader(rows, batch=23, shuffle="global"),
        "windowed": lambda: lt.RowLoader(rows, batch=23, shuffle="windowed"),
        "mixture": lambda: lt.Mixture({"a": token_loader(), "b": token_loader(2, epochs=2)}, [3, 2]),
    }[request.param]


def flat(batch: Any) -> list[Any]:
    return list(batch.values()) if isinstance(batch, dict) else list(batch)


def arrays(batches: Any) -> list[list[np.ndarray]]:
    """Copies, so that nothing keeps the batches."""
    return [[np.array(part) for part in flat(batch)] for batch in batches]


def assert_same(got: list[list[np.ndarray]], expected: list[list[np.ndarray]]) -> None:
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def data_loader(dataset: Any, workers: int, how: str = "fork", **options: Any) -> Any:
    context = how if workers else None
    return DataLoader(dataset, batch_size=None, num_workers=workers, multiprocessing_context=context, **options)


def test_tensors_are_the_loaders_memory(tokens: Path, held: Callable[[], dict[str, int]]) -> None:
    loader = lt.TokenLoader(tokens, block=32, batch=8, like="torch")
    with lt.TokenLoader(tokens, block=32, batch=8) as plain:
        x, y = next(iter(loader))
        np.testing.assert_array_equal(x.numpy(), next(iter(plain))[0])
    assert x.dtype == torch.int64
    assert not x.is_pinned()
    loader.close()
    assert sum(held().values()) >= x.nbytes + y.nbytes
    view = x[2:4].view(-1)
    del x, y
    assert held() != {}  # a view keeps the batch
    del view
    assert held() == {}


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16"])
def test_tokens_have_the_dtype_asked_for(tokens: Path, dtype: str) -> None:
    with lt.TokenLoader(tokens, block=32, batch=8, like="torch", dtype=dtype) as loader:
        x, _ = next(iter(loader))
        assert x.dtype == getattr(torch, dtype)
        del x, _


def test_document_batches_are_tensors_too(tokens: Path) -> None:
    with lt.TokenLoader(tokens, block=32, batch=8, like="torch", documents=7) as loader:
        batch = next(iter(loader))
        assert batch.mask.dtype == torch.bool
        assert batch.cu_seqlens.dtype == torch.int32
        assert isinstance(batch.max_seqlen, int)
        del batch


def test_rows_come_in_their_structure(rows: dict[str, lt.Array], raw: Callable[..., Path]) -> None:
    halves = raw(torch.arange(500, dtype=torch.bfloat16).view(torch.int16).numpy(), "bf16.bin")
    columns = {**rows, "half": lt.open(halves, dtype="bfloat16")}
    with lt.RowLoader(columns, batch=16, like="torch") as loader:
        batch = next(iter(loader))
        assert batch["x"].dtype == torch.float32
        assert batch["half"].dtype == torch.bfloat16
        assert torch.equal(batch["half"], batch["y"].to(torch.bfloat16))
        del batch


def test_memory_is_not_pinned_without_cuda(tokens: Path) -> None:
    assert not torch.cuda.is_available()
    with lt.TokenLoader(tokens, block=32, batch=8, like="torch") as loader:
        next(iter(loader))
        assert loader.stats().pinned == 0
        assert repr(loader).endswith("batches of 8>")
        gc.collect()


@pytest.mark.parametrize(
    ("workers", "how"), [(0, "fork"), (1, "fork"), (2, "fork"), (3, "fork"), (1, "spawn"), (2, "spawn"), (3, "spawn")]
)
def test_workers_together_make_the_stream(make: Make, workers: int, how: str) -> None:
    with make() as alone:
        expected = arrays(alone)
    with make() as loader:
        dataset = lt.torch.IterableDataset(loader)
        got = []
        for batch in data_loader(dataset, workers, how):
            assert all(isinstance(part, torch.Tensor) for part in flat(batch))
            got += arrays([batch])
        del batch
        assert_same(got, expected)
        assert len(dataset) == len(got)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_goes_on_with_the_very_next_batch(make: Make, workers: int) -> None:
    with make() as alone:
        expected = arrays(alone)
    with make() as loader:
        dataset = lt.torch.IterableDataset(loader)
        got = arrays(islice(data_loader(dataset, workers), 7))
        assert_same(got, expected[:7])
        state = json.loads(json.dumps(dataset.state_dict(7 if workers else 0)))
    for other in (0, 1, 3):
        with make() as loader:
            dataset = lt.torch.IterableDataset(loader)
            dataset.load_state_dict(state)
            assert_same(arrays(data_loader(dataset, other)), expected[7:])


def test_the_next_epoch_follows(make: Make) -> None:
    with make() as alone:
        epochs = [arrays(alone), arrays(alone)]
    with make() as loader:
        kept = data_loader(lt.torch.IterableDataset(loader), 2, persistent_workers=True)
        for expected in epochs:
            assert_same(arrays(kept), expected)
        del kept
    with make() as loader:
        dataset = lt.torch.IterableDataset(loader)
        assert_same(arrays(data_loader(dataset, 2)), epochs[0])
        dataset.advance(len(dataset))
        assert_same(arrays(data_loader(dataset, 2)), epochs[1])


class Budget:
    """Tells the budget of the worker it runs in."""

    def __call__(self, batch: Any) -> Any:
        worker = get_worker_info()
        return {"limit": np.array([lt.usage().limit, -1 if worker is None else worker.num_workers])}


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_share_the_budget(rows: dict[str, lt.Array], how: str) -> None:
    with lt.RowLoader(rows, batch=23, transform=Budget()) as loader, lt.budget("60MiB") as limit:
        dataset = lt.torch.IterableDataset(loader)

        def check(batches: Any, workers: int) -> None:
            for share, told in (batch["limit"].tolist() for batch in batches):
                assert told == workers
                assert limit // workers <= share < limit // workers + (1 << 20)  # and what it holds from the start

        check(data_loader(dataset, 3, how), 3)
        persistent = data_loader(dataset, 2, how, persistent_workers=True)
        for _ in range(2):
            check(persistent, 2)
        del persistent
        assert lt.usage().limit == limit


def test_a_worker_that_was_forked_in_the_middle_goes_on_there(make: Make) -> None:
    with make() as alone:
        expected = arrays(alone)
    with make() as loader:
        assert_same(arrays(islice(loader, 5)), expected[:5])
        assert_same(arrays(data_loader(lt.torch.IterableDataset(loader), 2)), expected[5:])
        assert_same(arrays(loader), expected[5:])


def test_a_dataset_is_of_a_loader(tokens: Path) -> None:
    with pytest.raises(TypeError, match="not of list"):
        lt.torch.IterableDataset([1, 2])
    with lt.TokenLoader(tokens, block=32, batch=8) as loader:
        dataset = lt.torch.IterableDataset(loader)
        assert "TokenLoader" in repr(dataset)
        assert pickle.loads(pickle.dumps(dataset)).state_dict() == dataset.state_dict()
