"""Tokens come out as what was written: their width, byte order and sign are told from the content, or given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lowtide as lt


def first_tokens(loader: lt.TokenLoader) -> list[int]:
    with loader:
        x, y = next(iter(loader))
    return [*x.ravel()[:1].tolist(), *y.ravel().tolist()]


def ids(low: int, high: int, dtype: str, count: int = 6000) -> np.ndarray:
    return np.random.default_rng(0).integers(low, high, count).astype(dtype)


@pytest.mark.parametrize("dtype", [">u2", ">u4", ">i4", "<u4", "u1"])
def test_a_given_dtype_keeps_its_byte_order(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "t.bin"
    data = ids(0, 200, dtype)
    data.tofile(path)
    loader = lt.TokenLoader(path, 99, 1, shuffle=False, token_dtype=dtype)
    assert first_tokens(loader) == data[:100].tolist()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (ids(0, 128_256, "u4"), "uint32"),
        (ids(1 << 20, 1 << 21, "u4"), "uint32"),
        (ids(0, 16, "u4"), "uint32"),
        (np.where(ids(0, 4, "i4") == 0, -100, ids(0, 50_000, "i4")).astype("i4"), "int32"),
        (np.concatenate([np.zeros(2048, "u4"), ids(0, 50_000, "u4")]), "uint32"),
        (np.concatenate([np.full(2048, 50_256, "u2"), ids(0, 50_000, "u2")]), "uint16"),
        (ids(0, 65, "u2"), "uint16"),
    ],
    ids=["llama", "large ids", "small ids", "marks below zero", "padding first", "uint16 padding", "characters"],
)
def test_bare_tokens_are_told_from_their_content(tmp_path: Path, data: np.ndarray, expected: str) -> None:
    path = tmp_path / "t.bin"
    data.tofile(path)
    loader = lt.TokenLoader(path, 99, 1, shuffle=False)
    assert loader.token_dtype == expected
    assert first_tokens(loader) == data[:100].tolist()


def test_a_vocabulary_beyond_16_bits_decides_where_the_content_does_not(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    np.zeros(5000, "u4").tofile(path)
    assert lt.TokenLoader(path, 9, 1, vocab=128_256).tokens == 5000
    assert lt.TokenLoader(path, 9, 1).tokens == 10_000


def test_shards_of_padding_take_the_dtype_of_the_others(tmp_path: Path) -> None:
    np.zeros(3000, "u4").tofile(tmp_path / "a.bin")
    ids(0, 50_000, "u4").tofile(tmp_path / "b.bin")
    assert lt.TokenLoader(tmp_path / "*.bin", 9, 1).tokens == 9000


def test_big_endian_tokens_that_nobody_announced_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    ids(0, 50_000, ">u4").tofile(path)
    with pytest.raises(lt.FormatError, match='token_dtype=">u4"'):
        lt.TokenLoader(path, 9, 1)


def test_marks_below_zero_beyond_what_was_looked_at_are_an_error_and_not_4294967196(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    data = ids(0, 50_000, "i4")
    data[5000] = -100
    data.tofile(path)
    with pytest.raises(lt.FormatError, match='token_dtype="int32"'):
        for _ in lt.TokenLoader(path, 99, 8, epochs=1):
            pass
    assert lt.TokenLoader(path, 5999, 1, token_dtype="int32").sample()[1].min() == -100


@pytest.mark.parametrize("pack", [False, True])
def test_a_document_end_that_no_token_can_be_is_refused(tmp_path: Path, pack: bool) -> None:
    path = tmp_path / "t.bin"
    ids(0, 50_000, "u2").tofile(path)
    with pytest.raises(ValueError, match=r"documents=70000: no token.*uint16.*token_dtype"):
        lt.TokenLoader(path, 9, 1, documents=70_000, pack=pack)
    with pytest.raises(ValueError, match=r"documents=50257: .* vocabulary of 50257"):
        lt.TokenLoader(path, 9, 1, documents=50_257, vocab=50_257, pack=pack)
    ids(0, 50_000, "u4").tofile(path)
    with pytest.raises(ValueError, match=r"documents=70000: .* batches of uint16"):
        lt.TokenLoader(path, 9, 1, documents=70_000, dtype="uint16", pack=pack)


def test_padding_that_the_batches_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    ids(0, 50_000, "u2").tofile(path)
    for dtype, pad in (("uint16", -100), ("uint16", 65_536), ("int32", 1 << 31)):
        with pytest.raises(ValueError, match=f"pad={pad} does not fit batches of {dtype}"):
            lt.TokenLoader(path, 9, 1, documents=0, pack=True, pad=pad, dtype=dtype)


def test_ignore_index_is_y_wherever_the_mask_is_false(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    np.array([5, 6, 0, 7, 0, 8, 9, 3, 0], "u2").tofile(path)
    options = {"documents": 0, "pack": True, "token_dtype": "u2", "shuffle": False, "pad": 1}
    plain = next(iter(lt.TokenLoader(path, 15, 1, **options)))
    marked = next(iter(lt.TokenLoader(path, 15, 1, ignore_index=-100, **options)))
    assert (marked.x == plain.x).all()
    assert (marked.y == np.where(plain.mask, plain.y, -100)).all()
    assert (~plain.mask).sum() > 6
    with pytest.raises(ValueError, match="documents="):
        lt.TokenLoader(path, 5, 1, token_dtype="u2", ignore_index=-100)
