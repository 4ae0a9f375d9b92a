"""Small batches as one: what a mixture of samples hands over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _dtypes, _loader
from .row_loader import Records
from .token_loader import DocumentBatch


def joined(parts: Sequence[Any]) -> Any:
    """Batches of the same structure, one below the other, in memory that the budget pays for.

    >>> from lowtide._join import joined
    >>> joined([(np.zeros((1, 2)), np.ones(1)), (np.ones((2, 2)), np.ones(2))])[0].shape
    (3, 2)
    """
    first = parts[0]
    if isinstance(first, Records):
        return Records(joined([part.values for part in parts]), _bounds([part.offsets for part in parts]))
    if isinstance(first, DocumentBatch):
        x, y, positions, mask = joined([(part.x, part.y, part.positions, part.mask) for part in parts])
        bounds = _bounds([part.cu_seqlens for part in parts])
        return DocumentBatch(x, y, positions, bounds, mask, max(part.max_seqlen for part in parts))
    if isinstance(first, dict):
        return {name: joined([part[name] for part in parts]) for name in first}
    if isinstance(first, tuple | list):
        columns = [joined([part[i] for part in parts]) for i in range(len(first))]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    if isinstance(first, np.ndarray):
        return _below(parts)
    if hasattr(first, "numpy"):
        return _tensor(parts)
    raise TypeError(f'{type(first).__name__} cannot be mixed sample by sample: use lt.Mixture(…, by="batch")')


def _below(arrays: Sequence[Any]) -> Any:
    first = arrays[0]
    name, _ = _dtypes.core_name(first.dtype)
    whole = _dtypes.as_result(_core.empty((sum(len(part) for part in arrays), *first.shape[1:]), name), name)
    at = 0
    for part in arrays:
        whole[at : at + len(part)] = part
        at += len(part)
    return whole


def _tensor(tensors: Sequence[Any]) -> Any:
    torch = _loader.import_torch()
    dtype = tensors[0].dtype
    if dtype == torch.bfloat16:
        return torch.from_numpy(_below([part.view(torch.int16).numpy() for part in tensors])).view(dtype)
    return torch.from_numpy(_below([part.numpy() for part in tensors]))


def _bounds(parts: Sequence[Any]) -> Any:
    """Bounds from 0 on: each part's begin where those of the part before end."""
    torch_like = hasattr(parts[0], "numpy")
    arrays = [part.numpy() if torch_like else part for part in parts]
    moved, end = [arrays[0][:1]], 0
    for array in arrays:
        moved.append(array[1:] + array.dtype.type(end))
        end += int(array[-1])
    whole = _below(moved)
    return _loader.import_torch().from_numpy(whole) if torch_like else whole
