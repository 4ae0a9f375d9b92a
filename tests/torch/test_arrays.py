"""Arrays and maps as PyTorch takes them: at once, in the memory of the result."""

from __future__ import annotations

import numpy as np
import pytest
from fixture_types import File

import lowtide as lt

pytest.importorskip("torch.nn")  # `torch` alone finds this folder where PyTorch is not installed
import torch


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")  # as of an np.memmap in mode "r"
@pytest.mark.parametrize("convert", [torch.as_tensor, torch.asarray, torch.from_dlpack])
def test_a_tensor_has_the_elements_and_their_lease(raw: File, convert: object) -> None:
    expected = np.arange(1 << 20, dtype=np.float32)
    path = raw(expected)
    for source in (lt.open(path, dtype="f4"), lt.memmap(path, "f4", "r")):
        tensor = convert(source)
        assert tensor.dtype == torch.float32
        assert np.array_equal(tensor.numpy(), expected)
        assert lt.usage().by_purpose["results"] >= expected.nbytes
        del tensor


def test_an_int64_slice_is_what_from_numpy_takes(raw: File) -> None:
    mapped = lt.memmap(raw(np.arange(100)), "i8", "r")
    assert torch.from_numpy(mapped[[3, 4]]).dtype == torch.int64
    assert torch.from_numpy(mapped[10:20].astype(np.int64)).sum() == sum(range(10, 20))
