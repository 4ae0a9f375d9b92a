"""Print src/lowtide/kernels/cast_hashes.h: what NumPy's astype gives for every pair of dtypes.

    pip install numpy ml_dtypes; python tools/make_cast_hashes.py > src/lowtide/kernels/cast_hashes.h

Each dtype has 2048 pseudo-random inputs, made the same way here and in the test; a hash covers one pair's output bytes.
NumPy itself is not used where its answer depends on the position in the array (float to uint32, converted one item at a
time instead) and where ml_dtypes rounds twice (bfloat16 from types wider than float32, rounded here with fractions).
"""

import warnings
from fractions import Fraction

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
CODES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", BF16, "f4", "f8", "c8", "c16"]
DTYPES = [np.dtype(code) for code in CODES]
COUNT = 2048
MASK = (1 << 64) - 1


def mixed(n):
    """splitmix64 of n."""
    z = (n + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def float_bits(n, mantissa_bits, exponent_bits):
    """Odd n: an exponent near zero, so that many values fit integers. Even n: any bits but NaN."""
    bits = mixed(n) >> (63 - mantissa_bits - exponent_bits)
    exponent_mask = ((1 << exponent_bits) - 1) << mantissa_bits
    if n % 2 == 1 and exponent_bits > 5:
        exponent = (1 << (exponent_bits - 1)) - 31 + mixed(n + 1) % 100
        bits = bits & ~exponent_mask | exponent << mantissa_bits
    if bits & exponent_mask == exponent_mask:
        bits &= ~((1 << mantissa_bits) - 1)  # infinity
    return bits


FLOATS = {np.dtype("f2"): (10, 5), BF16: (7, 8), np.dtype("f4"): (23, 8), np.dtype("f8"): (52, 11)}


def inputs(dtype):
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return floats(part, 2 * COUNT).view(dtype)
    if dtype in FLOATS:
        return floats(dtype, COUNT)
    width = 8 * dtype.itemsize
    values = [(mixed(n) >> n % 64) & ((1 << width) - 1) for n in range(COUNT)]
    return np.array(values, dtype=f"u{dtype.itemsize}").view(dtype)


def floats(dtype, count):
    return np.array([float_bits(n, *FLOATS[dtype]) for n in range(count)], dtype=f"u{dtype.itemsize}").view(dtype)


def exact(x):
    if np.isinf(x):
        return Fraction(2) ** 128 * (1 if x > 0 else -1)  # what an unbounded exponent would make of it
    return Fraction(float(x)) if isinstance(x, np.floating) else Fraction(int(x))


def rounded_once(values):
    """To bfloat16, nearest, ties to even."""
    out = []
    for x in values:
        near = int(np.array([x]).astype("f4").astype(BF16).view("u2")[0])
        if isinstance(x, np.floating) and np.isinf(x):
            out.append(near)
            continue
        candidates = [b for b in (near - 1, near, near + 1) if 0 <= b & 0x7FFF <= 0x7F80 and b >> 15 == near >> 15]
        error = lambda b: abs(exact(np.uint16(b).view(BF16).astype("f4")) - exact(x))
        out.append(min(candidates, key=lambda b: (error(b), b & 1)))
    return np.array(out, dtype="u2")


def expected(source, dtype):
    if source.dtype == BF16 and dtype != BF16:
        source = source.astype("f4")
    if dtype == BF16 and source.dtype.kind == "b":
        source = source.astype("u1")  # ml_dtypes takes a bool of byte 2 for 2.0, NumPy for 1
    if dtype == BF16 and source.dtype.kind == "c":
        source = source.real.copy()
    if dtype == BF16 and source.dtype.kind in "iuf" and source.dtype.itemsize >= 4 and source.dtype != np.dtype("f4"):
        return rounded_once(source)
    if dtype == np.dtype("u4") and source.dtype.kind in "fc":
        return np.concatenate([source[i : i + 1].copy().astype(dtype) for i in range(len(source))])
    return source.astype(dtype)


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


HEAD = """\
// Made by tools/make_cast_hashes.py with NumPy {numpy} and ml_dtypes {ml_dtypes}: FNV-1a of what each cast must give.
// Row: from; column: to; both in the order of DType.
#pragma once

#include <cstdint>

#include "lowtide/dtype.h"

namespace lowtide {{

// clang-format off
inline constexpr std::uint64_t cast_hashes[dtype_count][dtype_count] = {{"""
TAIL = """\
};
// clang-format on

}  // namespace lowtide"""


def main():
    warnings.simplefilter("ignore")
    print(HEAD.format(numpy=np.__version__, ml_dtypes=ml_dtypes.__version__))
    for source in DTYPES:
        values = inputs(source)
        row = [f"0x{fnv1a(expected(values, dtype).tobytes()):016x}" for dtype in DTYPES]
        print(f"    {{  // {source.name}")
        for i in range(0, len(row), 5):
            print("        " + ", ".join(row[i : i + 5]) + ",")
        print("    },")
    print(TAIL)


if __name__ == "__main__":
    main()
