"""lowtide: arrays larger than memory, under a memory budget that is enforced.

>>> import lowtide as lt
>>> previous = lt.set_budget("512MiB")
>>> a = lt.open(path)
>>> rows = a.read([3, 1, 2])
"""

from . import errors as errors
from ._core import version as __version__
from .array import Array
from .budget import Usage, budget, info, reset_peak, set_budget, usage
from .errors import BudgetError, CancelledError, DataChangedError, Error, FormatError, IoError, UnsupportedError
from .files import Writer, create, open, save
from .memmap import Guard, guard, memmap, release

__all__ = [
    "Array",
    "BudgetError",
    "CancelledError",
    "DataChangedError",
    "Error",
    "FormatError",
    "Guard",
    "IoError",
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
