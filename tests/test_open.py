"""Opening a file: what is told from it, and what each refusal is and says."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixture_types import File
from measures import MiB, bytes_read_by_this_process

import lowtide as lt


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


class TestWhatAHeaderSays:
    def test_options_that_agree_are_taken(self, npy: File) -> None:
        expected = np.arange(12, dtype="f4").reshape(3, 4)
        array = lt.open(npy(expected), dtype="float32", shape=(-1, 4), order="C")
        np.testing.assert_array_equal(array.compute(), expected, strict=True)

    @pytest.mark.parametrize(
        ("options", "wrong"),
        [
            ({"dtype": "int32"}, "dtype"),
            ({"dtype": ">f4"}, "dtype"),
            ({"shape": (4, 3)}, "shape"),
            ({"shape": 12}, "shape"),
            ({"order": "F"}, "order"),
            ({"offset": 4}, "offset"),
        ],
    )
    def test_options_that_do_not_are_refused_with_what_it_says(
        self, npy: File, options: dict[str, Any], wrong: str
    ) -> None:
        with pytest.raises(lt.FormatError, match=rf"given {wrong} contradicts its npy header.*float32 \(3, 4\)"):
            lt.open(npy(np.zeros((3, 4), "f4")), **options)

    def test_an_offset_behind_the_header_reads_what_is_there(self, npy: File) -> None:
        path = npy(np.arange(4, dtype="u2"))
        assert lt.open(path, dtype="u1", offset=128).read().tolist() == [0, 0, 1, 0, 2, 0, 3, 0]

    def test_the_header_of_a_token_file_is_not_read_as_tokens(self, tmp_path: Path) -> None:
        header = np.zeros(256, "i4")
        header[:3] = 20240520, 1, 4
        path = tmp_path / "llmc.bin"
        path.write_bytes(header.tobytes() + np.arange(4, dtype="u2").tobytes())
        assert lt.open(path, dtype="uint16").read().tolist() == [0, 1, 2, 3]
        with pytest.raises(lt.FormatError, match="dtype contradicts"):
            lt.open(path, dtype="uint8")

    @pytest.mark.parametrize("options", [{"shape": (5,)}, {"offset": 8}, {"order": "F"}])
    def test_bare_numbers_without_a_dtype_are_a_value_error(self, raw: File, options: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="give a dtype"):
            lt.open(raw(np.arange(5)), **options)

    def test_a_path_may_be_bytes(self, npy: File) -> None:
        path = npy(np.arange(3))
        assert lt.open(os.fsencode(path)).read().tolist() == [0, 1, 2]
        assert lt.memmap(os.fsencode(path), mode="r").nbytes == path.stat().st_size

    @pytest.mark.parametrize(
        ("content", "title"),
        [
            (b"\x89HDF\r\n\x1a\n" + bytes(64), "HDF5"),
            (b"PK\x03\x04" + bytes(64), "npz"),
            (b"PAR1" + bytes(64), "Parquet"),
        ],
    )
    @pytest.mark.parametrize("key", [None, "/a/b"])
    def test_a_format_that_is_known_and_not_opened_says_what_is(
        self, tmp_path: Path, content: bytes, title: str, key: str | None
    ) -> None:
        path = tmp_path / "x.h5"
        path.write_bytes(content)
        if title == "Parquet" and key:
            pytest.skip("its arrays have no keys")
        with pytest.raises(lt.UnsupportedError, match=rf"{title}.*lowtide opens npy, llm.c, litpkds and raw"):
            lt.open(path, key=key)

    @pytest.mark.parametrize("marker", ["zarr.json", ".zarray", ".zgroup"])
    def test_a_zarr_folder_is_known_and_not_opened(self, tmp_path: Path, marker: str) -> None:
        (tmp_path / "x.zarr").mkdir()
        (tmp_path / "x.zarr" / marker).write_text("{}")
        with pytest.raises(lt.UnsupportedError, match="Zarr cannot be opened yet; lowtide opens npy"):
            lt.open(tmp_path / "x.zarr")

    def test_a_key_is_refused_where_there_is_one_array(self, npy: File) -> None:
        with pytest.raises(ValueError, match="holds one array, which has no key"):
            lt.open(npy(np.arange(3)), key="/a")
