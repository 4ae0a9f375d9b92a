"""xarray opens what lowtide opens, lazily: ``xr.open_dataset("x.npy", engine="lowtide")``.

A variable is read when its values are wanted, and only the part that was selected, within the budget.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from .array import Array
from .files import open as open_array


class _Variable(BackendArray):  # type: ignore[misc]
    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: Any) -> Any:
        support = indexing.IndexingSupport.OUTER_1VECTOR
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: Any) -> np.ndarray[Any, Any]:
        return self.array.read(key)


class LowtideBackend(BackendEntrypoint):  # type: ignore[misc]
    """The backend that xarray finds under the name "lowtide"."""

    description = "Open .npy and raw array files under lowtide's memory budget"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "name", "dims", "dtype", "shape", "offset", "order")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        name: str = "data",
        dims: Sequence[str] | None = None,
        dtype: Any = None,
        shape: int | Sequence[int] | None = None,
        offset: int = 0,
        order: Any = None,
    ) -> xr.Dataset:
        """One variable, ``name``, with the axes ``dims`` (by default ``dim_0``, ``dim_1`` …)."""
        array = open_array(filename_or_obj, dtype=dtype, shape=shape, offset=offset, order=order)
        axes = [f"dim_{i}" for i in range(array.ndim)] if dims is None else list(dims)
        dropped = [drop_variables] if isinstance(drop_variables, str) else list(drop_variables or ())
        data = indexing.LazilyIndexedArray(_Variable(array))
        return xr.Dataset({} if name in dropped else {name: xr.Variable(axes, data)})

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether ``engine="lowtide"`` may be left out."""
        return isinstance(filename_or_obj, str | os.PathLike) and os.fspath(filename_or_obj).endswith(".npy")
