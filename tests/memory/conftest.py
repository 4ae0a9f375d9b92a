"""Cold files on a real disk, and the matrix: a small one by default, all of it with LOWTIDE_FULL=1."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from files import Files
from meter import Cgroup, find_meter


@pytest.fixture(scope="session")
def files() -> Iterator[Files]:
    folder = Path(tempfile.mkdtemp(prefix="lowtide-memory-", dir=real_disk()))
    try:
        yield Files(folder)
    finally:
        shutil.rmtree(folder)


def real_disk() -> Path:
    """A folder whose files are not memory themselves: /tmp often is."""
    memory = {"tmpfs", "ramfs"}
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]

    def kind(folder: Path) -> str:
        inside = [(mount, kind) for mount, kind in mounts if folder.is_relative_to(mount)]
        return max(inside, key=lambda pair: len(pair[0]), default=("", "unknown"))[1]  # of a chroot, / is not listed

    for folder in [Path(tempfile.gettempdir()), Path("/var/tmp"), Path.cwd() / "build", Path.cwd()]:
        if folder.is_dir() and os.access(folder, os.W_OK) and kind(folder.resolve()) not in memory:
            return folder
    pytest.skip("no writable folder on a disk: on tmpfs the page cache is the files themselves")


@pytest.fixture
def cgroup(files: Files) -> Iterator[Cgroup]:
    """A cgroup of its own for what the test starts."""
    with find_meter(files.folder) as found:
        if not isinstance(found, Cgroup):
            pytest.skip(f"{found.why}: the peak is only seen through /proc here, by the tests named so")
        yield found
