"""Functions of each element: of the array API, and those of NumPy's that people type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._expression import as_array, call, elementwise, operand

if TYPE_CHECKING:
    from ..array import Array

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "imag",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "nan_to_num",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "rad2deg",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "spacing",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]


def _unary(name: str, says: str, example: str) -> Callable[[Any], Array]:
    def function(x: Any, /) -> Array:
        return elementwise(name, x)

    return _named(function, name, says, example)


def _binary(name: str, says: str, example: str) -> Callable[[Any, Any], Array]:
    def function(x1: Any, x2: Any, /) -> Array:
        return elementwise(name, x1, x2)

    return _named(function, name, says, example)


def _named(function: Callable[..., Array], name: str, says: str, example: str) -> Callable[..., Array]:
    call_of, _, shown = example.partition(" = ")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{says} Lazy.\n\n    >>> lt.{name}({call_of}).compute().tolist()\n    {shown}\n    "
    return function


abs = _unary("abs", "Absolute values.", "lt.asarray([-2, 3]) = [2, 3]")
acos = _unary("acos", "Arc cosines.", "lt.asarray([1.0]) = [0.0]")
acosh = _unary("acosh", "Inverse hyperbolic cosines.", "lt.asarray([1.0]) = [0.0]")
asin = _unary("asin", "Arc sines.", "lt.asarray([0.0]) = [0.0]")
asinh = _unary("asinh", "Inverse hyperbolic sines.", "lt.asarray([0.0]) = [0.0]")
atan = _unary("atan", "Arc tangents.", "lt.asarray([0.0]) = [0.0]")
atanh = _unary("atanh", "Inverse hyperbolic tangents.", "lt.asarray([0.0]) = [0.0]")
bitwise_count = _unary("bitwise_count", "How many bits are set.", "lt.asarray([0, 7]) = [0, 3]")
bitwise_invert = _unary("bitwise_invert", "All bits inverted.", "lt.asarray([0, 5]) = [-1, -6]")
cbrt = _unary("cbrt", "Cube roots.", "lt.asarray([0.0, 8.0]) = [0.0, 2.0]")
ceil = _unary("ceil", "The integers above.", "lt.asarray([0.5, -0.5]) = [1.0, -0.0]")
conj = _unary("conj", "Complex conjugates.", "lt.asarray([1 + 2j]) = [(1-2j)]")
cos = _unary("cos", "Cosines.", "lt.asarray([0.0]) = [1.0]")
cosh = _unary("cosh", "Hyperbolic cosines.", "lt.asarray([0.0]) = [1.0]")
deg2rad = _unary("deg2rad", "Degrees as radians.", "lt.asarray([0.0]) = [0.0]")
exp = _unary("exp", "Exponentials.", "lt.asarray([0.0]) = [1.0]")
exp2 = _unary("exp2", "Powers of two.", "lt.asarray([3.0]) = [8.0]")
expm1 = _unary("expm1", "exp(x) - 1.", "lt.asarray([0.0]) = [0.0]")
floor = _unary("floor", "The integers below.", "lt.asarray([0.5, -0.5]) = [0.0, -1.0]")
imag = _unary("imag", "Imaginary parts.", "lt.asarray([1 + 2j]) = [2.0]")
isfinite = _unary("isfinite", "Neither infinite nor NaN.", "lt.asarray([1.0, lt.inf]) = [True, False]")
isinf = _unary("isinf", "Infinite.", "lt.asarray([1.0, lt.inf]) = [False, True]")
isnan = _unary("isnan", "Not a number.", "lt.asarray([1.0, lt.nan]) = [False, True]")
log = _unary("log", "Natural logarithms.", "lt.asarray([1.0]) = [0.0]")
log10 = _unary("log10", "Logarithms to base ten.", "lt.asarray([100.0]) = [2.0]")
log1p = _unary("log1p", "log(1 + x).", "lt.asarray([0.0]) = [0.0]")
log2 = _unary("log2", "Logarithms to base two.", "lt.asarray([8.0]) = [3.0]")
logical_not = _unary("logical_not", "False where the element is not.", "lt.asarray([True, False]) = [False, True]")
negative = _unary("negative", "Negated.", "lt.asarray([1, -2]) = [-1, 2]")
positive = _unary("positive", "As it is.", "lt.asarray([1, -2]) = [1, -2]")
rad2deg = _unary("rad2deg", "Radians as degrees.", "lt.asarray([0.0]) = [0.0]")
reciprocal = _unary("reciprocal", "1 / x.", "lt.asarray([4.0]) = [0.25]")
sign = _unary("sign", "-1, 0 or 1.", "lt.asarray([-3.0, 0.0, 2.0]) = [-1.0, 0.0, 1.0]")
signbit = _unary("signbit", "Whether the sign bit is set.", "lt.asarray([-0.0, 0.0]) = [True, False]")
sin = _unary("sin", "Sines.", "lt.asarray([0.0]) = [0.0]")
sinh = _unary("sinh", "Hyperbolic sines.", "lt.asarray([0.0]) = [0.0]")
spacing = _unary("spacing", "The distance to the next number.", "lt.asarray([1.0]) = [2.220446049250313e-16]")
sqrt = _unary("sqrt", "Square roots.", "lt.asarray([4.0, 9.0]) = [2.0, 3.0]")
square = _unary("square", "Squares.", "lt.asarray([2, -3]) = [4, 9]")
tan = _unary("tan", "Tangents.", "lt.asarray([0.0]) = [0.0]")
tanh = _unary("tanh", "Hyperbolic tangents.", "lt.asarray([0.0]) = [0.0]")
trunc = _unary("trunc", "Without the fraction.", "lt.asarray([1.7, -1.7]) = [1.0, -1.0]")

add = _binary("add", "Sums.", "lt.asarray([1, 2]), 10 = [11, 12]")
atan2 = _binary("atan2", "Angles of points (x2, x1).", "lt.asarray([0.0]), 1.0 = [0.0]")
bitwise_and = _binary("bitwise_and", "Bits set in both.", "lt.asarray([6]), 3 = [2]")
bitwise_left_shift = _binary("bitwise_left_shift", "Bits moved up.", "lt.asarray([1, 3]), 2 = [4, 12]")
bitwise_or = _binary("bitwise_or", "Bits set in either.", "lt.asarray([6]), 3 = [7]")
bitwise_right_shift = _binary("bitwise_right_shift", "Bits moved down.", "lt.asarray([4, 12]), 2 = [1, 3]")
bitwise_xor = _binary("bitwise_xor", "Bits set in one.", "lt.asarray([6]), 3 = [5]")
copysign = _binary("copysign", "x1 with the sign of x2.", "lt.asarray([1.0]), -2.0 = [-1.0]")
divide = _binary("divide", "Quotients.", "lt.asarray([1, 3]), 2 = [0.5, 1.5]")
equal = _binary("equal", "Where x1 == x2.", "lt.asarray([1, 2]), 2 = [False, True]")
floor_divide = _binary("floor_divide", "Quotients, rounded down.", "lt.asarray([7, -7]), 2 = [3, -4]")
fmax = _binary("fmax", "The larger; NaN only where both are.", "lt.asarray([lt.nan]), 2.0 = [2.0]")
fmin = _binary("fmin", "The smaller; NaN only where both are.", "lt.asarray([lt.nan]), 2.0 = [2.0]")
fmod = _binary("fmod", "Remainders with the sign of x1.", "lt.asarray([7, -7]), 3 = [1, -1]")
gcd = _binary("gcd", "Greatest common divisors.", "lt.asarray([12]), 18 = [6]")
greater = _binary("greater", "Where x1 > x2.", "lt.asarray([1, 2]), 1 = [False, True]")
greater_equal = _binary("greater_equal", "Where x1 >= x2.", "lt.asarray([1, 2]), 2 = [False, True]")
heaviside = _binary("heaviside", "0, x2 or 1 by the sign of x1.", "lt.asarray([-1.0, 0.0, 3.0]), 0.5 = [0.0, 0.5, 1.0]")
hypot = _binary("hypot", "Lengths of (x1, x2).", "lt.asarray([3.0]), 4.0 = [5.0]")
lcm = _binary("lcm", "Least common multiples.", "lt.asarray([4]), 6 = [12]")
less = _binary("less", "Where x1 < x2.", "lt.asarray([1, 2]), 2 = [True, False]")
less_equal = _binary("less_equal", "Where x1 <= x2.", "lt.asarray([1, 2]), 1 = [True, False]")
logaddexp = _binary("logaddexp", "log(exp(x1) + exp(x2)).", "lt.asarray([0.0]), -lt.inf = [0.0]")
logaddexp2 = _binary("logaddexp2", "log2(2**x1 + 2**x2).", "lt.asarray([0.0]), 0.0 = [1.0]")
logical_and = _binary("logical_and", "Where both are true.", "lt.asarray([True, False]), True = [True, False]")
logical_or = _binary("logical_or", "Where either is true.", "lt.asarray([True, False]), False = [True, False]")
logical_xor = _binary("logical_xor", "Where one is true.", "lt.asarray([True, False]), True = [False, True]")
maximum = _binary("maximum", "The larger; NaN where either is.", "lt.asarray([1, 5]), 3 = [3, 5]")
minimum = _binary("minimum", "The smaller; NaN where either is.", "lt.asarray([1, 5]), 3 = [1, 3]")
multiply = _binary("multiply", "Products.", "lt.asarray([1, 2]), 3 = [3, 6]")
nextafter = _binary("nextafter", "The next number towards x2.", "lt.asarray([1.0]), 2.0 = [1.0000000000000002]")
not_equal = _binary("not_equal", "Where x1 != x2.", "lt.asarray([1, 2]), 2 = [True, False]")
pow = _binary("pow", "Powers.", "lt.asarray([2, 3]), 2 = [4, 9]")
remainder = _binary("remainder", "Remainders with the sign of x2.", "lt.asarray([7, -7]), 3 = [1, 2]")
subtract = _binary("subtract", "Differences.", "lt.asarray([1, 2]), 1 = [0, 1]")


def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """Elements of x1 where the condition holds, of x2 elsewhere. Lazy.

    >>> lt.where(lt.asarray([True, False]), 1, lt.asarray([5, 6])).compute().tolist()
    [1, 6]
    """
    truth = as_array(condition)
    given = [operand(x) for x in (x1, x2)]
    if not any(hasattr(x, "shape") for x in given):
        given[0] = call("full", (), given[0], _name_of_both(*given))
    if truth._core.dtype != "bool":
        truth = elementwise("not_equal", truth, 0)
    return call("elementwise", "where", [truth, *given])


def _name_of_both(x1: Any, x2: Any) -> str:
    kinds = (bool, int, float, complex)
    return ("bool", "int64", "float64", "complex128")[max(kinds.index(type(x1)), kinds.index(type(x2)))]


def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """Elements no smaller than ``min`` and no larger than ``max``, where given. Lazy.

    >>> lt.clip(lt.asarray([1, 5, 9]), 2, 7).compute().tolist()
    [2, 5, 7]
    """
    result = as_array(x)
    if min is not None:
        result = elementwise("maximum", result, min)
    if max is not None:
        result = elementwise("minimum", result, max)
    return elementwise("positive", result) if result is x and result.dtype.kind != "b" else result


def round(x: Any, /, decimals: int = 0) -> Array:
    """The nearest integers, or numbers of some decimals; halves to even ones. Lazy.

    >>> lt.round(lt.asarray([0.5, 1.5, 2.6])).compute().tolist()
    [0.0, 2.0, 3.0]
    >>> lt.round(lt.asarray([1.26]), 1).compute().tolist()
    [1.3]
    """
    array = as_array(x)
    if decimals == 0 or (decimals > 0 and array.dtype.kind in "iub"):
        return elementwise("round", array)
    scale = 10.0 ** (decimals if decimals > 0 else -decimals)
    up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    result = elementwise(down, elementwise("round", elementwise(up, array, scale)), scale)
    return result if result.dtype == array.dtype else call("astype", result, array._core.dtype)


def isclose(x1: Any, x2: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Where elements differ by no more than ``atol + rtol * abs(x2)``. Lazy.

    >>> lt.isclose(lt.asarray([1.0, 2.0]), 1.0 + 1e-9).compute().tolist()
    [True, False]
    """
    a, b = as_array(x1), as_array(x2)
    if b.dtype.kind in "biu":
        b = call("astype", b, "float64")
    near = (elementwise("abs", a - b) <= atol + rtol * elementwise("abs", b)) & isfinite(b)
    close = near | (a == b)
    return close | (isnan(a) & isnan(b)) if equal_nan else close


def nan_to_num(x: Any, /, *, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    """Numbers instead of NaN and infinities: zero and the largest finite ones, unless said. Lazy.

    >>> lt.nan_to_num(lt.asarray([lt.nan, 1.0]), nan=5.0).compute().tolist()
    [5.0, 1.0]
    """
    array = as_array(x)
    if array.dtype.kind == "c":
        parts = [nan_to_num(part(array), nan=nan, posinf=posinf, neginf=neginf) for part in (real, imag)]
        return call("astype", parts[0] + parts[1] * 1j, array._core.dtype)
    if array.dtype.kind != "f":
        return positive(array) if array.dtype.kind != "b" else array
    from .dtypes import finfo

    limits = finfo(array.dtype)
    array = where(isnan(array), nan, array)
    array = where(array == float("inf"), limits.max if posinf is None else posinf, array)
    return where(array == float("-inf"), limits.min if neginf is None else neginf, array)


def real(x: Any, /) -> Array:
    """Real parts. Lazy.

    >>> lt.real(lt.asarray([1 + 2j])).compute().tolist()
    [1.0]
    """
    return elementwise("real", x)
