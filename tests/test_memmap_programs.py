"""Loops that read training data through np.memmap, written as their programs do, with the one word changed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide as lt


@pytest.fixture
def tokens() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 50_000, 40_000).astype(np.uint16)


def _nanogpt_batches(memmap: Any, path: Path, block: int, batch: int, steps: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(1)
    for _ in range(steps):
        data = memmap(path, dtype=np.uint16, mode="r")  # made again for each batch, as get_batch does
        at = rng.integers(0, len(data) - block, batch)
        yield np.stack([data[i : i + block].astype(np.int64) for i in at])
        yield np.stack([data[i + 1 : i + 1 + block].astype(np.int64) for i in at])


def test_nanogpt_gets_the_same_batches(tokens: np.ndarray, tmp_path: Path) -> None:
    tokens.tofile(tmp_path / "train.bin")
    ours = _nanogpt_batches(lt.memmap, tmp_path / "train.bin", 64, 8, 10)
    theirs = _nanogpt_batches(np.memmap, tmp_path / "train.bin", 64, 8, 10)
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


class _MegatronReader:
    """The index is a header and three arrays behind one another, seen through one buffer; the tokens are in another."""

    def __init__(self, memmap: Any, prefix: Path) -> None:
        self.index = memoryview(memmap(f"{prefix}.idx", mode="r", order="C"))
        assert bytes(self.index[:9]) == b"MMIDIDX\x00\x00"
        count, documents = struct.unpack("<QQ", self.index[18:34])
        self.lengths = np.frombuffer(self.index, np.int32, count, 34)
        self.pointers = np.frombuffer(self.index, np.int64, count, 34 + self.lengths.nbytes)
        at = 34 + self.lengths.nbytes + self.pointers.nbytes
        self.documents = np.frombuffer(self.index, np.int64, documents, at)
        self.bin_map = memmap(f"{prefix}.bin", mode="r", order="C")
        self.bin = memoryview(self.bin_map)

    def __getitem__(self, i: int) -> np.ndarray:
        return np.frombuffer(self.bin, np.uint16, int(self.lengths[i]), int(self.pointers[i]))


def test_megatrons_reader_gets_the_same_documents(tokens: np.ndarray, tmp_path: Path) -> None:
    lengths = np.diff([0, *np.sort(np.random.default_rng(2).choice(np.arange(1, 40_000), 99, False)), 40_000])
    pointers = 2 * np.concatenate([[0], np.cumsum(lengths)[:-1]])
    header = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, 100, 101)
    parts = (lengths.astype("i4"), pointers.astype("i8"), np.arange(101, dtype="i8"))
    (tmp_path / "corpus.idx").write_bytes(header + b"".join(part.tobytes() for part in parts))
    tokens.tofile(tmp_path / "corpus.bin")
    ours, theirs = (_MegatronReader(memmap, tmp_path / "corpus") for memmap in (lt.memmap, np.memmap))
    np.testing.assert_array_equal(ours.documents, theirs.documents, strict=True)
    for i in (0, 7, 99):
        np.testing.assert_array_equal(ours[i], theirs[i], strict=True)


def _tinyllama_blocks(memmap: Any, paths: list[Path], block: int) -> Iterator[np.ndarray]:
    for path in paths:
        header = 24
        mapped = memmap(str(path), mode="r", order="C", offset=header)
        buffer = memoryview(mapped)
        for at in range(0, len(buffer) - 2 * block + 1, 2 * block):
            yield np.frombuffer(buffer, dtype=np.uint16, count=block, offset=at).astype(np.int64)
        del buffer, mapped


def test_tinyllamas_reader_gets_the_same_blocks(tokens: np.ndarray, tmp_path: Path) -> None:
    header = b"LITPKDS" + struct.pack("<QBQ", 1, 8, 10_000)
    paths = [tmp_path / f"train_{i}.bin" for i in range(4)]
    for i, path in enumerate(paths):
        path.write_bytes(header + tokens[10_000 * i : 10_000 * (i + 1)].tobytes())
    ours, theirs = (_tinyllama_blocks(memmap, paths, 256) for memmap in (lt.memmap, np.memmap))
    for x, y in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


def test_a_split_of_more_than_the_budget_trains_on(tokens: np.ndarray, tmp_path: Path) -> None:
    many = np.tile(tokens, 60)
    many.tofile(tmp_path / "all.bin")
    with lt.budget("4MiB"):
        data = lt.memmap(tmp_path / "all.bin", dtype=np.uint16, mode="r")
        train = data[: int(0.9 * len(data))]
        rng = np.random.default_rng(3)
        for i in rng.integers(0, len(train) - 64, 50):
            np.testing.assert_array_equal(train[i : i + 64], many[i : i + 64], strict=True)
