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


def _own() -> Path | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, where = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory" + where)
        if controllers == "" and "memory" in _controllers(Path("/sys/fs/cgroup" + where)):
            return Path("/sys/fs/cgroup" + where)
    return None


def _controllers(path: Path) -> list[str]:
    file = path / "cgroup.subtree_control"
    return file.read_text().split() if file.exists() else []


@contextmanager
def fresh(limit: int | None = None) -> Iterator[Path | None]:
    """The path of a new cgroup for one worker, removed afterwards; None where that is not allowed."""
    own = _own()
    path = own / f"lowtide-benchmark-{os.getpid()}" if own else None
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
