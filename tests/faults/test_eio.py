"""A disk that cannot read some of its blocks: ext4 on a loop device whose image is cut short."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from known_arrays import expected_rows, write_array

import lowtide as lt

ROWS = 8192  # 32 MiB


@pytest.fixture
def damaged(mount: Callable[..., Path], ext4_image: Callable[[int], Path]) -> Path:
    """An array whose first rows can be read and whose last cannot."""
    image = ext4_image(64 << 20)
    disk = mount("-o", "loop", image)
    write_array(disk / "x.npy", ROWS)
    subprocess.run(["umount", str(disk)], check=True)
    disk = mount("-o", "loop,ro", image)
    os.truncate(image, _middle_of(disk / "x.npy"))
    return disk / "x.npy"


def _middle_of(path: Path) -> int:
    """Where on its disk the middle of a file is."""
    if shutil.which("filefrag") is None:
        return 28 << 20
    listing = subprocess.run(["filefrag", "-b4096", "-v", str(path)], check=True, capture_output=True, text=True).stdout
    wanted = ROWS // 2
    for line in listing.splitlines():
        fields = line.replace(":", " ").replace("..", " ").split()
        if fields and fields[0].isdigit() and int(fields[1]) <= wanted <= int(fields[2]):
            return (int(fields[3]) + wanted - int(fields[1])) * 4096
    return 28 << 20


@pytest.mark.usefixtures("nothing_leaked")
def test_eio_names_file_and_offset_and_spares_the_rest(damaged: Path, mode: str) -> None:
    a = lt.open(damaged)
    reads = (
        a.compute,
        lambda: a.read(slice(7000, 8000)),
        lambda: a.read([8191, 3, 8000]),
        lambda: list(a.blocks()),
    )
    for _ in range(2):
        for read in reads:
            with pytest.raises(lt.IoError) as caught:
                read()
            assert caught.value.errno == errno.EIO
            assert caught.value.filename == str(damaged)
            assert str(damaged) in str(caught.value)
            assert 0 <= caught.value.offset < ROWS * 4096 + 128
        with pytest.raises(OSError, match="Input/output error"):
            a.read(8191)
        assert np.array_equal(a.read(slice(0, 1000)), expected_rows(0, 1000))
        assert np.array_equal(a.read([999, 0, 5]), expected_rows(0, 1000)[[999, 0, 5]])
    with pytest.raises(lt.IoError) as caught:
        a.read(slice(8000, 8001))
    assert abs(caught.value.offset - 8000 * 4096) <= 8192


@pytest.mark.usefixtures("nothing_leaked")
def test_eio_in_the_middle_of_blocks_comes_after_the_good_rows(damaged: Path, mode: str) -> None:
    good = 0

    def read_on() -> None:
        nonlocal good
        for start, rows in lt.open(damaged).blocks(rows=128):
            assert np.array_equal(rows, expected_rows(start, start + 128))
            good += len(rows)

    with pytest.raises(lt.IoError) as caught:
        read_on()
    assert caught.value.errno == errno.EIO
    assert good >= 1024


@pytest.mark.usefixtures("nothing_leaked")
def test_eio_while_saving_leaves_no_file(damaged: Path, tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(lt.IoError, match="cannot read"):
        lt.save(folder / "y.npy", lt.open(damaged))
    assert os.listdir(folder) == []


@pytest.mark.usefixtures("nothing_leaked")
def test_rows_read_one_by_one_come_up_to_the_damage(damaged: Path, mode: str) -> None:
    """What is read ahead of a loop reaches into the damage before the loop does."""
    a = lt.open(damaged)
    for row in range(ROWS // 2 - 300, ROWS // 2 - 1):
        assert np.array_equal(a.read(row), expected_rows(row, row + 1)[0])
    with pytest.raises(lt.IoError) as caught:
        a.read(ROWS // 2)
    assert caught.value.errno == errno.EIO


@pytest.mark.usefixtures("nothing_leaked")
def test_blocks_come_up_to_the_damage(damaged: Path, mode: str) -> None:
    """Read-ahead meets the damage long before its rows are next."""
    blocks = lt.open(damaged).blocks(rows=100)
    for expected in range(0, ROWS // 2 - 100, 100):
        start, rows = next(blocks)
        assert start == expected
        assert np.array_equal(rows, expected_rows(start, start + 100))
    del rows
    with pytest.raises(lt.IoError):
        next(blocks)
