"""What all loaders are to their users: something to loop over, with a state and statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any

import numpy as np

from . import _core
from .budget import pickled
from .errors import FormatError

LIKE = ("numpy", "torch")
VERSION = 2  # of states: 1 had other permutations and windows that stayed where they were
Share = tuple[int, int, int, int, int, int | None, bool]


@dataclass(frozen=True)
class LoaderStats:
    """How a loader has done: who waited for whom, and what it holds.

    >>> with lt.TokenLoader(tokens_path, block=8, batch=4) as loader:
    ...     x, y = next(iter(loader))
    ...     loader.stats().batches, loader.stats().tokens
    (1, 32)
    """

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
    the epoch after. ``next(loader)`` is the next batch.
    """

    def _next(self) -> Any:
        """The next batch, or None at the end of a loop."""
        raise NotImplementedError

    def _begin_loop(self) -> None:
        """Behind the end of a loop whose batches have all been taken, though nobody asked for one more."""

    def __iter__(self) -> Iterator[Any]:
        self._begin_loop()
        return _Loop(self._next)

    def __next__(self) -> Any:
        batch = self._next()
        if batch is None:
            raise StopIteration
        return batch

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
    _transform: Callable[[Any], Any] | None
    _made_by_start: tuple[str, ...] = ("_core",)

    def _start(self, seed: int) -> None:
        """Make the core, and what else belongs to this process alone, from the other attributes."""
        raise NotImplementedError

    def __reduce__(self) -> Any:
        fields = {name: value for name, value in self.__dict__.items() if name not in self._made_by_start}
        return pickled(_started_again, type(self), fields, self._core.seed, self._core.state(0))

    @property
    def batch(self) -> int:
        """Samples a batch."""
        return self._share[0]

    def _stop(self) -> None:
        self._core.stop()

    def _begin_loop(self) -> None:
        self._core.begin_loop()

    def _transformed(self, make: Callable[[], Any]) -> Any:
        """What the user's function makes of the next batch. If it raises, the batch is the next one again."""
        assert self._transform is not None
        before = self._core.place()
        try:
            batch = make()
            if batch is None:
                return None
            batch = self._transform(batch)
            if batch is None:
                raise TypeError("transform returned None: it has to return the batch")
            return batch
        except BaseException:
            self._core.seek(*before)
            raise

    def _set_share(self, share: Share) -> None:
        """Another part of the same stream, from here on."""
        self._core.set_share(share)
        self._share = share

    def _take_turns(self, worker: int, worker_count: int) -> None:
        batch, rank, world, _, _, epochs, drop_last = self._share
        self._set_share((batch, rank, world, worker, worker_count, epochs, drop_last))

    def _batches_left(self) -> int | None:
        left: int | None = self._core.batches_left()
        return left

    def _state_after_loop(self) -> dict[str, Any]:
        left = self._batches_left() or 0
        state = self.state_dict(ahead=left)
        if not state["ended"]:  # this rank has no part in the last samples of the loop
            state = self.state_dict(ahead=left + 1)
        return {**state, "ended": False}

    def __len__(self) -> int:
        """Batches of one loop on this rank, the last one included unless it is dropped; TypeError if it never ends."""
        count: int | None = self._core.batches_a_loop()
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
    return {"lowtide": kind, "version": VERSION, "epoch": epoch, "position": place, **fields}


def unpack_state(state: Any, kind: str, samples: str) -> tuple[dict[str, Any], int]:
    """The fields of a state, and the stream's position; FormatError for what is no state of this kind."""
    checked_state(state, kind)
    with damage(kind):
        place, epoch_samples = whole(state, "position"), whole(state, samples)
        if place >= max(epoch_samples, 1):
            raise ValueError(f"position {place} is beyond an epoch of {epoch_samples}")
        return state, whole(state, "epoch") * epoch_samples + place


def checked_state(state: Any, kind: str) -> dict[str, Any]:
    """A state of this kind and version, or FormatError."""
    if not isinstance(state, dict) or state.get("lowtide") != kind:
        found = state.get("lowtide") if isinstance(state, dict) else type(state).__name__
        raise FormatError(f"not the state of a {kind} loader (found {found!r}): pass what state_dict() returned")
    if state.get("version") != VERSION:
        raise FormatError(
            f"the state of a {kind} loader is of version {state.get('version')}, and this lowtide reads {VERSION}: "
            "samples come in another order now. Go on with a whole epoch: "
            f'loader.load_state_dict({{**loader.state_dict(), "epoch": {_next_epoch(state)}}})'
        )
    return state


def _next_epoch(state: dict[str, Any]) -> int:
    epoch = state.get("epoch")
    return epoch + 1 if isinstance(epoch, int) else 1


def whole(state: dict[str, Any], name: str) -> int:
    """A number of a state that counts something."""
    value = state[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**64:
        raise ValueError(f"{name} is {value!r}")
    return value


@contextmanager
def damage(kind: str) -> Iterator[None]:
    """What a state lacks, or has wrong, is a FormatError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError) as error:
        lacks = isinstance(error, KeyError)
        what = f"it has no {error.args[0]!r}" if lacks else str(error)
        raise FormatError(f"the state of the {kind} loader is damaged: {what}") from error


def pack_data(data: tuple[int, int, str]) -> dict[str, Any]:
    """A fingerprint, for a state."""
    return {"files": data[0], "bytes": data[1], "marks": data[2]}


def unpack_data(data: dict[str, Any]) -> tuple[int, int, str]:
    """A fingerprint, from a state."""
    return whole(data, "files"), whole(data, "bytes"), str(data["marks"])


def _started_again(kind: type[CoreLoader], fields: dict[str, Any], seed: int, state: tuple[Any, ...]) -> CoreLoader:
    """A loader in another process, where this one stood."""
    loader = kind.__new__(kind)
    loader.__dict__.update(fields)
    loader._start(seed)
    loader._core.load(*state)
    return loader
