"""In place of np.memmap: lt.memmap."""

from __future__ import annotations

import multiprocessing
import operator
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fixture_types import File
from measures import MiB

import lowtide as lt


class TestMemmap:
    def test_defaults_are_those_of_numpy(self, raw: File) -> None:
        path = raw(np.arange(5, dtype=np.uint8))
        ours, theirs = lt.memmap(path), np.memmap(path)
        for name in ("dtype", "mode", "shape", "offset", "ndim", "size", "nbytes"):
            assert getattr(ours, name) == getattr(theirs, name)

    def test_indexing_a_read_only_one_gives_a_read_only_ndarray(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.arange(5)), dtype="i8", mode="r")
        part = mapped[1:3]
        assert type(part) is np.ndarray
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 9
        gathered = mapped[[1, 2]]
        gathered[:] = 9  # a copy in NumPy too
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


class TestWritesThroughParts:
    @pytest.fixture
    def mapped(self, raw: File) -> lt.memmap:
        return lt.memmap(raw(np.arange(12)), dtype="i8", mode="r+", shape=(3, 4))

    @pytest.fixture
    def expected(self) -> np.ndarray:
        return np.arange(12).reshape(3, 4)

    def test_an_element_of_a_row_is_written(self, mapped: lt.memmap, expected: np.ndarray) -> None:
        mapped[2][1] = 50
        mapped[1:][0][2:][1] = 60
        expected[2][1], expected[1:][0][2:][1] = 50, 60
        np.testing.assert_array_equal(mapped[:], expected)

    def test_rows_changed_in_a_loop_are_written(self, mapped: lt.memmap, expected: np.ndarray) -> None:
        for row in mapped:
            row += 1
        np.testing.assert_array_equal(mapped[:], expected + 1)

    def test_augmented_assignment_is_written_once(self, mapped: lt.memmap, expected: np.ndarray) -> None:
        mapped[1:] += 10
        mapped[0] *= 2
        mapped[mapped[:] > 15] = 0
        expected[1:] += 10
        expected[0] *= 2
        expected[expected > 15] = 0
        np.testing.assert_array_equal(mapped[:], expected)

    def test_what_cannot_be_written_through_raises(self, mapped: lt.memmap, expected: np.ndarray) -> None:
        row = mapped[0]
        for change in (
            row.sort,
            lambda: np.copyto(row, 0),
            lambda: row.T.__setitem__(0, 1),
            lambda: row.reshape(2, 2).__setitem__(0, 1),
            lambda: np.asarray(mapped).__setitem__(0, 1),
            lambda: np.add.accumulate(mapped, out=mapped),
            mapped.sort,
        ):
            with pytest.raises((ValueError, TypeError)):
                change()
        np.testing.assert_array_equal(mapped[:], expected)

    def test_what_is_made_of_parts_is_an_ndarray(self, mapped: lt.memmap) -> None:
        row = mapped[0]
        for made in (row + 1, np.stack([row, row]), np.concatenate([row, row]), np.sqrt(row)):
            assert type(made) is np.ndarray
        assert type(pickle.loads(pickle.dumps(row))) is np.ndarray
        copied = row.astype("f4")
        copied[0] = 9
        assert mapped[0, 0] == 0

    def test_in_place_arithmetic_on_all_of_it_is_streamed(self, raw: File) -> None:
        expected = np.arange(MiB, dtype="i4")
        mapped = lt.memmap(raw(expected), dtype="i4", mode="r+", shape=(1024, 1024))
        same = mapped
        with lt.budget("3MiB"):
            mapped += np.arange(1024, dtype="i4")
            np.multiply(mapped, mapped, out=mapped)
        assert mapped is same
        with np.errstate(over="ignore"):
            wanted = (expected.reshape(1024, 1024) + np.arange(1024, dtype="i4")) ** 2
        np.testing.assert_array_equal(mapped[:], wanted)


class TestArithmetic:
    @pytest.mark.parametrize("name", ["eq", "ne", "lt", "add", "sub", "truediv", "pow", "matmul"])
    def test_operators_give_what_numpy_gives(self, raw: File, name: str) -> None:
        expected = np.arange(1.0, 5.0)
        mapped = lt.memmap(raw(expected), dtype="f8", mode="r")
        apply = getattr(operator, name)
        for ours, theirs in (
            ((mapped, expected), (expected, expected)),
            ((expected, mapped), (expected, expected)),
            ((mapped, mapped), (expected, expected)),
        ):
            np.testing.assert_array_equal(apply(*ours), apply(*theirs), strict=True)
        if name != "matmul":
            np.testing.assert_array_equal(apply(mapped, 2), apply(expected, 2), strict=True)

    def test_methods_give_what_numpy_gives(self, raw: File) -> None:
        expected = np.random.default_rng(0).random((6, 4))
        mapped = lt.memmap(raw(expected), dtype="f8", mode="r", shape=(6, 4))
        for name, arguments in (("sum", ()), ("mean", (0,)), ("astype", ("f4",)), ("tolist", ()), ("argmax", (1,))):
            np.testing.assert_array_equal(getattr(mapped, name)(*arguments), getattr(expected, name)(*arguments))
        np.testing.assert_array_equal(np.sqrt(mapped), np.sqrt(expected), strict=True)
        np.testing.assert_array_equal(np.median(mapped, axis=0), np.median(expected, axis=0))
        with pytest.raises(TypeError, match="unhashable"):
            hash(mapped)

    @pytest.mark.parametrize("name", ["min", "max", "sum", "any", "all"])
    def test_one_answer_from_more_than_the_budget_is_streamed(self, raw: File, name: str) -> None:
        expected = np.arange(1, MiB + 1, dtype="u2")
        mapped = lt.memmap(raw(expected), dtype="u2", mode="r")
        with lt.budget("1MiB"):
            assert getattr(mapped, name)() == getattr(expected, name)()


class TestAsNumPyHasIt:
    def test_attributes_of_every_layout(self, raw: File) -> None:
        path = raw(np.arange(24, dtype="i4"))
        for order in ("C", "F"):
            ours, theirs = (of(path, "i4", "r", 0, (2, 3, 4), order) for of in (lt.memmap, np.memmap))
            for a, b in ((ours, theirs), (ours.T, theirs.T), (ours.transpose(1, 0, 2), theirs.transpose(1, 0, 2))):
                for name in ("shape", "strides", "itemsize", "nbytes", "ndim", "size", "dtype"):
                    assert getattr(a, name) == getattr(b, name)
                for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "OWNDATA"):
                    assert a.flags[flag] == b.flags[flag]
                np.testing.assert_array_equal(a[:], b)
            assert ours.item(5) == theirs.item(5)
            assert ours.item(1, 2, 3) == theirs.item(1, 2, 3)

    def test_filename_is_what_numpy_keeps(self, raw: File, monkeypatch: pytest.MonkeyPatch) -> None:
        path = raw(np.arange(5))
        monkeypatch.chdir(path.parent)
        for given in (path, str(path), path.name, Path(path.name)):
            assert lt.memmap(given, mode="r").filename == np.memmap(given, mode="r").filename

    @pytest.mark.parametrize("mode", ["r", "r+", "w+"])
    def test_an_open_file_is_taken(self, tmp_path: Path, mode: str) -> None:
        with open(tmp_path / "x.bin", "w+b") as file:
            file.write(bytes(range(16)))
            ours, theirs = lt.memmap(file, "u1", mode, 4, (8,)), np.memmap(file, "u1", mode, 4, (8,))
            assert ours.filename == theirs.filename
            assert ours[:].tolist() == theirs.tolist()
        assert ours[3] == theirs[3]

    def test_a_file_without_a_name_is_taken(self) -> None:
        with tempfile.TemporaryFile() as file:
            mapped = lt.memmap(file, "f4", "w+", shape=(3,))
            mapped[:] = [1, 2, 3]
            assert mapped.filename is None
            assert np.memmap(file, "f4", "r").tolist() == [1, 2, 3]

    @pytest.mark.parametrize(("offset", "shape"), [(0, (9,)), (3, (2, 5)), (4, (0,)), (10, 1)])
    def test_r_plus_lengthens_a_file(self, tmp_path: Path, offset: int, shape: tuple[int, ...]) -> None:
        sizes = []
        for name, of in (("ours", lt.memmap), ("theirs", np.memmap)):
            (tmp_path / name).write_bytes(b"12345")
            of(tmp_path / name, "u1", "r+", offset, shape)
            sizes.append((tmp_path / name).read_bytes())
        assert sizes[0] == sizes[1]

    def test_a_read_only_file_is_not_lengthened(self, raw: File) -> None:
        path = raw(np.arange(5, dtype="u1"))
        with pytest.raises(ValueError, match="Shape"):
            lt.memmap(path, "u1", "r", shape=(9,))
        assert path.stat().st_size == 5

    def test_reshape_is_a_view_that_reads_nothing(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.arange(MiB)), "i8", "r")
        with lt.budget("1MiB"):
            rows = mapped.reshape(-1, 1024)
            assert rows.shape == (1024, 1024)
            assert rows[3, 5] == 3 * 1024 + 5


class TestLargeSlices:
    def test_a_slice_that_does_not_fit_is_a_view_of_that_part(self, raw: File) -> None:
        data = np.arange(2 * MiB, dtype="u2")
        with lt.budget("2MiB"):
            mapped = lt.memmap(raw(data), "u2", "r")
            n = len(mapped)
            train, val = mapped[: int(0.9 * n)], mapped[int(0.9 * n) :]
            assert isinstance(train, lt.memmap)
            assert train.shape == (int(0.9 * n),)
            assert type(val) is np.ndarray
            assert train[-1] == data[int(0.9 * n) - 1]
            np.testing.assert_array_equal(train[1000:2024], data[1000:2024])
            assert isinstance(train[::2][1:], lt.memmap)
            assert train[::2][1:].strides == data[: int(0.9 * n)][::2][1:].strides
            assert pickle.loads(pickle.dumps(train))[5] == 5

    def test_it_is_written_through(self, raw: File) -> None:
        path = raw(np.zeros(2 * MiB, "u2"))
        with lt.budget("2MiB"):
            lt.memmap(path, "u2", "r+")[MiB // 4 :][3:5] = 7
        assert np.flatnonzero(np.fromfile(path, "u2")).tolist() == [MiB // 4 + 3, MiB // 4 + 4]


class TestOtherProcesses:
    def test_a_pickle_is_a_recipe(self, raw: File) -> None:
        path = raw(np.arange(MiB))
        mapped = lt.memmap(path, "i8", "r+")
        pickled = pickle.dumps(mapped)
        assert len(pickled) < 2000
        again = pickle.loads(pickled)
        again[5] = 77
        assert mapped[5] == 77
        assert (again.mode, again.filename, again.shape) == (mapped.mode, mapped.filename, mapped.shape)

    def test_one_that_made_its_file_does_not_make_it_again(self, tmp_path: Path) -> None:
        mapped = lt.memmap(tmp_path / "new.bin", "i8", "w+", shape=(4,))
        mapped[:] = 3
        assert pickle.loads(pickle.dumps(mapped))[:].tolist() == [3, 3, 3, 3]

    @pytest.mark.parametrize("method", ["spawn", "forkserver"])
    def test_workers_read_and_write_the_same_file(self, raw: File, method: str) -> None:
        mapped = lt.memmap(raw(np.arange(8192)), "i8", "r+", shape=(8, 1024))
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(_doubled, [(mapped, i) for i in range(8)]) == [2048 * i for i in range(8)]
        np.testing.assert_array_equal(mapped[:], 2 * np.arange(8192).reshape(8, 1024))


def _doubled(given: tuple[lt.memmap, int]) -> int:
    mapped, i = given
    mapped[i] = 2 * mapped[i]
    return int(mapped[i, 0])


class TestMemory:
    def test_the_buffer_is_read_once_and_paid_for(self, raw: File, held: Callable[[], dict[str, int]]) -> None:
        expected = np.arange(MiB)
        mapped = lt.memmap(raw(expected), "i8", "r")
        view = memoryview(mapped)
        assert held()["results"] >= 8 * MiB
        assert (view.shape, view.itemsize, view.readonly) == ((MiB,), 8, True)
        np.testing.assert_array_equal(np.frombuffer(view, "i8", 10, 800), expected[100:110])
        del view
        assert held() == {}
        with lt.budget("1MiB"), pytest.raises(lt.BudgetError):
            memoryview(mapped)

    def test_dlpack_and_the_array_interface_lead_to_the_elements(self, raw: File) -> None:
        expected = np.arange(6, dtype="f4").reshape(2, 3)
        mapped = lt.memmap(raw(expected), "f4", "r", shape=(2, 3))
        np.testing.assert_array_equal(np.from_dlpack(mapped), expected, strict=True)
        shown = type("Shown", (), {"__array_interface__": {**mapped.__array_interface__, "data": memoryview(mapped)}})()
        np.testing.assert_array_equal(np.asarray(shown), expected, strict=True)

    def test_saving_one_is_streamed(self, raw: File, tmp_path: Path) -> None:
        expected = np.arange(2 * MiB)
        mapped = lt.memmap(raw(expected), "i8", "r")
        with lt.budget("8MiB"):
            lt.save(tmp_path / "y.npy", mapped)
        np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected, strict=True)

    def test_results_are_of_numpys_own_types(self, raw: File) -> None:
        for dtype in (np.int64, np.uint64, np.int32):
            mapped = lt.memmap(raw(np.arange(4, dtype=dtype)), dtype, "r")
            assert mapped[:].dtype.num == mapped[[1]].dtype.num == np.dtype(dtype).num
            assert type(mapped[1]) is dtype
