"""By how much does a step that computes on all cores grow when its batches come from lt.TokenLoader?

Steps with a fixed batch and steps with the loader's take turns within one process, some tens at a time, so that what
else the machine does falls on both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from . import disk
from .harness import Bench, Report, Sample

Measure = Callable[[], Any]
BLOCK, BATCH = 1024, 12
WIDTH, LAYERS, VOCABULARY = 256, 3, 4096
GROWTH = 0.05
ALONE, FED = "a fixed batch", "batches of lt.TokenLoader"


def _threads() -> set[str]:
    return {path.name for path in Path("/proc/self/task").iterdir()}


def _processor_seconds(threads: set[str]) -> float:
    """Time on a core, which the scheduler counts to the nanosecond."""
    return sum(int(Path(f"/proc/self/task/{each}/schedstat").read_text().split()[0]) for each in threads) / 1e9


class Model:
    """A forward pass in NumPy: an embedding, then matrix products on every core."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.embedding = random.standard_normal((VOCABULARY, WIDTH), dtype=np.float32)
        self.weights = [random.standard_normal((WIDTH, WIDTH), dtype=np.float32) / WIDTH for _ in range(LAYERS)]
        self.spaces = [np.empty((BATCH * BLOCK, WIDTH), np.float32) for _ in range(2)]
        self.places = np.empty(BATCH * BLOCK, np.int64)

    def step(self, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> None:
        """Reads both, and allocates nothing."""
        a, b = self.spaces
        np.bitwise_and(x.reshape(-1), VOCABULARY - 1, out=self.places)
        np.take(self.embedding, self.places, axis=0, out=a, mode="clip")
        for weight in self.weights:
            np.matmul(a, weight, out=b)
            a, b = b, a
        np.bitwise_and(y.reshape(-1), VOCABULARY - 1, out=self.places)
        np.take(self.embedding, self.places, axis=0, out=b, mode="clip")


def steps(measure: Measure, path: str, turns: int, steps_a_turn: int) -> dict[str, Any]:
    """The times of each kind of step, and what the loader's threads used of a core meanwhile."""
    import lowtide as lt

    model = Model()
    random = np.random.default_rng(1)
    x, y = (random.integers(0, 2**16, (BATCH, BLOCK)) for _ in range(2))
    for _ in range(5):
        model.step(x, y)  # starts NumPy's threads
    others = _threads()
    times: dict[str, list[float]] = {ALONE: [], FED: []}
    loader = lt.TokenLoader(path, block=BLOCK, batch=BATCH, seed=3)
    stream = iter(loader)
    model.step(*next(stream))
    time.sleep(0.1)  # the loader has made ahead what it may
    threads = _threads() - others
    used, fed_seconds = _processor_seconds(threads), 0.0
    with measure():
        for _ in range(turns):
            for _ in range(steps_a_turn):
                start = time.perf_counter()
                model.step(x, y)
                times[ALONE].append(time.perf_counter() - start)
            turn = time.perf_counter()
            for _ in range(steps_a_turn):
                start = time.perf_counter()
                model.step(*next(stream))
                times[FED].append(time.perf_counter() - start)
            fed_seconds += time.perf_counter() - turn
    share = (_processor_seconds(threads) - used) / fed_seconds
    return {"work": 2 * turns * steps_a_turn, "times": times, "threads": len(threads), "share": share}


def ask(bench: Bench) -> Iterator[Report]:
    """A growth of 5 % is a ratio of 1 / 1.05."""
    size = disk.GIB // 2 if bench.quick else 4 * disk.GIB
    turns, steps_a_turn = (5, 10) if bench.quick else (10, 20)
    path = bench.folder / f"tokens-{size >> 20}.bin"
    disk.make_tokens(path, size)

    def run() -> Sample:
        disk.make_cold(path)
        return bench.worker(steps, path=path, turns=turns, steps_a_turn=steps_a_turn)

    found = bench.interleave({FED: run})[FED]
    finished = [sample.more for sample in found if sample]

    def rates(kind: str) -> list[Sample | None]:
        medians = [sample and median(sample.more["times"][kind]) for sample in found]
        return [value and Sample(1 / value, value) for value in medians]

    setting = f"{size >> 20} MiB of uint16, cold, shuffled; {turns * steps_a_turn} steps of each kind in a round"
    if finished:
        share = median(more["share"] for more in finished)
        setting += f"\n  a fixed batch: {median(median(more['times'][ALONE]) for more in finished) * 1e3:.1f} ms a step"
        setting += f"; threads of the loader: {finished[0]['threads']}, {100 * share:.2f} % of a core"
    report = Report(__doc__, setting, "steps/s", {ALONE: rates(ALONE), FED: rates(FED)})
    report.bar(FED, ALONE, at_least=1 / (1 + GROWTH))
    yield report
