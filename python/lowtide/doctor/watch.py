"""Watching the program one is in: `watch()`, `check_flat()` and the verdict they give."""

from __future__ import annotations

import gc
import html
import json
import math
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import _core
from .inject.lowtide_doctor_agent import Agent, census, start


class Verdict:
    """What the doctor says; ``str()`` is the report.

    ``leak``, ``kind``, ``bytes`` (the growth), ``parts`` (kind → bytes, adding up to it), ``per_step``, ``where``,
    ``evidence``, ``fix`` and ``confidence``; ``document`` is all of it, as ``--json`` prints it.
    """

    def __init__(self, document: dict[str, Any], text: str, page: str) -> None:
        said = document["verdict"]
        self.document = document
        self.leak: bool = said["leak"]
        self.kind: str = said["kind"]
        self.bytes: int = said["bytes"]
        self.parts: dict[str, int] = said["parts"]
        self.per_step: float | None = said["per_step_bytes"]
        self.where: str = said["where"]
        self.evidence: list[str] = said["evidence"]
        self.fix: str = said["fix"]
        self.confidence: float = said["confidence"]
        self.summary: str = said["summary"]
        self.html = page
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Verdict(leak={self.leak}, kind={self.kind!r}, bytes={self.bytes})"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'


class Watch:
    """A watch over this process and all that it starts. Use :func:`watch`.

    Looks about twenty times a second at first and ever more rarely later, from a thread that holds the GIL only while
    it counts Python's objects.
    """

    def __init__(self) -> None:
        self._verdict: Verdict | None = None
        self._folder = ""
        self._core: _core.DoctorWatch | None = None
        self._agent: Agent | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._last_look = 0.0

    def __enter__(self) -> Watch:
        if self._core is not None:
            raise RuntimeError("this watch has begun already; make another with lt.doctor.watch()")
        self._folder = tempfile.mkdtemp(prefix="lowtide-doctor-")
        self._core = _core.DoctorWatch(os.getpid(), self._folder)
        self._agent = start(self._folder, census_first=True)
        self._look()
        self._thread = threading.Thread(target=self._run, name="lowtide-doctor", daemon=True)
        self._thread.start()
        return self

    def _run(self) -> None:
        assert self._core is not None
        while not self._stop.wait(self._core.interval_s()):
            self._look()

    def _look(self) -> None:
        with self._lock:
            if self._core is not None and self._agent is not None:
                self._last_look = time.monotonic()
                self._agent.write(self._agent.counters(self._last_look))  # of the same moment: what malloc only keeps
                self._core.look()

    def _count_objects_at_the_end(self) -> None:
        """And not before: that takes memory, which a loop of a few moments would be blamed for."""
        assert self._agent is not None
        self._agent.census_due = math.inf

    def step(self) -> None:
        """Mark the end of one iteration, so that growth is told per step."""
        if self._core is None or self._agent is None:
            raise RuntimeError("the watch has not begun; use: with lt.doctor.watch() as w")
        with self._lock:
            self._core.step()
        self._agent.steps += 1
        if time.monotonic() - self._last_look >= self._core.interval_s():
            self._look()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> Verdict:
        """End the watch; the verdict."""
        if self._verdict is not None:
            return self._verdict
        if self._core is None or self._agent is None:
            raise RuntimeError("the watch has not begun; use: with lt.doctor.watch() as w")
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._agent.stop(abandon=True)
        self._look()  # and only then a census, for which the program has to wait
        self._agent.count_now(self._last_look)
        enabled = gc.isenabled()
        self._agent.write(self._agent.counters(time.monotonic()) | census.collect_garbage() | {"gc_enabled": enabled})
        with self._lock:
            said, text, page = self._core.judge()
        self._verdict = Verdict(json.loads(said), text, page)
        shutil.rmtree(self._folder, ignore_errors=True)
        return self._verdict

    @property
    def verdict(self) -> Verdict:
        """What was found; ends the watch if it still runs."""
        return self.stop()

    def save_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one page that needs no network."""
        Path(path).write_text(self.verdict.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.verdict._repr_html_()


def watch() -> Watch:
    """Watch this process while a block runs.

    >>> with lt.doctor.watch() as w:
    ...     total = sum(range(1000))
    >>> w.verdict.leak
    False
    """
    return Watch()


def check_flat(
    fn: Callable[[], Any], steps: int = 50, per_step: int | str = "10KiB", warm_up: int | None = None
) -> Verdict:
    """Call ``fn`` ``steps`` times; AssertionError, with the report, if memory grows by more than ``per_step`` a call.

    The first calls (a fifth of ``steps``, or ``warm_up``) are not counted: caches and pools may fill.

    >>> verdict = lt.doctor.check_flat(lambda: sum(range(100)), steps=10)
    """
    allowed = _core.parse_bytes(per_step) if isinstance(per_step, str) else int(per_step)
    if steps < 5:
        raise ValueError(f"steps must be at least 5 to tell growth from noise, not {steps}")
    skipped = steps // 5 if warm_up is None else warm_up
    for _ in range(skipped):
        fn()
    with Watch() as w:
        w._count_objects_at_the_end()
        levels = [_live_bytes()]
        for _ in range(steps):
            fn()
            w.step()
            levels.append(_live_bytes())
    verdict = w.verdict
    slope = _median_slope(levels)
    if slope > allowed:
        raise AssertionError(
            f"memory grows by {_core.format_bytes(int(slope))} a step over {steps} steps; "
            f"{_core.format_bytes(allowed)} are allowed\n\n{verdict}"
        )
    return verdict


def _live_bytes() -> int:
    """Private memory that is in use: without what malloc keeps, which is no growth of the program's."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    private = sum(int(fields[name].split()[0]) << 10 for name in ("RssAnon", "RssShmem", "VmSwap") if name in fields)
    from .inject.lowtide_doctor_agent import heap

    facts = heap.malloc_facts()
    return private - (facts["held"] if facts is not None else 0)


def _median_slope(levels: list[int]) -> float:
    """Theil–Sen: the median of the slopes between all pairs."""
    slopes = sorted((levels[j] - levels[i]) / (j - i) for i in range(len(levels)) for j in range(i + 1, len(levels)))
    return slopes[len(slopes) // 2]
