"""Files that are truncated, replaced or rewritten while an array on them is open."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from known_arrays import expected_rows

import lowtide as lt


def wait_for_a_new_mtime() -> None:
    time.sleep(0.02)  # kernels before 6.13 stamp files with the time of the last tick


def overwrite_in_place(path: Path, offset: int, data: bytes) -> None:
    wait_for_a_new_mtime()
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@pytest.mark.usefixtures("nothing_leaked")
@pytest.mark.parametrize("read", ["compute", "read", "gather"])
def test_truncation_between_reads_is_an_error_with_numbers(array_path: Path, mode: str, read: str) -> None:
    a = lt.open(array_path)
    assert np.array_equal(a.read(slice(0, 2)), expected_rows(0, 2))
    full = array_path.stat().st_size
    os.truncate(array_path, full // 2)
    with pytest.raises(lt.DataChangedError) as caught:
        a.compute() if read == "compute" else a.read(slice(0, 2)) if read == "read" else a.read([4000, 1, 7])
    message = str(caught.value)
    assert str(array_path) in message
    assert str(full) in message
    assert str(full // 2) in message


@pytest.mark.usefixtures("nothing_leaked")
def test_truncation_during_reads_is_an_error_not_a_crash(array_path: Path, mode: str) -> None:
    a = lt.open(array_path)
    failures: list[Exception] = []

    def read_on() -> None:
        try:
            while True:
                assert np.array_equal(a.compute(), expected_rows(0, 4096))
        except Exception as error:
            failures.append(error)

    reader = threading.Thread(target=read_on)
    reader.start()
    time.sleep(0.03)
    os.truncate(array_path, 5_000_001)
    reader.join(120)
    assert not reader.is_alive()
    assert isinstance(failures[0], lt.DataChangedError), failures
    assert str(array_path) in str(failures[0])
    assert "5000001" in str(failures[0])


@pytest.mark.usefixtures("nothing_leaked")
def test_truncation_under_running_blocks_is_an_error(array_path: Path, mode: str) -> None:
    stream = lt.open(array_path).blocks(rows=64)
    start, block = next(stream)
    assert np.array_equal(block, expected_rows(start, start + 64))
    os.truncate(array_path, 1 << 20)
    with pytest.raises(lt.DataChangedError, match=str(1 << 20)):
        list(stream)
    del block


def test_growth_is_a_change(array_path: Path, mode: str) -> None:
    a = lt.open(array_path)
    wait_for_a_new_mtime()
    with array_path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(lt.DataChangedError, match="changed size"):
        a.read(0)


def test_a_file_replaced_by_rename_is_read_on_as_it_was(array_path: Path, tmp_path: Path, mode: str) -> None:
    a = lt.open(array_path)
    stream = a.blocks(rows=100)
    next(stream)
    np.save(tmp_path / "other.npy", np.zeros((4096, 1024), np.uint32))
    os.replace(tmp_path / "other.npy", array_path)
    assert np.array_equal(a.compute(), expected_rows(0, 4096))
    assert all(np.array_equal(rows, expected_rows(start, start + len(rows))) for start, rows in stream)
    assert not lt.open(array_path).read(slice(0, 10)).any()


def test_a_file_replaced_by_lt_save_is_read_on_as_it_was(array_path: Path, mode: str) -> None:
    a = lt.open(array_path)
    lt.save(array_path, np.zeros((4096, 1024), np.uint32), overwrite=True)
    assert np.array_equal(a.compute(), expected_rows(0, 4096))
    assert not lt.open(array_path).compute().any()


def test_a_deleted_file_is_read_on(array_path: Path, mode: str) -> None:
    a = lt.open(array_path)
    array_path.unlink()
    assert np.array_equal(a.read([5, 4095, 0]), expected_rows(0, 4096)[[5, 4095, 0]])


@pytest.mark.usefixtures("nothing_leaked")
@pytest.mark.parametrize("how", ["read", "gather", "blocks", "running blocks", "save"])
def test_a_rewrite_in_place_is_a_change(array_path: Path, tmp_path: Path, mode: str, how: str) -> None:
    a = lt.open(array_path)
    stream = a.blocks(rows=64)
    if how == "running blocks":
        next(stream)
    overwrite_in_place(array_path, 1 << 20, b"rewritten")
    reads = {
        "read": lambda: a.read(slice(0, 4)),
        "gather": lambda: a.read([9, 3]),
        "blocks": lambda: list(a.blocks()),
        "running blocks": lambda: list(stream),
        "save": lambda: lt.save(tmp_path / "y.npy", a),
    }
    with pytest.raises(lt.DataChangedError, match="was written to"):
        reads[how]()
    assert not (tmp_path / "y.npy").exists()
    stream.close()


def test_own_writes_are_no_change(array_path: Path, mode: str) -> None:
    reader = lt.open(array_path)
    writer = lt.open(array_path, mode="r+")
    wait_for_a_new_mtime()
    writer[7] = 0
    writer.flush()
    assert not reader.read(7).any()
    assert np.array_equal(reader.read(8), expected_rows(8, 9)[0])


def test_memmap_shows_what_others_write(array_path: Path, mode: str) -> None:
    m = lt.memmap(array_path, dtype=np.uint32, mode="r", offset=128)
    assert m[1024] == 1024
    overwrite_in_place(array_path, 128 + 4 * 1024, np.uint32(77).tobytes())
    assert m[1024] == 77
    assert m[1025] == 1025
    assert np.array_equal(m[[1024, 3, 1025]], [77, 3, 1025])


def test_memmap_of_a_truncated_file_reads_what_is_left(array_path: Path, mode: str) -> None:
    m = lt.memmap(array_path, dtype=np.uint32, mode="r", offset=128)
    os.truncate(array_path, 1 << 20)
    assert np.array_equal(m[:1000], np.arange(1000))
    with pytest.raises(lt.DataChangedError, match=r"\d") as caught:
        m[1_000_000:1_100_000]
    assert str(array_path) in str(caught.value)
    with pytest.raises(lt.DataChangedError):
        m[[5, 2_000_000]]


def test_a_live_array_shows_stores_that_leave_no_trace(array_path: Path, mode: str) -> None:
    """A store to a page that is dirty already changes no stamp: what is kept of such a file is out of date unseen."""
    place = {"dtype": np.uint32, "shape": (4096, 1024), "offset": array_path.stat().st_size - 4096 * 4096}
    other = np.memmap(array_path, mode="r+", **place)
    other[:64] = 1  # dirty from here on; the rest of the file stays on disk
    live = lt.memmap(array_path, mode="r", **place)
    stamp = array_path.stat().st_mtime_ns
    for value in range(2, 6):
        for row in range(64):
            assert (live[row] == value - 1).all(), (row, value)
        other[:64] = value
    if mode in ("dontcache", "buffered") and array_path.stat().st_mtime_ns != stamp:
        pytest.skip("a file system that stamps every store asks too little here")
