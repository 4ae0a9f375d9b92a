"""What all loaders are to their users: something to loop over, with a state and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any

import numpy as np

from . import _core
from .errors import FormatError

LIKE = ("numpy", "torch")
Share = tuple[int, int, int, int, int, int | None, bool]


@dataclass(frozen=True)
class LoaderStats:
    """How a loader has done: who waited for whom, and what it holds."""

    batches: int
    samples: int
    tokens: int
    seconds: float
    """From the first call for a batch to the last batch."""
    waited_on_disk: float
    """Seconds the consumer waited for batches."""
    waited_on_consumer: float
    """Seconds the loader's thread waited for room: time in which the disk was idle."""
    held: int
    """Bytes of the budget that the loader and its batches hold now."""
    peak: int
    pinned: int = 0
    """Of those held, bytes that a GPU copies from directly."""

    @property
    def samples_per_second(self) -> float:
        """Windows or rows a second."""
        return self.samples / self.seconds if self.seconds > 0 else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens of x a second; 0 for rows."""
        return self.tokens / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        rate = f"{self.tokens_per_second:,.0f} tokens/s" if self.tokens else f"{self.samples_per_second:,.0f} rows/s"
        return (
            f"{self.batches:,} batches, {rate}; waited {self.waited_on_disk:.3f} s on the disk, "
            f"{self.waited_on_consumer:.3f} s on the consumer; holds {_core.format_bytes(self.held)}, "
            f"at most {_core.format_bytes(self.peak)}"
            f"{f', {_core.format_bytes(self.pinned)} of it pinned' if self.pinned else ''}"
        )


def total_stats(parts: Sequence[Any]) -> LoaderStats:
    """Of several loaders that one consumer uses in turn."""
    flat = [part.total if hasattr(part, "total") else part for part in parts]
    return LoaderStats(**{field.name: sum(getattr(part, field.name) for part in flat) for field in fields(LoaderStats)})


class _Loop:
    """Batches until there is none. iter(next, None) would compare arrays with None, a generator would keep a batch."""

    def __init__(self, next_batch: Callable[[], Any]) -> None:
        self._next: Callable[[], Any] | None = next_batch

    def __iter__(self) -> _Loop:
        return self

    def __next__(self) -> Any:
        batch = None if self._next is None else self._next()
        if batch is None:
            self._next = None
            raise StopIteration
        return batch


class Loader:
    """Batches one after the other, for ever or for some epochs.

    A loop goes on where the last one stopped; with ``epochs=n`` it ends after n epochs, and the next loop begins
    the epoch after.
    """

    def _next(self) -> Any:
        """The next batch, or None at the end of a loop."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return _Loop(self._next)

    def state_dict(self, *, ahead: int = 0) -> dict[str, Any]:
        """Where the loader stands, or will stand after ``ahead`` more batches: small, exact, JSON."""
        raise NotImplementedError

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with the very next batch of a saved state."""
        raise NotImplementedError

    def stats(self) -> Any:
        """How the loader has done."""
        raise NotImplementedError

    def _stop(self) -> None:
        raise NotImplementedError

    def _take_turns(self, worker: int, worker_count: int) -> None:
        """From here on only every ``worker_count``-th batch, beginning with the one of this number."""
        raise NotImplementedError

    def _state_after_loop(self) -> dict[str, Any]:
        """The state in which the loader begins its next loop."""
        raise NotImplementedError

    def _batches_left(self) -> int | None:
        """Batches from here to the end of the loop; None if it never ends."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Batches of one loop; TypeError if it never ends."""
        raise NotImplementedError

    def close(self) -> None:
        """Give back all memory but that of batches still in use. Another batch starts again where this one stopped."""
        self._stop()

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class CoreLoader(Loader):
    """What loaders of tokens and of rows share: a core that makes the batches, and the share of the stream it takes."""

    _core: Any
    _share: Share
    _like: str
    _pin: bool

    @property
    def batch(self) -> int:
        """Samples a batch."""
        return self._share[0]

    def _stop(self) -> None:
        self._core.stop()

    def _set_share(self, share: Share) -> None:
        """Another part of the same stream, from here on."""
        self._core.set_share(share)
        self._share = share

    def _take_turns(self, worker: int, worker_count: int) -> None:
        batch, rank, world, _, _, epochs, drop_last = self._share
        self._set_share((batch, rank, world, worker, worker_count, epochs, drop_last))

    def _batches_left(self) -> int | None:
        _, position, ended, *_ = self._core.state(0)
        return 0 if ended else batches_left(self._share, self._core.samples_per_epoch, position)

    def _state_after_loop(self) -> dict[str, Any]:
        left = self._batches_left() or 0
        state = self.state_dict(ahead=left)
        if not state["ended"]:  # this rank has no part in the last samples of the loop
            state = self.state_dict(ahead=left + 1)
        return {**state, "ended": False}

    def __len__(self) -> int:
        """Batches of one loop on this rank, the last one included unless it is dropped; TypeError if it never ends."""
        count = batches_left(self._share, self._core.samples_per_epoch, 0)
        if count is None:
            raise TypeError("a loader without epochs= has no length: it never ends")
        return count

    def _handed_over(self, arrays: Any) -> Any:
        """A tuple or dict of NumPy arrays as what the user asked for."""
        return arrays if self._like == "numpy" else to_torch(arrays)

    def _share_text(self) -> str:
        """The end of a repr: the batch, the rank, and whether memory is pinned if it was to be."""
        batch, rank, world, *_ = self._share
        part = f", rank {rank} of {world}" if world > 1 else ""
        if not self._pin:
            return f"batches of {batch}{part}"
        why = "" if self._core.stats()["pinned"] else _core.pin_refusal()
        return f"batches of {batch}{part}, {f'not pinned: {why}' if why else 'pinned'}"


def batches_left(share: Share, epoch_samples: int, position: int) -> int | None:
    """Batches of this rank and worker from a position to the end of the loop around it."""
    batch, rank, world, worker, worker_count, epochs, drop_last = share
    if epochs is None:
        return None
    loop = epochs * epoch_samples
    steps, rest = divmod(loop - position % loop, batch * world)
    mine = rest * (rank + 1) // world - rest * rank // world
    steps += 0 if drop_last or mine == 0 else 1
    return max(0, steps - worker + worker_count - 1) // worker_count


def check_pin(pin: bool | str, like: str) -> bool:
    """Whether batches are to be in pinned memory."""
    if isinstance(pin, bool):
        return pin
    if pin != "auto":
        raise ValueError(f'pin must be "auto", True or False, not {pin!r}')
    return like == "torch" and bool(import_torch().cuda.is_available())


def check_seed(seed: int) -> int:
    """`seed`, or a ValueError that says what it may be."""
    number = int(seed)
    if not 0 <= number < 2**64:
        raise ValueError(f"seed must be from 0 to 2**64 - 1, but it is {seed}")
    return number


def check_like(like: str) -> str:
    """`like`, or a ValueError that says what there is."""
    if like not in LIKE:
        raise ValueError(f'like must be "numpy" or "torch", not {like!r}')
    if like == "torch":
        import_torch()
    return like


def import_torch() -> Any:
    """The torch module, or an ImportError that says what to type."""
    try:
        import torch.utils.data  # a folder of that name is no PyTorch
    except ImportError as error:
        raise ImportError('like="torch" and lt.torch need PyTorch: pip install torch') from error
    return torch


def to_torch(arrays: Any) -> Any:
    """The same memory as tensors."""
    torch = import_torch()
    if isinstance(arrays, dict):
        return {name: to_torch(value) for name, value in arrays.items()}
    if isinstance(arrays, tuple):
        parts = [to_torch(value) for value in arrays]
        return type(arrays)(*parts) if hasattr(arrays, "_fields") else tuple(parts)
    if isinstance(arrays, list):
        return [to_torch(value) for value in arrays]
    return torch.from_numpy(arrays) if isinstance(arrays, np.ndarray) else arrays


def share(batch: int, rank: int, world: int, epochs: int | None, drop_last: bool) -> Share:
    """How samples are shared out, as the core takes it."""
    for name, value in (("batch", batch), ("rank", rank), ("world", world)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    count = None if epochs is None else int(epochs)
    return (int(batch), int(rank), int(world), 0, 1, count, bool(drop_last))


def pack_state(kind: str, epoch_samples: int, position: int, **fields: Any) -> dict[str, Any]:
    """A state as users keep it: JSON, and readable."""
    epoch, place = divmod(position, epoch_samples)
    return {"lowtide": kind, "version": 1, "epoch": epoch, "position": place, **fields}


def unpack_state(state: Any, kind: str, epoch_samples: Callable[[dict[str, Any]], int]) -> tuple[dict[str, Any], int]:
    """The fields of a state, and the stream's position; FormatError for what is no state of this kind."""
    checked_state(state, kind)
    with damage(kind):
        return state, int(state["epoch"]) * epoch_samples(state) + int(state["position"])


def checked_state(state: Any, kind: str) -> dict[str, Any]:
    """A state of this kind, or FormatError."""
    if not isinstance(state, dict) or state.get("lowtide") != kind or state.get("version") != 1:
        found = state.get("lowtide") if isinstance(state, dict) else type(state).__name__
        raise FormatError(f"not the state of a {kind} loader (found {found!r}): pass what state_dict() returned")
    return state


@contextmanager
def damage(kind: str) -> Iterator[None]:
    """What a state lacks, or has wrong, is a FormatError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FormatError(f"the state of the {kind} loader is damaged: {error!r}") from error


def pack_data(data: tuple[int, int, str]) -> dict[str, Any]:
    """A fingerprint, for a state."""
    return {"files": data[0], "bytes": data[1], "marks": data[2]}


def unpack_data(data: dict[str, Any]) -> tuple[int, int, str]:
    """A fingerprint, from a state."""
    return int(data["files"]), int(data["bytes"]), str(data["marks"])
