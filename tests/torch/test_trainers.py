"""Trainers and loaders that others wrote on top of PyTorch take lowtide's loaders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide as lt

pytest.importorskip("torch.nn")  # `torch` alone finds this folder where PyTorch is not installed
import torch

# They warn of their own accord, in their own modules.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def loader(raw: Callable[..., Path]) -> Iterator[lt.TokenLoader]:
    tokens = raw(np.random.default_rng(0).integers(0, 50, 6500).astype(np.uint16), "tokens.bin")
    with lt.TokenLoader(tokens, block=32, batch=4, seed=3, epochs=1, like="torch") as made:
        yield made  # and closed, whoever still holds it


def batches(loader: lt.TokenLoader) -> list[Any]:
    """A whole epoch of a fresh loader of the same stream, as lists."""
    with lt.TokenLoader(loader.files[0], block=32, batch=4, seed=3, epochs=1) as fresh:
        return [x.tolist() for x, _ in fresh]


def test_lightning_trains_on_every_batch_of_an_epoch(loader: lt.TokenLoader, tmp_path: Path) -> None:
    import lightning

    class Model(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(50, 50)
            self.seen: list[Any] = []

        def training_step(self, batch: Any, _: int) -> Any:
            x, y = batch
            self.seen.append(x.tolist())
            return torch.nn.functional.cross_entropy(self.table(x).flatten(0, 1), y.flatten())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    model = Model()
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", default_root_dir=tmp_path, **quiet)
    trainer.fit(model, loader)
    assert model.seen == batches(loader)


def test_accelerate_passes_the_batches_on(loader: lt.TokenLoader) -> None:
    from accelerate import Accelerator

    data = torch.utils.data.DataLoader(lt.torch.IterableDataset(loader), batch_size=None)
    prepared = Accelerator(cpu=True).prepare(data)
    assert [x.tolist() for x, _ in prepared] == batches(loader)


def test_a_stateful_data_loader_goes_on_where_it_was(loader: lt.TokenLoader) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    data = StatefulDataLoader(lt.torch.IterableDataset(loader), batch_size=None)
    first = [x.tolist() for x, _ in islice(data, 5)]
    state = data.state_dict()
    resumed = StatefulDataLoader(lt.torch.IterableDataset(loader), batch_size=None)
    resumed.load_state_dict(state)
    assert first + [x.tolist() for x, _ in resumed] == batches(loader)
