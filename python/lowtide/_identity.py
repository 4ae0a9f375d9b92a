"""Which file an array is of, told to another process so that it opens that very file or refuses."""

from __future__ import annotations

import os
from typing import Any

from . import _core
from .errors import DataChangedError

Identity = tuple[str, int, int, int, int, int]  # machine, device, inode, bytes, mtime and ctime in ns
Opened = tuple[Any, ...]  # what _core.open takes, the path absolute


def identity(core: _core.Array) -> Identity:
    """Of the file, in the state that is read."""
    return (os.uname().nodename, *core.stamp())


def open_again(opened: Opened, expected: Identity) -> _core.Array:
    """The same file in another process. One that others may write to need not be in the same state."""
    core = _core.open(*opened)
    machine, device, *state = identity(core)
    live = bool(opened[-1]) or core.writable
    found = [*([device] if machine == expected[0] else []), *(state[:1] if live else state)]
    wanted = [*([expected[1]] if machine == expected[0] else []), *(expected[2:3] if live else expected[2:])]
    if found != wanted:
        what = "another file" if found[:-3] != wanted[:-3] or live else "changed"
        raise DataChangedError(
            f"{core.path} is {what} since the array was pickled. Open it again where it is used: lt.open({core.path!r})"
        )
    return core
