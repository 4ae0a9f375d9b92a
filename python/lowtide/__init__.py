"""lowtide: arrays larger than memory, under a memory budget that is enforced.

>>> import lowtide as lt
>>> previous = lt.set_budget("512MiB")
>>> a = lt.open(path)
>>> rows = a.read([3, 1, 2])
"""

from typing import Any

from .array import Array  # first: the others are made of it

# isort: split
from . import _constants, _functions
from . import errors as errors
from . import linalg as linalg
from . import random as random
from ._constants import *
from ._core import version as __version__
from ._functions import *
from ._in_place import update
from ._loader import LoaderStats
from ._missing import NAMESPACE as _NAMESPACE
from ._missing import refusal as _refusal
from ._shown import API_VERSIONS as _API_VERSIONS
from .budget import Usage, budget, info, reset_peak, set_budget, usage
from .errors import BudgetError, CancelledError, DataChangedError, Error, FormatError, IoError, UnsupportedError
from .files import Writer, create, open, save
from .guard import Guard, guard, release
from .memmap import memmap
from .mixture import Mixture
from .permutation import Permutation
from .row_loader import Records, RowLoader, ShuffleReport
from .token_loader import DocumentBatch, TokenLoader

__array_api_version__ = _API_VERSIONS[-1]

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
    "__array_api_version__",
    "__version__",
    "budget",
    "create",
    "guard",
    "info",
    "linalg",
    "memmap",
    "open",
    "random",
    "release",
    "reset_peak",
    "save",
    "set_budget",
    "update",
    "usage",
]
__all__ += _constants.__all__
__all__ += _functions.__all__


def __getattr__(name: str) -> Any:
    # `import lowtide` must not cost `import torch`, nor the doctor.
    if name in ("torch", "doctor"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name in _NAMESPACE:
        raise _refusal(f"lt.{name}", "lowtide", _NAMESPACE[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
