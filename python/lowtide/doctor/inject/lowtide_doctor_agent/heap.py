"""Counters of allocators: glibc's, and those that libraries bring along."""

from __future__ import annotations

import sys
from typing import Any

_mallinfo2: Any = None
_looked = False


def malloc_facts() -> dict[str, int] | None:
    """What glibc's malloc has in use, has mapped one by one, and keeps though it was freed."""
    global _mallinfo2, _looked
    if not _looked:
        _looked = True
        try:
            import ctypes

            names = (
                "arena",
                "ordblks",
                "smblks",
                "hblks",
                "hblkhd",
                "usmblks",
                "fsmblks",
                "uordblks",
                "fordblks",
                "keep",
            )
            layout = type("Mallinfo2", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_size_t) for name in names]})
            function = ctypes.CDLL(None).mallinfo2
            function.restype = layout
            _mallinfo2 = function
        except (ImportError, OSError, AttributeError):
            return None
    if _mallinfo2 is None:
        return None
    info = _mallinfo2()
    # uordblks counts the blocks of thread caches as in use, and not those that are mapped one by one.
    return {"live": info.uordblks, "mmapped": info.hblkhd, "held": info.fordblks}


def pool_facts() -> dict[str, int]:
    """Memory pools that do not go through malloc: in use, and kept."""
    arrow = sys.modules.get("pyarrow")
    if arrow is None:
        return {}
    try:
        pool = arrow.default_memory_pool()
        if pool.backend_name == "system":  # malloc: counted there
            return {}
        return {"pool_live": int(pool.bytes_allocated())}
    except Exception:
        return {}


def lowtide_facts() -> dict[str, int]:
    """What lowtide's own budget holds, so that nobody suspects it."""
    core = sys.modules.get("lowtide._core")
    if core is None:
        return {}
    try:
        limit, held, *_ = core.usage()
        return {"lowtide_held": int(held), "lowtide_limit": int(limit)}
    except Exception:
        return {}
