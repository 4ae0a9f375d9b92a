"""Tensors are operands, without a copy."""

from __future__ import annotations

import numpy as np
import torch

import lowtide as lt


def test_tensors_become_arrays_and_operands() -> None:
    tensor = torch.arange(6.0).reshape(2, 3)
    array = lt.asarray(tensor)
    tensor[0, 0] = 10.0
    assert array.sum().item() == 25.0
    np.testing.assert_array_equal((array + tensor).compute(), (tensor + tensor).numpy(), strict=True)
    assert isinstance(tensor + array, lt.Array)


def test_bfloat16_is_taken_as_it_is() -> None:
    array = lt.asarray(torch.tensor([1.5, -2.0], dtype=torch.bfloat16))
    assert array.astype("float32").compute().tolist() == [1.5, -2.0]


def test_what_is_computed_becomes_a_tensor() -> None:
    assert torch.from_dlpack(lt.arange(3) * 2).tolist() == [0, 2, 4]
