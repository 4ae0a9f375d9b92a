"""lt.torch: lowtide's loaders in PyTorch's DataLoader. Needs PyTorch; ``import lowtide`` does not import it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import _loader
from .budget import take_share

_data = _loader.import_torch().utils.data
_Base: Any = _data.IterableDataset


class IterableDataset(_Base):  # type: ignore[misc]
    """A loader as a dataset: ``DataLoader(lt.torch.IterableDataset(loader), batch_size=None, num_workers=n)``.

    Batches are tensors, in exactly the order of the loader alone, whatever the number of workers: worker w of n makes
    every n-th batch. Each worker has an n-th of the budget. Loaders read ahead in a thread without Python's
    lock, so ``num_workers=0`` is usually best: no batch has to cross from one process to another. In a worker, a
    :class:`Mixture` makes the other workers' batches too, and drops them: one worker is as fast as several.

    Workers begin where the loader stands in the main process, and that does not move. For a second epoch use
    ``persistent_workers=True``, or :meth:`advance`.

    >>> from torch.utils.data import DataLoader
    >>> loader = lt.TokenLoader(tokens_path, block=8, batch=4, epochs=1)
    >>> dataset = lt.torch.IterableDataset(loader)
    >>> x, y = next(iter(DataLoader(dataset, batch_size=None)))
    >>> x.shape, x.dtype
    (torch.Size([4, 8]), torch.int64)
    >>> loader.close()
    """

    def __init__(self, loader: _loader.Loader) -> None:
        if not isinstance(loader, _loader.Loader):
            raise TypeError(f"the dataset is of one of lowtide's loaders, not of {type(loader).__name__}")
        self._loader = loader
        self._turns: tuple[int, int] | None = None

    @property
    def loader(self) -> _loader.Loader:
        """The loader, as it stands in this process."""
        return self._loader

    def __iter__(self) -> Iterator[Any]:
        worker = _data.get_worker_info()
        if worker is not None and self._turns != (worker.id, worker.num_workers):
            take_share()
            self._loader._take_turns(worker.id, worker.num_workers)
            self._turns = (worker.id, worker.num_workers)
        self._loader._begin_loop()
        while (batch := self._loader._next()) is not None:
            tensors = _loader.to_torch(batch)
            del batch
            yield tensors
            del tensors  # so that its memory can be filled again

    def __len__(self) -> int:
        return len(self._loader)

    def state_dict(self, batches: int = 0) -> dict[str, Any]:
        """The loader's state after ``batches`` batches from where iteration began.

        Without workers the loader moves along, and 0 is where it stands. The main process cannot see how far workers
        are: count the batches that you have used.
        """
        return self._loader.state_dict(ahead=batches)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begin the next iteration with the very next batch of a saved state."""
        self._loader.load_state_dict(state)

    def advance(self, batches: int) -> None:
        """Begin the next iteration ``batches`` further on: with workers, after a whole loop, ``len(dataset)``."""
        at_end = batches == self._loader._batches_left()
        self._loader.load_state_dict(self._loader._state_after_loop() if at_end else self.state_dict(batches))

    def __repr__(self) -> str:
        return f"<lowtide.torch.IterableDataset of {self._loader!r}>"
