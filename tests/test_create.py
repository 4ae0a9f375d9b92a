"""New files: nothing before close(), all of it after."""

from __future__ import annotations

import errno
import gc
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt


class TestCreate:
    def test_nothing_appears_before_it_is_closed(self, tmp_path: Path) -> None:
        writer = lt.create(tmp_path / "new.npy", (3,))
        writer[:] = 1
        assert os.listdir(tmp_path) == []
        writer.close()
        assert np.load(tmp_path / "new.npy").tolist() == [1, 1, 1]

    def test_an_exception_leaves_nothing(self, tmp_path: Path, io_mode: str) -> None:
        before = os.listdir(tmp_path)
        with pytest.raises(IndexError), lt.create(tmp_path / "new.npy", (1000, 1000)) as writer:
            writer[[0, 5, 1000]] = 1
        assert os.listdir(tmp_path) == before

    def test_an_exception_keeps_the_file_that_would_be_replaced(self, npy: File, tmp_path: Path) -> None:
        path = npy(np.arange(3))
        with pytest.raises(ValueError, match="broadcast"), lt.create(path, (5,), overwrite=True) as writer:
            writer[:] = [1, 2]
        assert np.load(path).tolist() == [0, 1, 2]
        assert os.listdir(tmp_path) == ["x.npy"]

    def test_a_writer_that_is_dropped_leaves_nothing(self, tmp_path: Path) -> None:
        writer = lt.create(tmp_path / "new.npy", (3,))
        writer[:] = 1
        del writer
        gc.collect()
        assert os.listdir(tmp_path) == []

    def test_a_discarded_writer_is_closed(self, tmp_path: Path) -> None:
        writer = lt.create(tmp_path / "new.npy", (3,))
        writer.discard()
        assert writer.closed
        assert os.listdir(tmp_path) == []

    def test_writing_after_close_is_a_value_error(self, tmp_path: Path) -> None:
        with lt.create(tmp_path / "new.npy", (3,)) as writer:
            pass
        with pytest.raises(ValueError, match="closed"):
            writer[0] = 1

    def test_closing_twice_is_closing_once(self, tmp_path: Path) -> None:
        writer = lt.create(tmp_path / "new.npy", (3,))
        writer.close()
        writer.close()
        assert writer.closed

    def test_what_is_never_written_is_zero(self, tmp_path: Path, io_mode: str) -> None:
        with lt.create(tmp_path / "new.npy", (1000, 77), "f4") as writer:
            writer[500] = 1
        expected = np.zeros((1000, 77), dtype="f4")
        expected[500] = 1
        np.testing.assert_array_equal(np.load(tmp_path / "new.npy"), expected, strict=True)

    @pytest.mark.parametrize("order", [[1, 0], [0, 2, 1, 3], [3, 2, 1, 0], [0, 1, 3, 2, 1, 2]])
    def test_rows_written_in_any_order_all_stay(self, tmp_path: Path, io_mode: str, order: list[int]) -> None:
        with lt.create(tmp_path / "new.npy", (4, 700)) as writer:
            for row in order:
                writer[row] = row + 1
        assert np.load(tmp_path / "new.npy")[:, -1].tolist() == [row + 1 if row in order else 0 for row in range(4)]

    def test_append_grows_the_first_axis(self, tmp_path: Path) -> None:
        with lt.create(tmp_path / "new.npy", (0, 3), "i4") as writer:
            writer.append([1, 2, 3])
            writer.append(np.ones((4, 3)))
            assert writer.shape == (5, 3)
        assert np.load(tmp_path / "new.npy").shape == (5, 3)

    def test_append_refuses_rows_of_another_shape(self, tmp_path: Path) -> None:
        with lt.create(tmp_path / "new.npy", (0, 3)) as writer, pytest.raises(ValueError, match="must agree"):
            writer.append(np.ones((2, 4)))

    def test_append_to_fortran_order_is_unsupported(self, tmp_path: Path) -> None:
        with lt.create(tmp_path / "new.npy", (0, 3), order="F") as writer, pytest.raises(lt.UnsupportedError):
            writer.append(np.ones((2, 3)))

    def test_repr_tells_whether_it_is_on_disk(self, tmp_path: Path) -> None:
        with lt.create(tmp_path / "new.npy", (3,)) as writer:
            assert "not yet on disk" in repr(writer)
        assert "closed" in repr(writer)

    def test_a_name_without_npy_makes_a_raw_file(self, tmp_path: Path) -> None:
        with lt.create(tmp_path / "new.bin", 3, "u2") as writer:
            writer[:] = [1, 2, 3]
        assert np.fromfile(tmp_path / "new.bin", "u2").tolist() == [1, 2, 3]

    def test_negative_extents_are_refused_with_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"start at 0 and append\(\)"):
            lt.create(tmp_path / "new.npy", (-1, 3))

    def test_big_endian_files_are_not_made(self, tmp_path: Path) -> None:
        with pytest.raises(lt.UnsupportedError, match="dtype='float32'"):
            lt.create(tmp_path / "new.npy", (3,), ">f4")

    def test_an_existing_file_is_a_file_exists_error(self, npy: File) -> None:
        path = npy(np.arange(3))
        with pytest.raises(FileExistsError, match="overwrite=True") as caught:
            lt.create(path, (3,))
        assert isinstance(caught.value, lt.IoError)
        assert np.load(path).tolist() == [0, 1, 2]

    def test_a_missing_folder_is_a_file_not_found_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            lt.create(tmp_path / "nowhere" / "new.npy", (3,))

    def test_a_forbidden_folder_is_a_permission_error(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        folder = tmp_path / "locked"
        folder.mkdir(mode=0o500)
        request.getfixturevalue("unprivileged")
        with pytest.raises(PermissionError):
            lt.create(folder / "new.npy", (3,))

    def test_more_than_the_disk_holds_is_refused_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="cannot reserve") as caught:
            lt.create(tmp_path / "new.npy", (1 << 43,), "f8")
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert os.listdir(tmp_path) == []


class TestThreads:
    def test_rows_appended_by_several_threads_are_all_there(self, tmp_path: Path) -> None:
        # 2 MiB an append: without the turn, one thread is in the middle of its rows when another begins.
        per_thread, count, rows, columns = 8, 4, 4096, 64
        failures: list[BaseException] = []
        ready = threading.Barrier(count)
        with lt.create(tmp_path / "new.npy", (0, columns), "i8") as writer:

            def append(first: int) -> None:
                try:
                    ready.wait()
                    for number in range(first, first + per_thread):
                        writer.append(np.full((rows, columns), number))
                        assert writer.shape[0] % rows == 0
                except BaseException as error:
                    failures.append(error)

            threads = [threading.Thread(target=append, args=(n * per_thread,)) for n in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert failures == []
        appended = np.load(tmp_path / "new.npy").reshape(-1, rows * columns)
        assert sorted(appended[:, 0].tolist()) == list(range(per_thread * count))
        assert (appended == appended[:, :1]).all()

    def test_a_child_of_fork_cannot_use_its_parents_writer(self, tmp_path: Path) -> None:
        writer = lt.create(tmp_path / "new.npy", (0,), "i8")
        writer.append(np.arange(3))
        child = os.fork()
        if child == 0:
            try:
                writer.append(np.arange(5))
            except lt.Error as error:
                os._exit(7 if "belongs to the process" in str(error) else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        writer.append(np.arange(3, 5))
        writer.close()
        assert np.load(tmp_path / "new.npy").tolist() == [0, 1, 2, 3, 4]
