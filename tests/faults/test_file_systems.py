"""File systems that bring more into the page cache than was asked for: what a read leaves there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from measures import MiB, resident_bytes

import lowtide as lt

ROWS = 16 * 1024  # of 4 KiB


def compressible() -> np.ndarray:
    return np.arange(ROWS, dtype="u4").repeat(1024).reshape(ROWS, 1024)


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def packed(kind: str, tmp_path: Path, mount: Callable[..., Path], drop_pages: Callable[[Path], None]) -> Path:
    """A folder on a compressed file system with x.npy in it."""
    image = tmp_path / "disk.img"
    if kind == "btrfs":
        need("mkfs.btrfs")
        with image.open("wb") as file:
            file.truncate(256 * MiB)
        subprocess.run(["mkfs.btrfs", "-q", str(image)], check=True, capture_output=True)
        folder = mount("-o", "loop,compress-force=zstd", image)
        np.save(folder / "x.npy", compressible())
        drop_pages(folder / "x.npy")
        return folder
    source = tmp_path / "source"
    source.mkdir()
    np.save(source / "x.npy", compressible())
    if kind == "squashfs":
        need("mksquashfs")
        subprocess.run(["mksquashfs", source, image, "-quiet", "-no-progress"], check=True, capture_output=True)
    else:
        need("mkfs.erofs")
        subprocess.run(["mkfs.erofs", "-zlz4hc", "-C1048576", image, source], check=True, capture_output=True)
    return mount("-o", "loop,ro", image)


@pytest.mark.parametrize("kind", ["btrfs", "squashfs", "erofs"])
def test_reads_leave_nothing_in_the_page_cache(
    kind: str, tmp_path: Path, mount: Callable[..., Path], mode: str, drop_pages: Callable[[Path], None]
) -> None:
    path = packed(kind, tmp_path, mount, drop_pages) / "x.npy"
    lt.set_budget("16MiB")
    a = lt.open(path)
    look = np.memmap(path, dtype="u1", mode="r")
    places = np.random.default_rng(0).permutation(ROWS)[:400]
    for some in np.split(places, 40):
        np.testing.assert_array_equal(a.read(some)[:, 0], some)
    for place in places[:50].tolist():
        assert a.read(place)[7] == place
    assert resident_bytes(look) < 2 * MiB
    for start, block in a.blocks():
        assert block[0, 0] == start
    del block
    assert resident_bytes(look) < 2 * MiB
