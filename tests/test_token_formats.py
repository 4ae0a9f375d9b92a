"""Token files with a header open as arrays of one dimension; damaged ones are refused with the numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import token_files
from token_files import EVALUATION, GPT2, LLAMA3

import lowtide as lt


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.bin"


def some_tokens(count: int, vocabulary: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, vocabulary, count)


class TestLlmc:
    @pytest.mark.parametrize(("magic", "dtype"), [(GPT2, "uint16"), (LLAMA3, "uint32")])
    @pytest.mark.parametrize("version", [1, 7])
    def test_the_tokens_are_those_written(self, path: Path, magic: int, dtype: str, version: int, io_mode: str) -> None:
        tokens = some_tokens(10_001, 50_257)
        array = lt.open(token_files.write_llmc(path, tokens, magic, version))
        assert (array.dtype, array.shape) == (np.dtype(dtype), (10_001,))
        np.testing.assert_array_equal(array.read(), tokens)
        np.testing.assert_array_equal(array[9_990::-3].read(), tokens[9_990::-3])

    def test_a_large_vocabulary_is_whole(self, path: Path) -> None:
        tokens = some_tokens(1000, 128_256)
        np.testing.assert_array_equal(lt.open(token_files.write_llmc(path, tokens, LLAMA3)).read(), tokens)

    def test_no_tokens_are_an_empty_array(self, path: Path) -> None:
        assert lt.open(token_files.write_llmc(path, [])).shape == (0,)

    def test_an_offset_behind_the_header_reads_the_bytes_as_they_are(self, path: Path) -> None:
        token_files.write_llmc(path, [5, 6, 7, 8])
        with pytest.raises(lt.FormatError, match=r"contradicts its llm\.c header"):
            lt.open(path, dtype="int32")
        assert lt.open(path, dtype="uint16", offset=1024).read().tolist() == [5, 6, 7, 8]

    def test_tokens_can_be_written_in_place(self, path: Path) -> None:
        array = lt.open(token_files.write_llmc(path, [1, 2, 3]), mode="r+")
        array[1] = 50256
        array.flush()
        assert lt.open(path).read().tolist() == [1, 50256, 3]
        assert path.read_bytes()[:1024] == token_files.llmc_header(GPT2, 1, 3)

    def test_a_file_cut_short_says_by_how_much(self, path: Path) -> None:
        token_files.write_llmc(path, range(100))
        path.write_bytes(path.read_bytes()[:-7])
        with pytest.raises(lt.FormatError, match=r"100 tokens of uint16.* 1224 bytes; the file has 1217, 7 too few"):
            lt.open(path)

    def test_a_file_too_long_says_by_how_much(self, path: Path) -> None:
        token_files.write_llmc(path, range(100), LLAMA3, count=90)
        with pytest.raises(lt.FormatError, match=r"90 tokens of uint32.* 1384 bytes; the file has 1424, 40 too many"):
            lt.open(path)

    def test_a_file_within_its_header_is_refused(self, path: Path) -> None:
        path.write_bytes(token_files.llmc_header(GPT2, 1, 0)[:100])
        with pytest.raises(lt.FormatError, match="1024 bytes long, the file has 100"):
            lt.open(path)

    @pytest.mark.parametrize(
        ("version", "count", "message"), [(3, 0, "version 3; known are 1 and 7"), (1, -5, "says -5 tokens")]
    )
    def test_wrong_fields_are_refused(self, path: Path, version: int, count: int, message: str) -> None:
        path.write_bytes(token_files.llmc_header(GPT2, version, count))
        with pytest.raises(lt.FormatError, match=message):
            lt.open(path)

    def test_a_big_endian_file_is_named_as_such(self, path: Path) -> None:
        path.write_bytes(token_files.llmc_header(GPT2, 1, 4, order=">") + bytes(8))
        with pytest.raises(lt.FormatError, match="big-endian"):
            lt.open(path)

    def test_an_evaluation_file_is_named_as_such(self, path: Path) -> None:
        with pytest.raises(lt.UnsupportedError, match=f"evaluation file .*{EVALUATION}"):
            lt.open(token_files.write_llmc(path, range(10), EVALUATION))


class TestLitpkds:
    @pytest.mark.parametrize("dtype", token_files.CODES)
    def test_the_tokens_are_those_written(self, path: Path, dtype: str) -> None:
        tokens = some_tokens(5000, 128)
        array = lt.open(token_files.write_litpkds(path, tokens, dtype))
        assert (array.dtype, array.shape) == (np.dtype(dtype), (5000,))
        np.testing.assert_array_equal(array.read(), tokens)

    @pytest.mark.parametrize(("count", "message"), [(11, "46 bytes.* has 44, 2 too few"), (9, "42 bytes.* 2 too many")])
    def test_a_wrong_size_says_by_how_much(self, path: Path, count: int, message: str) -> None:
        with pytest.raises(lt.FormatError, match=f"promises {count} tokens of uint16.* {message}"):
            lt.open(token_files.write_litpkds(path, range(10), count=count))

    @pytest.mark.parametrize("count", [2**64 - 1, 2**63, 2**62])
    def test_a_count_that_overflows_is_refused(self, path: Path, count: int) -> None:
        with pytest.raises(lt.FormatError, match=f"{count} tokens"):
            lt.open(token_files.write_litpkds(path, range(10), count=count))

    @pytest.mark.parametrize("code", [6, 7, 9])
    def test_floats_are_not_tokens(self, path: Path, code: int) -> None:
        path.write_bytes(token_files.litpkds_header(1, code, 2) + bytes(16))
        with pytest.raises(lt.UnsupportedError, match=f"dtype code {code} is a float"):
            lt.open(path)

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            (token_files.litpkds_header(1, 42, 2), "dtype code 42; known are"),
            (token_files.litpkds_header(2, 8, 2), "version 2; known is 1"),
            (token_files.litpkds_header(1, 8, 2)[:15], "24 bytes long, the file has 19"),
        ],
        ids=["code", "version", "short"],
    )
    def test_wrong_fields_are_refused(self, path: Path, header: bytes, message: str) -> None:
        path.write_bytes(header + bytes(4))
        with pytest.raises(lt.FormatError, match=message):
            lt.open(path)


class TestWithoutAHeader:
    def test_bare_tokens_need_their_dtype(self, path: Path) -> None:
        tokens = some_tokens(100, 50_257)
        with pytest.raises(lt.FormatError, match='dtype="uint16"'):
            lt.open(token_files.write_nanogpt(path, tokens))
        np.testing.assert_array_equal(lt.open(path, dtype="uint16").read(), tokens)

    def test_olmos_npy_says_that_it_has_no_header(self, tmp_path: Path) -> None:
        path = token_files.write_olmo_npy(tmp_path / "part-0.npy", some_tokens(100, 100_000))
        with pytest.raises(lt.FormatError, match=r"named \.npy, but it has no npy header"):
            lt.open(path)
        assert lt.open(path, dtype="uint32").shape == (100,)

    def test_megatrons_index_says_where_the_tokens_are(self, tmp_path: Path) -> None:
        prefix = token_files.write_megatron(tmp_path / "wiki", [range(5), range(7)])
        with pytest.raises(lt.FormatError, match=r"Megatron's index.* in the \.bin beside it"):
            lt.open(prefix.with_suffix(".idx"))
        assert lt.open(prefix.with_suffix(".bin"), dtype="uint16").read().tolist() == [*range(5), *range(7)]
