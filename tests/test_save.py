"""Saving arrays whole, and what becomes of bfloat16, which NumPy does not have."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB, bytes_read_by_this_process

import lowtide as lt


class TestSave:
    def test_numpy_reads_what_is_saved(self, tmp_path: Path, io_mode: str) -> None:
        expected = np.random.default_rng(0).random((300, 77))
        lt.save(tmp_path / "new.npy", expected)
        np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), expected, strict=True)

    @pytest.mark.parametrize("values", [[1, 2, 3], 5, 2.5, True, [[1j]]])
    def test_anything_numpy_can_hold_is_saved(self, tmp_path: Path, values: Any) -> None:
        lt.save(tmp_path / "new.npy", values)
        np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), np.asarray(values), strict=True)

    def test_an_existing_file_is_not_replaced_unless_asked(self, npy: File) -> None:
        path = npy(np.arange(3))
        with pytest.raises(FileExistsError, match="overwrite=True"):
            lt.save(path, np.zeros(5))
        assert np.load(path).tolist() == [0, 1, 2]

    def test_overwriting_replaces_the_file(self, npy: File, tmp_path: Path) -> None:
        path = npy(np.arange(3))
        lt.save(path, np.zeros(5), overwrite=True)
        assert np.load(path).shape == (5,)
        assert os.listdir(tmp_path) == ["x.npy"]

    def test_who_reads_the_old_file_keeps_reading_it(self, npy: File) -> None:
        path = npy(np.arange(3))
        ours, theirs = lt.open(path), np.load(path, mmap_mode="r")
        lt.save(path, np.zeros(5), overwrite=True)
        assert ours.compute().tolist() == [0, 1, 2]
        assert theirs.tolist() == [0, 1, 2]

    def test_a_file_is_saved_over_itself(self, npy: File, io_mode: str) -> None:
        expected = np.random.default_rng(0).random((300, 77))
        path = npy(expected)
        lt.save(path, lt.open(path).T, overwrite=True)
        np.testing.assert_array_equal(np.load(path), expected.T)

    def test_overwriting_keeps_permissions(self, npy: File) -> None:
        path = npy(np.arange(3))
        path.chmod(0o640)
        lt.save(path, np.zeros(5), overwrite=True)
        assert path.stat().st_mode & 0o777 == 0o640

    def test_a_symbolic_link_stays_and_its_target_is_replaced(self, npy: File, tmp_path: Path) -> None:
        target, link = npy(np.arange(3)), tmp_path / "link.npy"
        link.symlink_to(target)
        lt.save(link, np.zeros(5), overwrite=True)
        assert link.is_symlink()
        assert np.load(target).shape == (5,)

    def test_bfloat16_is_saved_as_float32(self, raw: File, tmp_path: Path) -> None:
        bits = np.random.default_rng(0).integers(0, 1 << 16, 5000).astype(np.uint16)
        lt.save(tmp_path / "new.npy", lt.open(raw(bits), dtype="bfloat16"), dtype="float32")
        np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), (bits.astype(np.uint32) << 16).view(np.float32))

    def test_bfloat16_cannot_be_an_npy_file_and_the_message_says_what_can(self, raw: File, tmp_path: Path) -> None:
        with pytest.raises(lt.UnsupportedError, match="float32"):
            lt.save(tmp_path / "new.npy", lt.open(raw(np.zeros(4, "u2")), dtype="bfloat16"))
        assert not (tmp_path / "new.npy").exists()

    def test_progress_counts_up_to_all_bytes(self, npy: File, tmp_path: Path) -> None:
        seen: list[tuple[int, int]] = []
        array = lt.open(npy(np.zeros(2 * MiB)))
        lt.save(tmp_path / "new.npy", array, progress=lambda done, total: seen.append((done, total)))
        assert seen == sorted(seen)
        assert seen[-1] == (array.nbytes, array.nbytes)

    def test_an_exception_from_progress_stops_it_and_leaves_nothing(self, npy: File, tmp_path: Path) -> None:
        def stop(done: int, total: int) -> None:
            raise KeyError(done)

        with pytest.raises(KeyError):
            lt.save(tmp_path / "new.npy", lt.open(npy(np.zeros(2 * MiB))), progress=stop)
        assert os.listdir(tmp_path) == ["x.npy"]

    def test_resume_is_not_there_yet(self, tmp_path: Path) -> None:
        with pytest.raises(lt.UnsupportedError, match="resume"):
            lt.save(tmp_path / "new.npy", np.zeros(3), resume=True)

    def test_other_formats_are_unsupported(self, tmp_path: Path) -> None:
        with pytest.raises(lt.UnsupportedError, match="npy and raw"):
            lt.save(tmp_path / "new.h5", np.zeros(3), format="hdf5")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("values", [["a", "b"], [None], 10**30])
    def test_what_is_not_numbers_is_unsupported(self, tmp_path: Path, values: Any) -> None:
        with pytest.raises(lt.UnsupportedError):
            lt.save(tmp_path / "new.npy", values)
        assert os.listdir(tmp_path) == []


class TestBfloat16:
    def test_shape_and_bytes_need_no_numpy_dtype(self, raw: File) -> None:
        array = lt.open(raw(np.zeros(6, "u2")), dtype="bfloat16", shape=(2, 3))
        assert (array.shape, array.itemsize, array.nbytes) == ((2, 3), 2, 12)
        assert "bfloat16" in repr(array)

    def test_without_ml_dtypes_computing_says_what_to_do(self, raw: File, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
        with pytest.raises(lt.UnsupportedError, match=r"pip install ml_dtypes.*lt\.save"):
            lt.open(raw(np.zeros(6, "u2")), dtype="bfloat16").compute()


class TestNames:
    @pytest.mark.parametrize("name", ["q.h5", "q.zarr", "q.npz", "q.NPZ", "q.safetensors", "q.parquet", "q.npy.gz"])
    def test_a_name_that_promises_another_format_is_refused(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(lt.UnsupportedError, match=r'Name it .*\.npy, or say format="raw"'):
            lt.save(tmp_path / name, np.arange(3))
        with pytest.raises(lt.UnsupportedError):
            lt.create(tmp_path / name, shape=(3,))
        assert list(tmp_path.iterdir()) == []

    def test_unless_the_format_is_said(self, tmp_path: Path) -> None:
        lt.save(tmp_path / "q.h5", np.arange(3), format="raw")
        assert (tmp_path / "q.h5").read_bytes() == np.arange(3).tobytes()


def test_a_change_of_order_reads_a_file_once_where_the_budget_holds_it(
    npy: File, tmp_path: Path, drop_pages: Callable[[Path], None]
) -> None:
    expected = np.arange(4 * MiB).reshape(2048, -1)
    path = npy(expected)
    drop_pages(path)
    with lt.budget("160MiB"):
        before = bytes_read_by_this_process()
        lt.save(tmp_path / "f.npy", lt.open(path), order="F")
        assert bytes_read_by_this_process() - before < 1.5 * expected.nbytes
    assert np.load(tmp_path / "f.npy", mmap_mode="r").flags.f_contiguous
    np.testing.assert_array_equal(np.load(tmp_path / "f.npy"), expected)
