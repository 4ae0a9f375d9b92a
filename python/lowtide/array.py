"""lt.Array: elements in a file, in memory or yet to be computed; lazy to index and to compute with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from . import _core, _dtypes, _shown
from ._arithmetic import Arithmetic
from ._dispatch import Dispatching
from ._identity import Opened
from ._index import keep, normalise
from ._methods import Methods
from ._on_disk import OnDisk
from ._plan import Plan
from ._recipe import FromFile, InMemory, Made, Recipe, read_again, written
from ._types import DTypeLike, Index
from .budget import pickled

_NOTHING = slice(0, 0, None)
_MOST_STEPS = 16  # a longer chain of views is kept as what it comes to


class Array(OnDisk, Arithmetic, Methods, Dispatching):
    """An array in a file, or what is computed of some. Indexing and arithmetic give another Array and read nothing;
    ``compute``, ``read``, ``blocks`` and ``lt.save`` do, within the budget.

    >>> a = lt.open(path)
    >>> a[10:20, ::-1].shape
    (10, 4)
    >>> a.read([0, -1]).shape
    (2, 4)
    >>> ((a - a.mean(axis=0)) ** 2).sum().item() == 5332800.0
    True
    """

    __slots__ = ("__weakref__", "_core", "_recipe")
    __array_priority__ = 1000

    def __init__(self, core: _core.Array, recipe: Recipe) -> None:
        self._core = core
        self._recipe = recipe  # how to make it again in another process

    @classmethod
    def _of_file(cls, core: _core.Array, opened: Opened) -> Array:
        return cls(core, FromFile(core, opened))

    @property
    def path(self) -> str:
        """The file; what is computed has none."""
        return self._core.path

    @property
    def device(self) -> str:
        """Where results are: always ``"cpu"``."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        """The array itself, for ``"cpu"``."""
        if device != "cpu" or stream is not None:
            raise ValueError(f'an lt.Array is on "cpu", without streams: it cannot go to {device!r}')
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        if api_version not in (None, *_shown.API_VERSIONS):
            raise ValueError(f"lowtide follows the array API of {', '.join(_shown.API_VERSIONS)}, not {api_version!r}")
        return sys.modules[__package__]

    @property
    def T(self) -> Array:
        """The transposed view."""
        return self.transpose()

    @property
    def mT(self) -> Array:
        """Each matrix of the last two axes transposed."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.transpose(*range(self.ndim - 2), self.ndim - 1, self.ndim - 2)

    def transpose(self, *axes: Any) -> Array:
        """A view with the axes permuted, or reversed when none are given."""
        if not axes or axes == (None,):
            return self._then("transpose", list(range(self.ndim))[::-1])
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        if len(order) != self.ndim:
            raise ValueError("axes don't match array")
        return self._then("transpose", list(normalize_axis_tuple(order, self.ndim)))

    def __getitem__(self, index: Index) -> Array:
        if type(index) is tuple and "dask.array" in sys.modules and _asks_for_nothing(index, self.ndim):
            return cast("Array", np.empty((0,) * self.ndim, self.dtype))  # Dask asks of what kind its blocks will be
        return self._then("index", normalise(index))

    def _then(self, method: str, argument: Any) -> Array:
        core = getattr(self._core, method)(argument)
        if not isinstance(self._recipe, FromFile):
            kept = keep(argument)
            return Array(core, Made(method, None if kept is None else (self._recipe, kept)))
        steps, opened = self._recipe.steps, self._recipe.opened
        if steps is not None and len(steps) >= _MOST_STEPS and (view := core.view()) is not None:
            return Array(core, FromFile(core, opened, (("with_view", view),)))
        kept = None if steps is None else keep(argument)
        return Array(core, FromFile(core, opened, None if kept is None or steps is None else (*steps, (method, kept))))

    def __setitem__(self, index: Index, values: Any) -> None:
        from ._in_place import assign

        assign(self, index, values)

    def __reduce__(self) -> Any:
        return pickled(_made_again, written(self._recipe))

    def __dask_tokenize__(self) -> Any:
        return written(self._recipe)

    def __copy__(self) -> Array:
        return Array(self._core, self._recipe)

    def __deepcopy__(self, memo: Any) -> Array:
        return self.__copy__()

    def read(self, index: Index = Ellipsis) -> np.ndarray[Any, Any]:
        """Read a selection now: the same as ``a[index].compute()``, in one batch of IO.

        >>> a.read(slice(0, 2)).shape
        (2, 4)
        """
        if type(index) is tuple and (element := self._core.element(index)) is not None:
            return _dtypes.as_result(np.asarray(element), self._core.dtype)
        return _dtypes.as_result(self._core.read_at(normalise(index)), self._core.dtype)

    def compute(self) -> np.ndarray[Any, Any]:
        """All elements as an ndarray. Its bytes count against the budget until it is garbage collected.

        Raises BudgetError, before anything is read, if they do not fit.

        >>> (a * 2).compute()[:2, 0].tolist()
        [0.0, 8.0]
        """
        return self.to_numpy()

    def explain(self) -> Plan:
        """What computing it would take: budget, bytes, and the passes over the inputs. Computes nothing.

        >>> a.sum(axis=0).explain().read_bytes
        3200
        """
        return Plan.of([self._core])

    def item(self, *index: int) -> Any:
        """The one element, or that at a flat or full index, as a Python scalar."""
        if not index:
            return self._only()
        place = np.unravel_index(int(index[0]), self.shape) if len(index) == 1 and self.ndim != 1 else index
        return self.read(tuple(int(i) for i in place)).item()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a lazy array cannot be seen as an ndarray without a copy")
        array = self.compute()
        return array if dtype is None or array.dtype == dtype else _dtypes.leased_cast(array, dtype)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        options: dict[str, Any] = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
        if copy is False and isinstance(self._recipe, InMemory) and self._recipe.array.dtype == self.dtype:
            return np.asarray(self._recipe.array).__dlpack__(**options, copy=False)
        kept = copy if self._core.is_file else None  # what is computed is new, and nobody else's
        return super().__dlpack__(**options, copy=kept)

    def __iter__(self) -> Iterator[np.ndarray[Any, Any]]:
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        for _, block in self.blocks():
            yield from block  # a row keeps its block, and with it the block's lease

    def _facts(self) -> list[tuple[str, str]]:
        return _shown.facts(self)

    def __repr__(self) -> str:
        return _shown.text(self)

    def _repr_html_(self) -> str:
        return _shown.html(self)


def _asks_for_nothing(index: tuple[Any, ...], ndim: int) -> bool:
    return len(index) == ndim > 0 and all(type(item) is slice and item == _NOTHING for item in index)


def _made_again(entries: list[Any]) -> Array:
    """An array in another process."""
    return Array(*read_again(entries)[-1])
