"""In place of np.memmap, and beside it: lt.memmap, release and guard."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import numpy as np
import pytest
from fixture_types import File
from measures import MiB, resident_bytes

import lowtide as lt


class TestMemmap:
    def test_defaults_are_those_of_numpy(self, raw: File) -> None:
        path = raw(np.arange(5, dtype=np.uint8))
        ours, theirs = lt.memmap(path), np.memmap(path)
        for name in ("dtype", "mode", "shape", "offset", "ndim", "size", "nbytes"):
            assert getattr(ours, name) == getattr(theirs, name)

    def test_indexing_gives_a_copy_that_is_no_memmap(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.arange(5)), dtype="i8", mode="r")
        part = mapped[1:3]
        part[:] = 9
        assert type(part) is np.ndarray
        assert mapped[1:3].tolist() == [1, 2]

    def test_one_element_is_a_numpy_scalar(self, raw: File) -> None:
        assert type(lt.memmap(raw(np.arange(5, dtype=np.uint16)), dtype="u2", mode="r")[3]) is np.uint16

    def test_w_plus_makes_a_file_of_zeros(self, tmp_path: Path) -> None:
        mapped = lt.memmap(tmp_path / "new.bin", dtype="f4", mode="w+", shape=(3, 4), offset=8)
        mapped[1] = 2
        mapped.flush()
        assert np.memmap(tmp_path / "new.bin", "f4", "r", 8, (3, 4)).tolist() == [[0] * 4, [2] * 4, [0] * 4]

    def test_w_plus_needs_a_shape(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="shape must be given"):
            lt.memmap(tmp_path / "new.bin", mode="w+")
        assert os.listdir(tmp_path) == []

    def test_a_shape_without_axes_is_one_element(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.arange(5)), dtype="i8", mode="r", shape=(), offset=16)
        assert mapped.shape == ()
        assert mapped[()] == 2

    def test_it_shows_what_others_write(self, raw: File) -> None:
        path = raw(np.arange(5))
        mapped = lt.memmap(path, dtype="i8", mode="r")
        other = np.memmap(path, dtype="i8", mode="r+")
        other[2] = 77
        assert mapped[:].tolist() == [0, 1, 77, 3, 4]

    def test_a_file_cut_short_is_an_error_and_no_crash(self, raw: File, io_mode: str) -> None:
        path = raw(np.arange(MiB))
        mapped = lt.memmap(path, dtype="i8", mode="r")
        os.truncate(path, 4096)
        with pytest.raises(lt.Error):
            mapped[-1000:]

    def test_copy_on_write_is_unsupported(self, raw: File) -> None:
        with pytest.raises(lt.UnsupportedError, match='"r"'):
            lt.memmap(raw(np.arange(5)), mode="c")

    def test_another_mode_is_a_value_error(self, raw: File) -> None:
        with pytest.raises(ValueError, match="mode must be one of"):
            lt.memmap(raw(np.arange(5)), mode="x")

    def test_a_missing_file_is_a_file_not_found_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            lt.memmap(tmp_path / "nothing.bin", mode="r")

    def test_assigning_to_a_read_only_one_is_a_value_error(self, raw: File) -> None:
        with pytest.raises(ValueError, match="reading only"):
            lt.memmap(raw(np.arange(5)), mode="r")[0] = 1

    def test_asarray_len_and_iteration_are_those_of_numpy(self, raw: File) -> None:
        expected = np.arange(12).reshape(3, 4)
        mapped = lt.memmap(raw(expected), dtype="i8", mode="r", shape=(3, 4))
        assert len(mapped) == 3
        np.testing.assert_array_equal(np.asarray(mapped), expected, strict=True)
        np.testing.assert_array_equal(list(mapped), expected)

    def test_repr_tells_shape_mode_and_file(self, raw: File) -> None:
        path = raw(np.arange(5))
        assert repr(lt.memmap(path, "i8", "r")) == f"<lowtide.memmap (5,) int64, mode 'r', '{path}'>"


class TestReleaseAndGuard:
    def test_release_empties_what_a_numpy_memmap_holds(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(4 * MiB)), dtype="f8", mode="r")
        assert mapped.sum() == 4 * MiB
        before = resident_bytes(mapped)
        released = lt.release(mapped)
        assert before == 32 * MiB
        assert resident_bytes(mapped) < MiB
        assert released > 31 * MiB

    def test_release_writes_what_is_dirty_first(self, raw: File) -> None:
        path = raw(np.zeros(MiB))
        mapped = np.memmap(path, dtype="f8", mode="r+")
        mapped[:] = 3
        lt.release(mapped)
        assert resident_bytes(mapped) < MiB
        assert mapped.sum() == 3 * MiB

    def test_release_of_a_view_releases_its_map(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(MiB)), dtype="f8", mode="r")
        mapped.sum()
        lt.release(mapped[100:200])
        assert resident_bytes(mapped) < MiB

    def test_release_of_an_ordinary_array_is_a_type_error(self) -> None:
        with pytest.raises(TypeError, match=r"np\.memmap"):
            lt.release(np.zeros(3))

    def test_guard_keeps_a_memmap_under_its_limit(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(8 * MiB)), dtype="f8", mode="r")
        with lt.guard(mapped, limit="8MiB") as guard:
            assert mapped.sum() == 8 * MiB
            patience = time.monotonic() + 30
            while resident_bytes(mapped) > 8 * MiB and time.monotonic() < patience:
                time.sleep(0.01)
            assert resident_bytes(mapped) <= 8 * MiB
            assert guard.released > 0

    def test_a_stopped_guard_lets_the_memmap_grow(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(2 * MiB)), dtype="f8", mode="r")
        guard = lt.guard(mapped, limit="1MiB")
        guard.stop()
        mapped.sum()
        assert resident_bytes(mapped) == 16 * MiB

    def test_a_guard_ends_with_its_map(self, raw: File) -> None:
        mapped = np.memmap(raw(np.ones(MiB)), dtype="f8", mode="r")
        guard = lt.guard(mapped, limit="1MiB")
        del mapped
        gc.collect()
        assert not guard._finalizer.alive
