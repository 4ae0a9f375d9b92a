"""A progress bar for long work on a terminal: bytes, speed, and memory held against the budget."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import _core

Report = Callable[[int, int], None]

_SILENT_SECONDS = 1.0
_REDRAW_SECONDS = 0.1


@contextmanager
def reporter(progress: bool | Report | None, what: str) -> Iterator[Report | None]:
    """What the core calls with (done, total): nothing, the caller's function, or a bar on standard error."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    else:
        bar = _Bar(what)
        try:
            yield bar
        finally:
            bar.close()


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._start = self._drawn = time.monotonic()
        self._visible = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._start < _SILENT_SECONDS or now - self._drawn < _REDRAW_SECONDS:
            return
        self._drawn, self._visible = now, True
        filled = int(24 * done / max(total, 1))
        speed = _core.format_bytes(int(done / (now - self._start)))
        limit, held, *_ = _core.usage()
        memory = f"{_core.format_bytes(held)} of {_core.format_bytes(limit)} held"
        size = f"{_core.format_bytes(done)} / {_core.format_bytes(total)}"
        sys.stderr.write(f"\r\x1b[K{self._what} [{'█' * filled}{'·' * (24 - filled)}] {size}  {speed}/s  {memory}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
