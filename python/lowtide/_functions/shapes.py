"""The same elements in another shape or order; lazy."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from .._expression import as_array, call
from .reductions import Axis, axes_of

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "swapaxes",
    "tile",
]


def extents(shape: Any) -> tuple[int, ...]:
    """A shape from an int or a sequence."""
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(operator.index(n) for n in shape)


def reshape(x: Any, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Array:
    """The elements in C order in another shape, of which one extent may be -1. Lazy.

    >>> lt.reshape(a, (50, -1)).shape
    (50, 8)
    """
    array, wanted = as_array(x), extents(shape)
    if wanted.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(n for n in wanted if n != -1)
    if -1 in wanted and known > 0 and array.size % known == 0:
        wanted = tuple(array.size // known if n == -1 else n for n in wanted)
    if min(wanted, default=0) < 0 or math.prod(wanted) != array.size:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {extents(shape)}".replace(",)", ",)"))
    if copy is True:
        array = _own(array)
    return call("reshape", array, wanted)


def _own(array: Array) -> Array:
    from .creation import asarray

    return asarray(array, copy=True)


def ravel(x: Any, /) -> Array:
    """All elements on one axis, in C order. Lazy.

    >>> lt.ravel(a).shape
    (400,)
    """
    return reshape(x, (-1,)) if as_array(x).size else reshape(x, (0,))


def broadcast_to(x: Any, /, shape: int | Sequence[int]) -> Array:
    """Repeated along axes of extent one, and along new ones in front. Lazy.

    >>> lt.broadcast_to(lt.asarray([1, 2]), (3, 2)).shape
    (3, 2)
    """
    return call("broadcast_to", as_array(x), extents(shape))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that shapes broadcast to.

    >>> lt.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return np.broadcast_shapes(*(tuple(shape) for shape in shapes))


def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """Arrays, all in the shape that they broadcast to. Lazy.

    >>> [x.shape for x in lt.broadcast_arrays(lt.zeros((3, 1)), lt.zeros(4))]
    [(3, 4), (3, 4)]
    """
    given = [as_array(x) for x in arrays]
    shape = broadcast_shapes(*(x.shape for x in given))
    return tuple(broadcast_to(x, shape) for x in given)


def permute_dims(x: Any, /, axes: Sequence[int] | None = None) -> Array:
    """The axes in another order; reversed, if none is given. Lazy.

    >>> lt.permute_dims(lt.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    array = as_array(x)
    return array.transpose() if axes is None else array.transpose(tuple(axes))


def matrix_transpose(x: Any, /) -> Array:
    """Each matrix of the last two axes transposed. Lazy.

    >>> lt.matrix_transpose(lt.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    return as_array(x).mT


def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """Axes moved to other places; the others keep their order. Lazy.

    >>> lt.moveaxis(lt.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    array = as_array(x)
    moved = normalize_axis_tuple(source, array.ndim, "source")
    places = normalize_axis_tuple(destination, array.ndim, "destination")
    if len(moved) != len(places):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(array.ndim) if i not in moved]
    for place, axis in sorted(zip(places, moved, strict=True)):
        order.insert(place, axis)
    return permute_dims(array, order)


def swapaxes(x: Any, axis1: int, axis2: int, /) -> Array:
    """Two axes exchanged. Lazy.

    >>> lt.swapaxes(lt.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    array = as_array(x)
    order = list(range(array.ndim))
    one, other = (normalize_axis_index(axis, array.ndim) for axis in (axis1, axis2))
    order[one], order[other] = order[other], order[one]
    return permute_dims(array, order)


def expand_dims(x: Any, /, axis: int | Sequence[int] = 0) -> Array:
    """New axes of extent one at these places. Lazy.

    >>> lt.expand_dims(a, axis=1).shape
    (100, 1, 4)
    """
    array = as_array(x)
    count = 1 if isinstance(axis, int) else len(tuple(axis))
    places = normalize_axis_tuple(axis, array.ndim + count)
    return array[tuple(None if i in places else slice(None) for i in range(array.ndim + count))]


def squeeze(x: Any, /, axis: Axis = None) -> Array:
    """Without these axes of extent one, or without all such. Lazy.

    >>> lt.squeeze(lt.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    array = as_array(x)
    gone = [i for i, n in enumerate(array.shape) if n == 1] if axis is None else axes_of(axis, array.ndim)
    if any(array.shape[i] != 1 for i in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return array[tuple(0 if i in gone else slice(None) for i in range(array.ndim))]


def flip(x: Any, /, axis: Axis = None) -> Array:
    """Backwards along these axes, or along all. Lazy.

    >>> lt.flip(lt.asarray([1, 2, 3])).compute().tolist()
    [3, 2, 1]
    """
    array = as_array(x)
    back = axes_of(axis, array.ndim)
    return array[tuple(slice(None, None, -1) if i in back else slice(None) for i in range(array.ndim))]


def roll(x: Any, /, shift: int | Sequence[int], axis: Axis = None) -> Array:
    """Moved along axes, what leaves at the end coming in at the front. Lazy.

    >>> lt.roll(lt.asarray([1, 2, 3]), 1).compute().tolist()
    [3, 1, 2]
    """
    array = as_array(x)
    if axis is None:
        if not isinstance(shift, int):
            raise ValueError("'shift' must be an int where no axis is given")
        return reshape(roll(ravel(array), shift, 0), array.shape)
    axes = [axis] if isinstance(axis, int) else list(axis)
    shifts = [shift] * len(axes) if isinstance(shift, int) else list(shift)
    if len(axes) == 1 and len(shifts) > 1:
        axes *= len(shifts)
    if len(axes) != len(shifts):
        raise ValueError("'shift' and 'axis' must be of the same length")
    for place, by in zip((normalize_axis_index(i, array.ndim) for i in axes), shifts, strict=True):
        if array.shape[place] and (split := -operator.index(by) % array.shape[place]):
            before = (slice(None),) * place
            parts = [array[(*before, slice(split, None))], array[(*before, slice(None, split))]]
            array = call("concat", parts, place)
    return array


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Array:
    """Each element some times, or as many as an array says. Lazy.

    >>> lt.repeat(lt.asarray([1, 2]), 2).compute().tolist()
    [1, 1, 2, 2]
    """
    array = as_array(x)
    if axis is None:
        array, axis = ravel(array), 0
    place = normalize_axis_index(axis, array.ndim)
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu":
        raise TypeError("Cannot cast array data to integers according to the rule 'safe'")
    if counts.size != 1:
        where = np.repeat(np.arange(array.shape[place]), counts)
        return array[(slice(None),) * place + (where,)]
    times = int(counts.reshape(()))
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    shape = array.shape
    spread = broadcast_to(expand_dims(array, place + 1), (*shape[: place + 1], times, *shape[place + 1 :]))
    return reshape(spread, (*shape[:place], shape[place] * times, *shape[place + 1 :]))


def tile(x: Any, repetitions: int | Sequence[int], /) -> Array:
    """Copies side by side, as many along each axis as said. Lazy.

    >>> lt.tile(lt.asarray([1, 2]), (2, 2)).compute().tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    array, times = as_array(x), extents(repetitions)
    ndim = max(array.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - array.ndim) + array.shape
    apart = [n for extent in shape for n in (1, extent)]
    spread = [n for pair in zip(times, shape, strict=True) for n in pair]
    together = tuple(count * extent for count, extent in zip(times, shape, strict=True))
    return reshape(broadcast_to(reshape(array, apart), spread), together)
