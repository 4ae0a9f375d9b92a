"""Token files of every format, written with struct and NumPy from their descriptions; nothing of lowtide is imported.

Each writer returns the path to open.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

GPT2, LLAMA3, EVALUATION = 20240520, 20240801, 20240522
LLMC_DTYPES = {GPT2: "<u2", LLAMA3: "<u4", EVALUATION: "<u2"}
# As Megatron has them; LITPKDS took them over.
CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def write_nanogpt(path: Path, tokens: ArrayLike, dtype: DTypeLike = "uint16") -> Path:
    """Bare tokens, as prepare.py of nanoGPT writes them."""
    np.asarray(tokens).astype(np.dtype(dtype).newbyteorder("<")).tofile(path)
    return path


def write_olmo_npy(path: Path, tokens: ArrayLike, dtype: DTypeLike = "uint32") -> Path:
    """Bare tokens by np.memmap under a name that ends in .npy, as OLMo's tools write them."""
    values = np.asarray(tokens)
    memmap = np.memmap(path, dtype=dtype, mode="w+", shape=values.shape)
    memmap[:] = values
    memmap.flush()
    return path


def llmc_header(magic: int, version: int, count: int, order: str = "<") -> bytes:
    return struct.pack(f"{order}3i", magic, version, count) + bytes(4 * 253)


def write_llmc(path: Path, tokens: ArrayLike, magic: int = GPT2, version: int = 1, count: int | None = None) -> Path:
    """`count` is what the header says, the truth unless given."""
    values = np.asarray(tokens).astype(LLMC_DTYPES[magic])
    path.write_bytes(llmc_header(magic, version, values.size if count is None else count) + values.tobytes())
    return path


def litpkds_header(version: int, code: int, count: int) -> bytes:
    return b"LITPKDS" + struct.pack("<QBQ", version, code, count)


def write_litpkds(path: Path, tokens: ArrayLike, dtype: str = "uint16", count: int | None = None) -> Path:
    values = np.asarray(tokens).astype(np.dtype(dtype).newbyteorder("<"))
    path.write_bytes(litpkds_header(1, CODES[dtype], values.size if count is None else count) + values.tobytes())
    return path


def write_megatron(
    prefix: Path,
    documents: Sequence[ArrayLike],
    dtype: str = "uint16",
    multimodal: bool = False,
    sequences_per_document: int = 1,
) -> Path:
    """prefix.bin and prefix.idx; each document is cut into that many sequences of about the same length."""
    sequences: list[np.ndarray] = []
    bounds = [0]
    for document in documents:
        sequences += np.array_split(np.asarray(document), sequences_per_document)
        bounds.append(len(sequences))
    lengths = np.array([len(sequence) for sequence in sequences], dtype="<i4")
    ends = np.cumsum(lengths, dtype="<i8") * np.dtype(dtype).itemsize
    offsets = np.concatenate([np.zeros(1, "<i8"), ends])[:-1].astype("<i8")
    with open(f"{prefix}.bin", "wb") as file:
        for sequence in sequences:
            file.write(sequence.astype(np.dtype(dtype).newbyteorder("<")).tobytes())
    with open(f"{prefix}.idx", "wb") as file:
        file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, CODES[dtype], len(sequences), len(bounds)))
        file.write(lengths.tobytes() + offsets.tobytes() + np.array(bounds, "<i8").tobytes())
        if multimodal:
            file.write(bytes(i % 2 for i in range(len(sequences))))
    return prefix
