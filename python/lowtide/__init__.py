"""lowtide: arrays larger than memory, under a memory budget that is enforced.

>>> import lowtide as lt
>>> previous = lt.set_budget("512MiB")
>>> a = lt.open(path)
>>> rows = a.read([3, 1, 2])
"""

from typing import Any

from . import errors as errors
from ._core import version as __version__
from ._loader import LoaderStats
from .array import Array
from .budget import Usage, budget, info, reset_peak, set_budget, usage
from .errors import BudgetError, CancelledError, DataChangedError, Error, FormatError, IoError, UnsupportedError
from .files import Writer, create, open, save
from .memmap import Guard, guard, memmap, release
from .mixture import Mixture
from .permutation import Permutation
from .row_loader import Records, RowLoader, ShuffleReport
from .token_loader import DocumentBatch, TokenLoader

__all__ = [
    "Array",
    "BudgetError",
    "CancelledError",
    "DataChangedError",
    "DocumentBatch",
    "Error",
    "FormatError",
    "Guard",
    "IoError",
    "LoaderStats",
    "Mixture",
    "Permutation",
    "Records",
    "RowLoader",
    "ShuffleReport",
    "TokenLoader",
    "UnsupportedError",
    "Usage",
    "Writer",
    "__version__",
    "budget",
    "create",
    "guard",
    "info",
    "memmap",
    "open",
    "release",
    "reset_peak",
    "save",
    "set_budget",
    "usage",
]


def __getattr__(name: str) -> Any:
    # `import lowtide` must not cost `import torch`.
    if name == "torch":
        from importlib import import_module

        return import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
