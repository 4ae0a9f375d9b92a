"""What np.memmap does to a file before it is mapped: told from a name or a file object, made, grown."""

from __future__ import annotations

import builtins
import errno
import operator
import os
import stat
from typing import Any

from .errors import FormatError, UnsupportedError, io_error

_MODES = {"readonly": "r", "readwrite": "r+", "write": "w+", "copyonwrite": "c"}


def mode_of(mode: str) -> str:
    """np.memmap's modes, by their short names."""
    short = _MODES.get(mode, mode)
    if short == "c":
        raise UnsupportedError('mode "c" (copy on write) is not there: open with "r" and keep changes in an array')
    if short not in ("r", "r+", "w+"):
        raise ValueError(f"mode must be one of {['r', 'c', 'r+', 'w+', *_MODES]!r} (got {mode!r})")
    return short


def extents_of(shape: Any) -> list[int] | None:
    """A shape as np.memmap takes it: None, an integer, or a sequence of them."""
    if shape is None:
        return None
    try:
        return [operator.index(shape)]
    except TypeError:
        return [operator.index(n) for n in shape]


def prepare(filename: Any, mode: str, offset: int, extents: list[int] | None, itemsize: int) -> tuple[str, Any]:
    """The path to open and what ``.filename`` shall be. Makes the file in mode w+, and lengthens it in r+ and w+."""
    if mode == "w+" and extents is None:
        raise ValueError("shape must be given if mode == 'w+'")
    if hasattr(filename, "read"):  # an open file
        filename.seek(0, os.SEEK_END)  # what its buffer holds is written
        _lengthen(filename.fileno(), mode, offset, extents, itemsize)
        name = filename.name if isinstance(getattr(filename, "name", None), str) else None
        return _path_of(filename.fileno()), None if name is None else os.path.abspath(name)
    path = os.fsdecode(filename)
    with builtins.open(path, {"r": "rb", "r+": "r+b", "w+": "w+b"}[mode], opener=_without_waiting) as file:
        _lengthen(file.fileno(), mode, offset, extents, itemsize)
    return path, filename.resolve() if hasattr(filename, "resolve") else os.path.abspath(path)


def _without_waiting(path: str, flags: int) -> int:
    """A pipe with nobody at its other end is refused, not waited for."""
    fd = os.open(path, flags | os.O_NONBLOCK, 0o666)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise io_error(f"{path} is not a regular file (a pipe or a device)", errno.EINVAL, path, 0)
    return fd


def _lengthen(fd: int, mode: str, offset: int, extents: list[int] | None, itemsize: int) -> None:
    found = os.fstat(fd).st_size
    if mode == "r" and found == 0:
        raise FormatError("cannot map an empty file")
    if extents is None:
        if (found - offset) % itemsize:
            raise FormatError("Size of the available data is not a multiple of the data-type size.")
        return
    needed = itemsize
    for extent in extents:
        needed *= extent
    needed = max(offset + needed, 1)  # as np.memmap, which cannot map nothing
    if mode != "r" and found < needed:
        os.ftruncate(fd, needed)


def _path_of(fd: int) -> str:
    here = f"/proc/self/fd/{fd}"
    path = os.readlink(here)
    return path if os.path.exists(path) and os.path.samefile(path, here) else here
