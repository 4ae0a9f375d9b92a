"""A memory cgroup below this process's own: peak memory as the kernel counts it, page cache included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class MemoryCgroup:
    """A cgroup that one worker joins. Version 1 and 2 of the interface."""

    def __init__(self, path: Path) -> None:
        self.path = path
        version_1 = (path / "memory.max_usage_in_bytes").exists()
        self._peak = path / ("memory.max_usage_in_bytes" if version_1 else "memory.peak")
        self._now = path / ("memory.usage_in_bytes" if version_1 else "memory.current")
        self._resettable = version_1

    def join(self) -> None:
        """Move this process in."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def restart(self) -> int:
        """Bytes held now, from where the peak is measured (version 2 cannot forget an earlier peak)."""
        if self._resettable:
            self._peak.write_text("0")
        return int(self._now.read_text())

    def now(self) -> int:
        """Bytes held at this moment."""
        return int(self._now.read_text())

    def limit(self, size: int) -> None:
        """Refuse the group more than this."""
        name = "memory.limit_in_bytes" if self._resettable else "memory.max"
        (self.path / name).write_text(str(size))

    def peak(self) -> int:
        """The most bytes held."""
        return int(self._peak.read_text())


def of(text: str) -> Path | None:
    """The folder of the memory cgroup that a /proc/PID/cgroup names."""
    for line in text.splitlines():
        _, names, where = line.split(":", 2)
        if "memory" in names.split(","):
            return Path("/sys/fs/cgroup/memory" + where)
        if names == "" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return Path("/sys/fs/cgroup" + where)
    return None


def controllers(path: Path) -> list[str]:
    """Of version 2: what the children of a cgroup are counted by."""
    file = path / "cgroup.subtree_control"
    return file.read_text().split() if file.exists() else []


def _parent() -> Path | None:
    """Where a new cgroup may go: below this process's own, or above it, as version 2 wants processes in leaves only."""
    own = of(Path("/proc/self/cgroup").read_text())
    if own is None or not (own / "cgroup.controllers").exists():
        return own
    above = [path for path in (own, *own.parents) if path.is_relative_to("/sys/fs/cgroup")]
    return next((path for path in above if "memory" in controllers(path)), None)


@contextmanager
def fresh(limit: int | None = None) -> Iterator[Path | None]:
    """The path of a new cgroup for one worker, removed afterwards; None where that is not allowed."""
    parent = _parent()
    path = parent / f"lowtide-benchmark-{os.getpid()}" if parent else None
    try:
        if path:
            path.mkdir()
            if limit is not None:
                MemoryCgroup(path).limit(limit)
    except OSError:
        path = None
    try:
        yield path
    finally:
        if path:
            with suppress(OSError):
                path.rmdir()
