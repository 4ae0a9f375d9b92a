"""Write the seed corpus of the .npy fuzz target: small files by NumPy, and malformed ones made from them.

    python tools/make_npy_corpus.py fuzz/corpus/npy_fuzz
"""

import io
import pathlib
import sys

import numpy as np
from numpy.lib import format as npy_format

DTYPES = "? i1 <i2 <i4 <i8 u1 <u2 <u4 <u8 <f2 <f4 <f8 <c8 <c16 >i8 >f4 >c16".split()
UNSUPPORTED = ["S5", "<U3", "<M8[ns]", "<m8[s]", "V2", "<f16", "O", [("x", "<f4"), ("y", "<i2")]]
GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def saved(array, version=None):
    out = io.BytesIO()
    npy_format.write_array(out, array, version=version)
    return out.getvalue()


def with_prefix(dict_text, major=1, length=None, minor=0, data=bytes(24)):
    """A file around any dict text, right or wrong."""
    body = dict_text.encode("latin1") if isinstance(dict_text, str) else dict_text
    prefix = 10 if major == 1 else 12
    body += b" " * (63 - (prefix + len(body)) % 64) + b"\n"
    size = (len(body) if length is None else length).to_bytes(prefix - 8, "little")
    return b"\x93NUMPY" + bytes([major, minor]) + size + body + data


def valid():
    for code in DTYPES:
        yield "dtype_" + code.replace("<", "le_").replace(">", "be_").replace("?", "b1"), saved(np.zeros((2, 3), code))
    for major in (1, 2, 3):
        yield f"version_{major}", saved(np.zeros(3, "<f4"), version=(major, 0))
    yield "order_fortran", saved(np.asfortranarray(np.zeros((2, 3), "<f8")))
    yield "shape_scalar", saved(np.array(1.5))
    yield "shape_empty", saved(np.zeros((0, 4), "<i2"))
    yield "shape_64_dims", saved(np.zeros((1,) * 64, "u1"))
    yield "python_2_long", with_prefix(GOOD.replace("2, 3", "2L, 3L"))
    yield "keys_reordered", with_prefix("{'shape': (2, 3), 'descr': '<f4', 'fortran_order': False}")
    yield "keys_double_quoted", with_prefix(GOOD.replace("'", '"'))
    yield "native_order", with_prefix(GOOD.replace("<f4", "=f4"))
    yield "trailing_data", saved(np.zeros(3, "u1")) + b"more"


def unsupported():
    for code in UNSUPPORTED:
        label = "structured" if isinstance(code, list) else code.strip("<>").replace("[", "_").replace("]", "")
        descr = npy_format.dtype_to_descr(np.dtype(code))
        yield f"unsupported_{label}", with_prefix(GOOD.replace("'<f4'", repr(descr)))
    yield "unsupported_subarray", with_prefix(GOOD.replace("'<f4'", "('<f4', (2,))"))
    yield "unsupported_field_utf8", with_prefix(GOOD.replace("'<f4'", "[('é', '<f4')]").encode("utf-8"), major=3)


def malformed():
    shapes = {
        "negative": "(-1,)",
        "overflow_product": "(4294967296, 4294967296)",
        "overflow_extent": "(9223372036854775808,)",
        "overflow_empty": "(0, 4294967296, 4294967296)", "not_a_tuple": "(3)", "list": "[3]", "float": "(3.0,)",
        "65_dims": "(" + "1, " * 65 + ")", "nested": "(" * 200, "leading_zero": "(03,)", "long_long": "(3LL,)",
    }
    for label, shape in shapes.items():
        yield f"bad_shape_{label}", with_prefix(GOOD.replace("(2, 3)", shape))
    yield "bad_key_duplicate", with_prefix(GOOD.replace("{", "{'descr': '<f8', "))
    yield "bad_key_unknown", with_prefix(GOOD.replace("{", "{'x': 1, "))
    yield "bad_key_missing", with_prefix("{'descr': '<f4', 'shape': (2, 3)}")
    yield "bad_string_open", with_prefix("{'descr': '<f4")
    yield "bad_string_escape", with_prefix(GOOD.replace("<f4", "\\x3cf4"))
    yield "bad_trailing_junk", with_prefix(GOOD + "x")
    yield "bad_nul_padding", with_prefix(GOOD + "\0")
    yield "bad_bool", with_prefix(GOOD.replace("False", "0"))
    yield "bad_utf8", with_prefix(GOOD.replace("<f4", "\xff"), major=3)
    yield "bad_empty_dict", with_prefix("{}")
    yield "bad_call", with_prefix("__import__('os').getcwd()")
    yield "bad_version_4", with_prefix(GOOD, major=4)
    yield "bad_version_1_1", with_prefix(GOOD, minor=1)
    yield "bad_length_huge", with_prefix(GOOD, major=2, length=0xFFFFFFFF)
    yield "bad_length_short", with_prefix(GOOD, length=20)
    yield "bad_length_zero", with_prefix(GOOD, length=0)
    yield "bad_truncated_data", saved(np.zeros(3, "<f8"))[:-1]
    yield "bad_truncated_header", saved(np.zeros(3, "<f8"))[:40]
    yield "bad_truncated_length", b"\x93NUMPY\x02\x00\x10\x00"
    yield "bad_magic_only", b"\x93NUMPY"
    yield "bad_zip", b"PK\x03\x04" + bytes(20)
    yield "bad_empty", b""


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (valid, unsupported, malformed):
        for label, content in make():
            (folder / label).write_bytes(content)


if __name__ == "__main__":
    main()
