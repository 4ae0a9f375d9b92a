"""Files of known content, every IO mode, and small disks that can be filled or damaged."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from known_arrays import write_array

import lowtide as lt

MODES = ("uring", "threads", "dontcache", "buffered")


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each rung of the ladder; a file system that lacks one gives the next."""
    monkeypatch.setenv("LOWTIDE_IO", request.param)
    return request.param


@pytest.fixture
def array_path(tmp_path: Path) -> Path:
    """16 MiB, 4096 rows."""
    return write_array(tmp_path / "x.npy", 4096)


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that other users may enter."""
    folder = Path(tempfile.mkdtemp(prefix="lowtide_"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def nothing_leaked() -> Iterator[None]:
    """Descriptors and budget bytes are back when the test ends."""
    before = len(os.listdir("/proc/self/fd")), held_bytes()
    yield
    after = len(os.listdir("/proc/self/fd")), held_bytes()
    # Up to four idle rings are kept for the next queue.
    assert after[0] <= before[0] + 4, "descriptors leaked"
    assert after[1] <= before[1], f"budget bytes leaked: {lt.usage()}"


def held_bytes() -> int:
    gc.collect()
    usage = lt.usage()
    return usage.held - usage.by_purpose.get("cache", 0)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """mount(*arguments, name=...) -> the mount point; gone after the test. Skips where mounting is forbidden."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    mounted: list[Path] = []

    def at(*arguments: object, name: str = "disk") -> Path:
        point = tmp_path / name
        point.mkdir(exist_ok=True)
        done = subprocess.run(["mount", *map(str, arguments), str(point)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"mount refused: {done.stderr.strip()}")
        mounted.append(point)
        return point

    yield at
    for point in reversed(mounted):
        subprocess.run(["umount", "--lazy", str(point)], capture_output=True, check=False)


@pytest.fixture
def ext4_image(tmp_path: Path) -> Callable[[int], Path]:
    """ext4_image(bytes) -> an image file with an empty file system."""

    def make(size_bytes: int) -> Path:
        if shutil.which("mkfs.ext4") is None:
            pytest.skip("mkfs.ext4 is not installed")
        image = tmp_path / "disk.img"
        with image.open("wb") as file:
            file.truncate(size_bytes)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", str(image)], check=True, capture_output=True)
        return image

    return make
