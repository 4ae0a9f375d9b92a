"""The one number: how many bytes lowtide may hold in this process, page cache included."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _core


def parse(size: int | str) -> int:
    """Bytes from an int or a string such as "512MiB", "2 GB" or "25%" (of what is available to this process)."""
    if isinstance(size, str):
        return _core.parse_bytes(size)
    try:
        count = operator.index(size)
    except TypeError:
        raise TypeError(f'{size!r} is not a size: give whole bytes, or a string such as "1.5GiB"') from None
    if count < 0:
        raise ValueError(f"{size} is not a size in bytes: it is negative")
    return count


def set_budget(size: int | str, *, wait: float | None = None) -> int:
    """Set the process-wide budget and return the previous one, in bytes.

    What does not fit beside results that other threads hold waits for them, first come, first served: ``wait`` seconds
    (2 unless set) since the last time that less was missing than ever before, then BudgetError. ``wait=0`` refuses at
    once, as does a wait that could not end: for results of the thread itself, or of threads that wait too.

    Processes that are started from here on have the same budget (``LOWTIDE_BUDGET`` in their environment), workers of
    a PyTorch DataLoader their part of it.

    >>> import lowtide as lt
    >>> previous = lt.set_budget("2GiB")
    >>> lt.set_budget(previous, wait=5) == 2 * 1024**3
    True
    """
    limit = parse(size)
    if wait is not None:
        _core.set_budget_wait(wait)
    previous = _core.set_budget(limit)
    os.environ["LOWTIDE_BUDGET"] = str(limit)
    return previous


@contextmanager
def budget(size: int | str, *, wait: float | None = None) -> Iterator[int]:
    """The same for a block of code. The budget is one for the process: other threads see it too.

    >>> with lt.budget("256MiB") as limit:
    ...     limit
    268435456
    """
    before = _core.budget_wait(), os.environ.get("LOWTIDE_BUDGET")
    limit = parse(size)
    previous = set_budget(limit, wait=wait)
    try:
        yield limit
    finally:
        set_budget(previous, wait=before[0])
        if before[1] is None:
            del os.environ["LOWTIDE_BUDGET"]
        else:
            os.environ["LOWTIDE_BUDGET"] = before[1]


_shared_in: int | None = None  # the process that has its part of the budget already


def pickled(make: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    """For ``__reduce__``: ``make(*arguments)``, and this budget for a process that nobody has given one."""
    return _unpickled, (_core.budget(), make, *arguments)


def _unpickled(limit: int, make: Callable[..., Any], *arguments: Any) -> Any:
    if _core.budget_source().startswith("half of") and limit < _core.budget():
        set_budget(limit)
    return make(*arguments)


def take_share() -> None:
    """In a worker of a PyTorch DataLoader: its part of the budget, once."""
    global _shared_in
    torch_data = sys.modules.get("torch.utils.data")
    worker = torch_data.get_worker_info() if torch_data is not None else None
    if worker is None or _shared_in == os.getpid():
        return
    _shared_in = os.getpid()
    _core.forbid_pinning("a worker's batches are copied to another process")
    inherited = usage().held  # by a forked worker: the same memory as the parent's and the other workers'
    set_budget(inherited + max(0, _core.budget() - inherited) // worker.num_workers)


@dataclass(frozen=True)
class Usage:
    """What lowtide holds now. All sizes in bytes.

    >>> rows = lt.open(path).read()
    >>> lt.usage().by_purpose["results"] >= rows.nbytes
    True
    """

    limit: int
    held: int
    peak: int
    by_purpose: dict[str, int]

    def __str__(self) -> str:
        largest_first = sorted(self.by_purpose.items(), key=lambda item: -item[1])
        parts = ", ".join(f"{purpose} {_core.format_bytes(count)}" for purpose, count in largest_first)
        held, limit, peak = (_core.format_bytes(n) for n in (self.held, self.limit, self.peak))
        return f"{held} of {limit} held (peak {peak}){': ' + parts if parts else ''}"


def usage() -> Usage:
    """What is held now, by purpose, and the highest it has been.

    >>> lt.usage().held <= lt.usage().limit
    True
    """
    return Usage(*_core.usage())


def reset_peak() -> None:
    """Start measuring the peak from what is held now.

    >>> lt.reset_peak()
    >>> lt.usage().peak == lt.usage().held
    True
    """
    _core.reset_peak()


def info() -> dict[str, Any]:
    """Version, budget and where it came from, and the IO mode of every open file with the reason for it.

    >>> sorted(lt.info())
    ['budget', 'budget_source', 'files', 'held', 'io_uring', 'version']
    """
    refusal = _core.uring_refusal()
    return {
        "version": _core.version,
        "budget": _core.budget(),
        "budget_source": _core.budget_source(),
        "held": usage().held,
        "io_uring": refusal or "available",
        "files": [{"path": path, "io": mode, "why": why} for path, mode, why in _core.open_files()],
    }
