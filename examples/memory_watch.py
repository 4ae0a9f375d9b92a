"""How the memory of a process is seen from outside, by the best way that this machine allows.

    with memory_watch.best(limit, [path]) as watch:
        process = subprocess.Popen([*watch.enter, *command])
        watch.now(process.pid), watch.peak()

A cgroup of its own is a container: the kernel counts page cache too, and enforces the limit. Where none can be made,
systemd is asked for one (as a normal user); else the process's own memory and the cached pages of its files are added
up (in Docker), and nothing enforces the limit.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks import disk, memory_cgroup

SCOPE = ["systemd-run", "--user", "--scope", "--quiet", "--collect"]


class Watch:
    """One process at a time."""

    what = ""  # is counted
    enforced = False
    enter: Sequence[str] = ()  # before the command to run
    group: Path | None = None  # that the process joins itself

    def __init__(self) -> None:
        self._highest = 0

    def now(self, pid: int) -> int | None:
        """Bytes held at this moment; None if the process is gone."""
        with suppress(OSError, ValueError, StopIteration):
            held = self._held(pid)
            self._highest = max(self._highest, held)
            return held
        return None

    def _held(self, pid: int) -> int:
        raise NotImplementedError

    def peak(self) -> int:
        """The most bytes held, as far as was seen."""
        return self._highest


class Container(Watch):
    """A cgroup that is there already."""

    what = "memory of the container, page cache included"
    enforced = True

    def __init__(self, group: Path) -> None:
        super().__init__()
        self.group = group
        self._cgroup = memory_cgroup.MemoryCgroup(group)

    def _held(self, pid: int) -> int:
        return self._cgroup.now()

    def peak(self) -> int:
        with suppress(OSError):  # memory.peak came with Linux 5.19
            return self._cgroup.peak()
        return super().peak()


class Scope(Watch):
    """A cgroup that the user's systemd makes for one command."""

    what = Container.what
    enforced = True

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.enter = [*SCOPE, f"--property=MemoryMax={limit}", "--property=MemorySwapMax=0", "--"]

    def _held(self, pid: int) -> int:
        group = memory_cgroup.of(Path(f"/proc/{pid}/cgroup").read_text())
        assert group
        return memory_cgroup.MemoryCgroup(group).now()


class Pages(Watch):
    """What the process holds itself, and what the page cache holds of the files."""

    what = "memory of the process, and its files' pages in the page cache"

    def __init__(self, files: Sequence[Path]) -> None:
        super().__init__()
        self._files = files

    def _held(self, pid: int) -> int:
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        own = [int(line.split()[1]) << 10 for line in status if line.startswith(("RssAnon:", "RssShmem:"))]
        if not own:
            raise ValueError(f"process {pid} has ended")
        return sum(own) + sum(disk.cached_bytes(path) or 0 for path in self._files if path.exists())


def has_scopes() -> bool:
    """Whether systemd makes containers for this user, with a memory that is counted."""
    if shutil.which("systemd-run") is None:
        return False
    command = [*SCOPE, "--property=MemoryMax=64M", "--", "cat", "/proc/self/cgroup"]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        group = memory_cgroup.of(done.stdout) if done.returncode == 0 else None
        return group is not None and "memory" in memory_cgroup.controllers(group.parent)
    return False


def sees_pages(files: Sequence[Path]) -> bool:
    """Whether the kernel tells what it caches."""
    return all(disk.cached_bytes(path) is not None for path in files if path.exists())


@contextmanager
def best(limit: int, files: Sequence[Path]) -> Iterator[Watch | None]:
    """None where memory cannot be seen at all."""
    with memory_cgroup.fresh(limit) as group:
        if group:
            yield Container(group)
        elif has_scopes():
            yield Scope(limit)
        else:
            yield Pages(files) if sees_pages(files) else None


def describe(limit: int, path: Path) -> str:
    """What best() gives for a file that is there, in words."""
    with best(limit, [path]) as watch:
        if watch is None:
            return "Memory cannot be seen here (no cgroup, no systemd, no page cache's state): times only, no picture."
        if watch.enforced:
            return f"Each contender runs in a container of {limit >> 20} MiB, page cache included."
        return (
            "No container can be made here (that takes root, or a systemd of the user's): nothing enforces a limit.\n"
            f"What is shown is the {watch.what}."
        )
