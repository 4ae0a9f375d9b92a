"""The public face: what each name promises, and what each refusal is and says."""

from __future__ import annotations

import ctypes
import errno
import gc
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide as lt

MiB = 1 << 20
File = Callable[..., Path]


def resident_bytes(mapped: np.memmap) -> int:
    """What of a mapping is in memory, by mincore(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    pages = -(-mapped.nbytes // mmap.PAGESIZE)
    flags = (ctypes.c_ubyte * pages)()
    address = mapped.__array_interface__["data"][0] // mmap.PAGESIZE * mmap.PAGESIZE
    assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(mapped.nbytes), flags) == 0
    return sum(flag & 1 for flag in flags) * mmap.PAGESIZE


def bytes_read_by_this_process() -> int:
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return max(int(counters["rchar"]), int(counters["read_bytes"]))


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def unprivileged() -> Any:
    """The test runs as a user whom permissions bind, even where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


class TestBudget:
    def test_set_budget_returns_the_previous_one(self) -> None:
        lt.set_budget("10MiB")
        assert lt.set_budget("20MiB") == 10 * MiB

    @pytest.mark.parametrize(
        ("text", "count"),
        [("512MiB", 512 * MiB), ("2 GB", 2 * 10**9), ("1.5GiB", 3 << 29), ("1073741824", 1 << 30), ("64 KiB", 65536)],
    )
    def test_sizes_are_read_as_they_are_written(self, text: str, count: int) -> None:
        with lt.budget(text) as limit:
            assert limit == count

    def test_a_percentage_is_of_what_is_available(self) -> None:
        with lt.budget("10%") as tenth, lt.budget("50%") as half:
            assert tenth < half

    @pytest.mark.parametrize("wrong", ["", "abc", "-5MiB", "5XiB", -1])
    def test_what_is_no_size_is_a_value_error(self, wrong: str | int) -> None:
        with pytest.raises(ValueError, match="size in bytes"):
            lt.set_budget(wrong)

    def test_a_budget_block_restores_the_budget_after_an_exception(self) -> None:
        with pytest.raises(KeyError), lt.budget("8MiB"):
            raise KeyError
        assert lt.usage().limit == 64 * MiB

    def test_usage_counts_a_result_until_it_is_collected(self, npy: File, held: Callable[[], dict[str, int]]) -> None:
        result = lt.open(npy(np.zeros(MiB))).compute()
        assert held()["results"] >= result.nbytes
        del result
        assert held() == {}

    def test_a_view_of_a_result_keeps_its_bytes_counted(self, npy: File) -> None:
        view = lt.open(npy(np.zeros(MiB))).compute()[::1000]
        gc.collect()
        assert lt.usage().by_purpose["results"] >= 8 * MiB
        assert view.sum() == 0

    def test_peak_is_the_highest_held_since_reset(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(MiB)))
        lt.reset_peak()
        array.compute()
        assert 8 * MiB <= lt.usage().peak <= 64 * MiB
        lt.reset_peak()
        assert lt.usage().peak == lt.usage().held

    def test_usage_prints_held_and_limit(self) -> None:
        assert "of 64 MiB held" in str(lt.usage())

    def test_info_names_each_open_file_and_its_io_mode(self, npy: File, io_mode: str) -> None:
        array = lt.open(npy(np.zeros(3)))
        assert [file["io"] for file in lt.info()["files"] if file["path"] == array.path] == [io_mode]

    def test_info_tells_version_and_budget(self) -> None:
        assert lt.info()["version"] == lt.__version__
        assert lt.info()["budget"] == 64 * MiB

    def test_the_environment_sets_the_budget(self) -> None:
        told = run("import lowtide as lt; print(lt.usage().limit, lt.info()['budget_source'])", LOWTIDE_BUDGET="123MiB")
        assert told == f"{123 * MiB} LOWTIDE_BUDGET"

    def test_the_default_budget_is_half_of_what_is_available(self) -> None:
        assert run("import lowtide as lt; print(lt.info()['budget_source'])", LOWTIDE_BUDGET="").startswith("half of ")

    def test_an_unknown_io_mode_is_refused_with_the_known_ones(
        self, npy: File, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LOWTIDE_IO", "floppy")
        with pytest.raises(ValueError, match="auto, uring, threads, dontcache or buffered"):
            lt.open(npy(np.zeros(3)))


class TestBudgetError:
    def test_it_is_a_memory_error_with_numbers(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(2 * MiB)))
        with lt.budget("8MiB"), pytest.raises(MemoryError) as caught:
            array.compute()
        assert isinstance(caught.value, lt.BudgetError)
        assert isinstance(caught.value, lt.Error)
        assert caught.value.needed >= 16 * MiB
        assert caught.value.limit == 8 * MiB

    def test_its_message_says_what_needs_how_much_and_what_to_type(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(2 * MiB)))
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError, match="needs at least") as caught:
            array.compute()
        for part in (array.path, "the budget is 8 MiB", "set_budget(", ".blocks()"):
            assert part in str(caught.value)

    def test_the_budget_it_asks_for_is_enough(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(2 * MiB)))
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError) as caught:
            array.compute()
        with lt.budget(str(caught.value).split('set_budget("')[1].split('"')[0]):
            assert array.compute().size == 2 * MiB

    def test_it_names_the_results_that_are_held(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(MiB)))
        with lt.budget("12MiB"):
            first = array.compute()
            with pytest.raises(lt.BudgetError, match=r"results 8.* MiB.*\n.*drop results"):
                array.compute()
        del first

    @pytest.mark.parametrize(
        "materialise",
        [lambda a: a.compute(), lambda a: a.read(), lambda a: a.read(slice(None, None, -1)), np.asarray, np.array,
         np.from_dlpack, lambda a: a.T.compute()],
        ids=["compute", "read", "read-reversed", "asarray", "array", "from_dlpack", "transposed"],
    )  # fmt: skip
    def test_it_comes_before_any_io(
        self, npy: File, io_mode: str, drop_pages: Callable[[Path], None], materialise: Callable[[lt.Array], Any]
    ) -> None:
        path = npy(np.zeros((2048, 1024)))
        drop_pages(path)
        array = lt.open(path)
        with lt.budget("8MiB"):
            before = bytes_read_by_this_process()
            with pytest.raises(lt.BudgetError):
                materialise(array)
            assert bytes_read_by_this_process() - before < 64 * 1024

    def test_a_refused_save_leaves_no_file(self, npy: File, tmp_path: Path) -> None:
        array = lt.open(npy(np.zeros((4, MiB))))
        with lt.budget("4MiB"), pytest.raises(lt.BudgetError):
            lt.save(tmp_path / "out.npy", array)
        assert os.listdir(tmp_path) == ["x.npy"]

    def test_a_refused_save_keeps_the_file_it_would_replace(self, npy: File, tmp_path: Path) -> None:
        array, old = lt.open(npy(np.zeros((4, MiB)))), npy(np.arange(5), "old.npy")
        with lt.budget("4MiB"), pytest.raises(lt.BudgetError):
            lt.save(old, array, overwrite=True)
        assert np.load(old).tolist() == [0, 1, 2, 3, 4]

    def test_memmap_refuses_what_cannot_fit(self, raw: File) -> None:
        mapped = lt.memmap(raw(np.zeros(2 * MiB)), dtype="f8", mode="r")
        with lt.budget("8MiB"), pytest.raises(lt.BudgetError):
            mapped[:]

    def test_an_index_is_paid_for_too(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(10)))
        with lt.budget("4MiB"), pytest.raises(lt.BudgetError):
            array[np.zeros(MiB, dtype=np.int32)]

    def test_asarray_with_a_dtype_counts_what_it_converts_to(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(8 * MiB, dtype=np.uint8)))
        with lt.budget("32MiB"), pytest.raises(lt.BudgetError):
            np.asarray(array, dtype=np.float64)


class TestOpen:
    def test_attributes_are_those_of_numpy(self, npy: File) -> None:
        expected = np.zeros((3, 4, 5), dtype=np.int16)
        path = npy(expected)
        array = lt.open(path)
        for name in ("shape", "dtype", "ndim", "size", "nbytes", "itemsize"):
            assert getattr(array, name) == getattr(expected, name)
        assert len(array) == 3
        assert array.path == str(path)

    def test_str_and_path_are_both_paths(self, npy: File) -> None:
        path = npy(np.arange(3))
        assert lt.open(path).shape == lt.open(str(path)).shape

    def test_the_format_is_told_from_the_content(self, npy: File) -> None:
        path = npy(np.arange(3))
        assert lt.open(path.rename(path.with_suffix(".dat"))).read().tolist() == [0, 1, 2]

    def test_opening_reads_no_data(self, npy: File, drop_pages: Callable[[Path], None]) -> None:
        path = npy(np.zeros(MiB))
        drop_pages(path)
        before = bytes_read_by_this_process()
        lt.open(path)[::-2, None][[3, 1]]
        assert bytes_read_by_this_process() - before < 64 * 1024

    def test_raw_shape_is_told_from_the_size(self, raw: File) -> None:
        path = raw(np.arange(12, dtype=np.uint16))
        assert lt.open(path, dtype="uint16").shape == (12,)
        assert lt.open(path, dtype="uint16", shape=(-1, 4)).shape == (3, 4)
        assert lt.open(path, dtype="uint16", offset=4, shape=np.int64(5)).read().tolist() == [2, 3, 4, 5, 6]

    def test_a_missing_file_is_a_file_not_found_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"nothing\.npy") as caught:
            lt.open(tmp_path / "nothing.npy")
        assert isinstance(caught.value, lt.IoError)
        assert caught.value.errno == errno.ENOENT
        assert caught.value.filename == str(tmp_path / "nothing.npy")

    def test_a_folder_is_an_is_a_directory_error(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError):
            lt.open(tmp_path)

    def test_a_forbidden_file_is_a_permission_error(self, npy: File, request: pytest.FixtureRequest) -> None:
        path = npy(np.arange(3))
        path.chmod(0)
        request.getfixturevalue("unprivileged")
        with pytest.raises(PermissionError) as caught:
            lt.open(path)
        assert isinstance(caught.value, lt.IoError)

    def test_a_pipe_is_refused_rather_than_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(lt.IoError, match="not a regular file"):
            lt.open(tmp_path / "pipe", dtype="uint8")

    def test_an_npy_name_without_a_header_says_how_to_open_it(self, raw: File) -> None:
        with pytest.raises(lt.FormatError, match=r"no npy header.*\n?.*dtype=") as caught:
            lt.open(raw(np.arange(5), "bare.npy"))
        assert isinstance(caught.value, ValueError)

    def test_an_unknown_format_says_how_to_open_it_as_numbers(self, raw: File) -> None:
        with pytest.raises(lt.FormatError, match=r'open\(".*x\.bin", dtype="uint16"\)'):
            lt.open(raw(np.arange(5)))

    def test_an_empty_file_without_dtype_is_a_format_error(self, raw: File) -> None:
        with pytest.raises(lt.FormatError):
            lt.open(raw(np.zeros(0)))

    def test_a_size_that_is_no_multiple_of_the_item_is_refused_with_numbers(self, raw: File) -> None:
        with pytest.raises(lt.FormatError, match=r"multiple of 4 bytes.*has 10 bytes.*2 left over"):
            lt.open(raw(np.zeros(10, dtype=np.uint8)), dtype="float32")

    def test_a_shape_beyond_the_file_is_refused_with_one_that_fits(self, raw: File) -> None:
        with pytest.raises(lt.FormatError, match=r"Shape \(2, 4\) fits"):
            lt.open(raw(np.zeros(10, dtype=np.uint8)), dtype="uint8", shape=(3, 4))

    def test_an_offset_beyond_the_end_is_refused(self, raw: File) -> None:
        with pytest.raises(lt.FormatError, match="beyond the end"):
            lt.open(raw(np.zeros(10, dtype=np.uint8)), dtype="uint8", offset=11)

    def test_a_negative_offset_is_a_value_error(self, raw: File) -> None:
        with pytest.raises(ValueError, match="negative"):
            lt.open(raw(np.zeros(10, dtype=np.uint8)), dtype="uint8", offset=-1)

    def test_a_file_cut_short_says_how_much_is_missing(self, npy: File) -> None:
        path = npy(np.zeros(100))
        os.truncate(path, path.stat().st_size - 8)
        with pytest.raises(lt.FormatError, match="8 too few"):
            lt.open(path)

    @pytest.mark.parametrize("mode", ["w", "w+", "a", "rb", ""])
    def test_other_modes_are_refused_with_the_two_there_are(self, npy: File, mode: str) -> None:
        with pytest.raises(ValueError, match=r'"r" or "r\+"'):
            lt.open(npy(np.arange(3)), mode)

    def test_an_order_other_than_c_or_f_is_refused(self, raw: File) -> None:
        with pytest.raises(ValueError, match="order"):
            lt.open(raw(np.arange(3)), dtype="i8", order="K")

    @pytest.mark.parametrize("dtype", [object, "U5", "S3", "M8[s]", "i4,f8", "float128", "nonsense"])
    def test_other_dtypes_are_unsupported_and_the_message_lists_what_is(self, raw: File, dtype: Any) -> None:
        with pytest.raises(lt.UnsupportedError, match="bfloat16") as caught:
            lt.open(raw(np.arange(3)), dtype=dtype)
        assert isinstance(caught.value, NotImplementedError)

    @pytest.mark.parametrize(
        "array",
        [np.array([None, 1]), np.array(["a", "b"]), np.array([(1, 2.0)], dtype="i4,f8"), np.array(["2020"], "M8[D]")],
        ids=["object", "string", "structured", "datetime"],
    )
    def test_npy_files_of_other_dtypes_are_unsupported(self, npy: File, array: np.ndarray) -> None:
        with pytest.raises(lt.UnsupportedError):
            lt.open(npy(array))

    def test_a_file_written_to_by_others_is_not_read_as_if_it_were_one(self, npy: File) -> None:
        path = npy(np.zeros(10))
        array = lt.open(path)
        np.save(path, np.ones(11))
        with pytest.raises(lt.DataChangedError, match="Open it again"):
            array.compute()


class TestArray:
    def test_indexing_is_lazy_and_gives_an_array(self, npy: File) -> None:
        assert isinstance(lt.open(npy(np.arange(10)))[2:5], lt.Array)

    def test_compute_of_one_element_is_an_ndarray_without_axes(self, npy: File) -> None:
        result = lt.open(npy(np.arange(10)))[3].compute()
        assert isinstance(result, np.ndarray)
        assert result.shape == ()

    def test_results_are_writable_and_leave_the_file_alone(self, npy: File) -> None:
        array = lt.open(npy(np.arange(10)))
        result = array.compute()
        result[:] = 7
        assert array[3].item() == 3

    def test_item_is_a_python_scalar(self, npy: File) -> None:
        assert type(lt.open(npy(np.arange(10, dtype=np.uint8)))[3].item()) is int

    def test_item_of_many_elements_is_a_value_error(self, npy: File) -> None:
        with pytest.raises(ValueError, match="size 1"):
            lt.open(npy(np.arange(10))).item()

    @pytest.mark.parametrize("convert", [int, float, complex, bool])
    def test_one_element_converts_to_a_python_number(self, npy: File, convert: type) -> None:
        expected = np.array([[2.5]])
        assert convert(lt.open(npy(expected))) == convert(expected[0, 0])

    def test_truth_of_many_elements_is_ambiguous(self, npy: File) -> None:
        with pytest.raises(ValueError, match="ambiguous"):
            bool(lt.open(npy(np.arange(10))))

    def test_asarray_reads_the_array(self, npy: File) -> None:
        expected = np.random.default_rng(0).random((5, 6))
        np.testing.assert_array_equal(np.asarray(lt.open(npy(expected))[::2, ::-1]), expected[::2, ::-1], strict=True)

    def test_asarray_converts_to_a_dtype(self, npy: File) -> None:
        assert np.asarray(lt.open(npy(np.arange(4))), dtype=np.float32).dtype == np.float32

    def test_asarray_without_a_copy_is_refused(self, npy: File) -> None:
        with pytest.raises(ValueError, match="copy"):
            np.asarray(lt.open(npy(np.arange(4))), copy=False)

    @pytest.mark.parametrize("shape", [(4, 5), (0, 5), ()])
    def test_from_dlpack_reads_the_array(self, npy: File, shape: tuple[int, ...]) -> None:
        expected = np.random.default_rng(0).random(shape)
        np.testing.assert_array_equal(np.from_dlpack(lt.open(npy(expected))), expected, strict=True)

    def test_repr_tells_shape_dtype_bytes_and_path(self, npy: File) -> None:
        array = lt.open(npy(np.zeros((100, 4))))
        assert repr(array) == f"<lowtide.Array (100, 4) float64, 3.1 KiB, npy, C order, {array.path!r}>"

    def test_html_repr_tells_the_budgets_and_escapes_the_path(self, npy: File) -> None:
        shown = lt.open(npy(np.zeros((100, 4)), "<b>.npy"))._repr_html_()
        for part in ("(100, 4)", "float64", "least budget", "read whole in", "&lt;b&gt;.npy"):
            assert part in shown

    def test_len_of_an_array_without_axes_is_a_type_error(self, npy: File) -> None:
        with pytest.raises(TypeError, match="unsized"):
            len(lt.open(npy(np.array(3))))

    def test_iteration_over_an_array_without_axes_is_a_type_error(self, npy: File) -> None:
        with pytest.raises(TypeError, match="0-d"):
            next(iter(lt.open(npy(np.array(3)))))

    def test_iteration_yields_rows_that_outlive_it(self, npy: File) -> None:
        expected = np.arange(12).reshape(4, 3)
        np.testing.assert_array_equal(list(lt.open(npy(expected))), expected)

    @pytest.mark.parametrize("axes", [(), (1, 0, 2), ((2, 0, 1),), (-1, 0, 1)])
    def test_transpose_takes_axes_as_numpy_does(self, npy: File, axes: tuple[Any, ...]) -> None:
        expected = np.arange(24).reshape(2, 3, 4)
        np.testing.assert_array_equal(lt.open(npy(expected)).transpose(*axes).compute(), expected.transpose(*axes))

    @pytest.mark.parametrize("axes", [(5, 0, 1), (0, 0, 1), (0, 1), (-4, 0, 1)])
    def test_transpose_refuses_axes_as_numpy_does(self, npy: File, axes: tuple[int, ...]) -> None:
        expected = np.zeros((2, 3, 4))
        with pytest.raises(ValueError) as theirs:  # noqa: PT011
            expected.transpose(axes)
        with pytest.raises(theirs.type):
            lt.open(npy(expected)).transpose(axes)

    @pytest.mark.parametrize("rows", [0, -3])
    def test_blocks_of_no_rows_are_refused_when_asked_for(self, npy: File, rows: int) -> None:
        with pytest.raises(ValueError, match="rows must be positive"):
            lt.open(npy(np.arange(4))).blocks(rows)

    def test_blocks_of_an_array_without_axes_are_refused(self, npy: File) -> None:
        with pytest.raises(ValueError, match="one dimension"):
            lt.open(npy(np.array(3))).blocks()

    def test_blocks_stay_far_below_the_file_in_size(self, npy: File, io_mode: str) -> None:
        array = lt.open(npy(np.arange(4 * MiB).reshape(-1, 64)))
        with lt.budget("8MiB"):
            lt.reset_peak()
            total = sum(int(rows.sum()) for _, rows in array.blocks())
            assert lt.usage().peak <= 8 * MiB
        assert total == (4 * MiB) * (4 * MiB - 1) // 2

    @pytest.mark.parametrize("rows", [None, 20])
    def test_blocks_of_a_transposed_array_run_in_eight_mebibytes(
        self, npy: File, io_mode: str, rows: int | None
    ) -> None:
        expected = np.random.default_rng(0).random((700, 513))
        array = lt.open(npy(expected)).T
        with lt.budget("8MiB"):
            for start, block in array.blocks(rows):
                np.testing.assert_array_equal(block, expected.T[start : start + len(block)])

    def test_blocks_run_in_the_least_budget_that_the_array_states(self, npy: File, io_mode: str) -> None:
        array = lt.open(npy(np.ones((300, 513))))
        with lt.budget(dict(array._facts())["least budget"]):
            assert sum(rows.sum() for _, rows in array.blocks()) == array.size

    def test_blocks_left_half_way_hold_nothing(self, npy: File, held: Callable[[], dict[str, int]]) -> None:
        for _ in lt.open(npy(np.zeros((64, MiB // 8)))).blocks(rows=4):
            break
        del _
        assert held() == {}


class TestAssignment:
    def test_what_is_assigned_is_in_the_file(self, npy: File) -> None:
        path = npy(np.zeros((4, 3)))
        array = lt.open(path, "r+")
        array[1] = [1, 2, 3]
        array.flush()
        assert np.load(path)[1].tolist() == [1, 2, 3]

    def test_other_views_of_the_file_see_it(self, npy: File) -> None:
        path = npy(np.zeros(4))
        before, array = lt.open(path), lt.open(path, "r+")
        array[2] = 5
        assert before.compute().tolist() == [0, 0, 5, 0]

    def test_a_read_only_array_says_how_to_open_it(self, npy: File) -> None:
        with pytest.raises(ValueError, match=r'mode="r\+"'):
            lt.open(npy(np.arange(3)))[0] = 1

    def test_the_last_of_repeated_indices_wins(self, npy: File) -> None:
        array = lt.open(npy(np.zeros(4)), "r+")
        array[[1, 1, 1]] = [3, 4, 5]
        assert array.compute().tolist() == [0, 5, 0, 0]

    def test_an_array_on_disk_is_assigned_from_another(self, npy: File) -> None:
        array = lt.open(npy(np.arange(6)), "r+")
        array[1:] = array[:-1]
        assert array.compute().tolist() == [0, 0, 1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("dtype", "value"),
        [("uint8", 300), ("uint8", -1), ("int8", [1, 200]), ("int32", float("nan")), ("float32", 1j), ("int64", 2**64)],
    )
    def test_a_python_number_that_does_not_fit_is_refused_as_numpy_refuses_it(
        self, npy: File, dtype: str, value: Any
    ) -> None:
        expected = np.zeros(2, dtype=dtype)
        array = lt.open(npy(expected), "r+")
        with pytest.raises((OverflowError, ValueError, TypeError)) as theirs:
            expected[:] = value
        with pytest.raises(theirs.type):
            array[:] = value

    def test_values_that_do_not_broadcast_are_refused_and_nothing_is_written(self, npy: File) -> None:
        array = lt.open(npy(np.zeros((4, 3))), "r+")
        with pytest.raises(ValueError, match=r"broadcast.*\(2,\).*\(4,3\)"):
            array[:] = [1, 2]
        assert array.compute().sum() == 0


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
        with pytest.raises(lt.UnsupportedError, match='"npy" and "raw"'):
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


class TestErrors:
    @pytest.mark.parametrize(
        ("error", "builtin"),
        [
            (lt.BudgetError, MemoryError),
            (lt.FormatError, ValueError),
            (lt.IoError, OSError),
            (lt.UnsupportedError, NotImplementedError),
            (lt.DataChangedError, lt.Error),
            (lt.CancelledError, lt.Error),
        ],
    )
    def test_each_is_an_error_of_lowtide_and_its_builtin(self, error: type, builtin: type) -> None:
        assert issubclass(error, lt.Error)
        assert issubclass(error, builtin)

    def test_all_public_names_exist(self) -> None:
        assert [name for name in lt.__all__ if not hasattr(lt, name)] == []
