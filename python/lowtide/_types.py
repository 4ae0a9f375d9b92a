"""What people pass in, by name: for annotations, so that an editor offers the words that are accepted."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, Literal, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

PathLike: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Progress: TypeAlias = bool | Callable[[int, int], None] | None
Order: TypeAlias = Literal["C", "F"]
Format: TypeAlias = Literal["npy", "raw"]
Like: TypeAlias = Literal["numpy", "torch"]
DTypeLike: TypeAlias = npt.DTypeLike
Values: TypeAlias = npt.ArrayLike
Integers: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]]
OneIndex: TypeAlias = SupportsIndex | slice | EllipsisType | Integers | Sequence[bool] | npt.NDArray[np.bool_] | None
Index: TypeAlias = OneIndex | tuple[OneIndex, ...]
