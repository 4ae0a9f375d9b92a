"""A disk without room: refused early, nothing left behind, what was there stays."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from known_arrays import expected_rows, write_array

import lowtide as lt

pytestmark = pytest.mark.usefixtures("nothing_leaked")


@pytest.fixture(params=["ext4", "tmpfs"])
def small_disk(request: pytest.FixtureRequest, mount: Callable[..., Path], ext4_image: Callable[[int], Path]) -> Path:
    if request.param == "tmpfs":
        return mount("-t", "tmpfs", "-o", "size=8m", "tmpfs")
    return mount("-o", "loop", ext4_image(64 << 20))


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def names(disk: Path) -> list[str]:
    return sorted(name for name in os.listdir(disk) if name != "lost+found")


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return write_array(tmp_path / "large.npy", 20_000)  # 78 MiB


@pytest.mark.parametrize("what", ["array", "values", "create"])
def test_too_large_is_refused_before_a_byte_is_written(small_disk: Path, large: Path, mode: str, what: str) -> None:
    target = small_disk / "y.npy"
    free = free_bytes(small_disk)
    calls: list[int] = []

    def report(done: int, _: int) -> None:
        calls.append(done)

    writes = {
        "array": lambda: lt.save(target, lt.open(large), progress=report),
        "values": lambda: lt.save(target, np.broadcast_to(np.uint8(1), (80 << 20,)), progress=report),
        "create": lambda: lt.create(target, (80 << 20,), "uint8"),
    }
    with pytest.raises(lt.IoError) as caught:
        writes[what]()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(target)
    assert "MiB" in str(caught.value)
    assert calls == []
    assert names(small_disk) == []
    assert free_bytes(small_disk) == free


def test_the_old_file_survives_a_refused_overwrite(small_disk: Path, large: Path, mode: str) -> None:
    target = small_disk / "y.npy"
    lt.save(target, expected_rows(0, 500))
    with pytest.raises(lt.IoError, match="No space left"):
        lt.save(target, lt.open(large), overwrite=True)
    assert names(small_disk) == ["y.npy"]
    assert np.array_equal(lt.open(target).compute(), expected_rows(0, 500))


def test_appends_run_out_of_space_and_leave_nothing(small_disk: Path, mode: str) -> None:
    target = small_disk / "y.npy"
    free = free_bytes(small_disk)
    written = 0

    def append_for_ever() -> None:
        nonlocal written
        with lt.create(target, (0, 1024), "uint32") as w:
            while True:
                w.append(expected_rows(written, written + 100))
                written += 100

    with pytest.raises(lt.IoError) as caught:
        append_for_ever()
    assert caught.value.errno == errno.ENOSPC
    assert names(small_disk) == []
    assert free_bytes(small_disk) == free
    # Room is asked for ahead of the rows, but not at the price of rows that would have fitted.
    assert written * 4096 > 0.93 * free


def test_a_full_disk_keeps_what_fitted(small_disk: Path, mode: str) -> None:
    count = int(free_bytes(small_disk) * 0.9) // 4096
    with lt.create(small_disk / "y.npy", (0, 1024), "uint32") as w:
        for start in range(0, count, 50):
            w.append(expected_rows(start, min(start + 50, count)))
    assert np.array_equal(lt.open(small_disk / "y.npy").compute(), expected_rows(0, count))


def test_assigning_to_holes_of_a_full_disk_is_an_error(small_disk: Path, mode: str) -> None:
    path = small_disk / "holes.bin"
    with path.open("wb") as file:
        file.truncate(80 << 20)
    a = lt.open(path, dtype="uint32", mode="r+")
    with pytest.raises(lt.IoError) as caught:
        a[:] = 7
    assert caught.value.errno == errno.ENOSPC
    assert str(path) in str(caught.value)
    assert not a.read(slice(-1000, None)).any()
