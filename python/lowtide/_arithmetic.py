"""The operators of an array: lazy, by the rules of NumPy 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._expression import elementwise, is_operand

if TYPE_CHECKING:
    from .array import Array


def _binary(name: str) -> tuple[Callable[[Any, Any], Array], Callable[[Any, Any], Array]]:
    def apply(self: Any, other: Any) -> Array:
        return elementwise(name, self, other) if is_operand(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Array:
        return elementwise(name, other, self) if is_operand(other) else NotImplemented

    return apply, reflected


def _in_place(name: str) -> Callable[[Any, Any], Array]:
    def apply(self: Any, other: Any) -> Array:
        from ._in_place import augmented

        return augmented(self, name, other) if is_operand(other) else NotImplemented

    return apply


def _unary(name: str) -> Callable[[Any], Array]:
    def apply(self: Any) -> Array:
        return elementwise(name, self)

    return apply


class Arithmetic:
    """Operators. An array is hashed by its identity, since comparing gives an array."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__, _ = _binary("equal")  # type: ignore[assignment]
    __ne__, _ = _binary("not_equal")  # type: ignore[assignment]
    __lt__, __gt__ = _binary("less")[0], _binary("greater")[0]
    __le__, __ge__ = _binary("less_equal")[0], _binary("greater_equal")[0]
    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("remainder")
    __pow__, __rpow__ = _binary("pow")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__ = _binary("bitwise_left_shift")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift")
    __iadd__, __isub__, __imul__ = map(_in_place, ("add", "subtract", "multiply"))
    __itruediv__, __ifloordiv__, __imod__ = map(_in_place, ("divide", "floor_divide", "remainder"))
    __ipow__, __imatmul__ = map(_in_place, ("pow", "matmul"))
    __iand__, __ior__, __ixor__ = map(_in_place, ("bitwise_and", "bitwise_or", "bitwise_xor"))
    __ilshift__, __irshift__ = map(_in_place, ("bitwise_left_shift", "bitwise_right_shift"))
    __neg__, __pos__, __abs__ = map(_unary, ("negative", "positive", "abs"))
    __invert__ = _unary("bitwise_invert")

    def __divmod__(self, other: Any) -> tuple[Array, Array]:
        return (self // other, self % other) if is_operand(other) else NotImplemented

    def __rdivmod__(self, other: Any) -> tuple[Array, Array]:
        return (other // self, other % self) if is_operand(other) else NotImplemented

    def __matmul__(self, other: Any) -> Array:
        from ._functions.linear import matmul

        return matmul(self, other) if is_operand(other) else NotImplemented

    def __rmatmul__(self, other: Any) -> Array:
        from ._functions.linear import matmul

        return matmul(other, self) if is_operand(other) else NotImplemented
