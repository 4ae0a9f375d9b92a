"""The one number: how many bytes lowtide may hold in this process, page cache included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _core


def parse(size: int | str) -> int:
    """Bytes from an int or a string such as "512MiB", "2 GB" or "25%" (of what is available to this process)."""
    if isinstance(size, str):
        return _core.parse_bytes(size)
    if size < 0:
        raise ValueError(f"{size} is not a size in bytes: it is negative")
    return int(size)


def set_budget(size: int | str) -> int:
    """Set the process-wide budget and return the previous one, in bytes.

    >>> import lowtide as lt
    >>> previous = lt.set_budget("2GiB")
    >>> lt.set_budget(previous) == 2 * 1024**3
    True
    """
    return _core.set_budget(parse(size))


@contextmanager
def budget(size: int | str) -> Iterator[int]:
    """The same for a block of code. The budget is one for the process: other threads see it too.

    >>> with lt.budget("256MiB") as limit:
    ...     limit
    268435456
    """
    limit = parse(size)
    previous = _core.set_budget(limit)
    try:
        yield limit
    finally:
        _core.set_budget(previous)


@dataclass(frozen=True)
class Usage:
    """What lowtide holds now. All sizes in bytes."""

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
    """Start measuring the peak from what is held now."""
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
