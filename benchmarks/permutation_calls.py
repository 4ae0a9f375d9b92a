"""How long does lt.Permutation take for an index, whatever n, beside np.random's shuffle of an array of them?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .harness import Bench, Report

Measure = Callable[[], Any]
POSITIONS = 1_000_000
LARGEST_S = 100e-9  # for one index
SIZES = {"10^6 + 1": 10**6 + 1, "488 million": 488_000_000, "2^40 + 1": 2**40 + 1, "2^63 - 1": 2**63 - 1}
NUMPY = "np.random, n = 10^6"


def lowtide(measure: Measure, n: int, repeats: int) -> int:
    """p[positions], which lie anywhere in the permutation."""
    import lowtide as lt

    lt.set_budget("64MiB")
    positions = np.random.default_rng(2).integers(0, n, POSITIONS)
    p = lt.Permutation(n, seed=1)
    p[positions]
    with measure():
        for _ in range(repeats):
            p[positions]
    return repeats * POSITIONS


def numpy(measure: Measure, repeats: int) -> int:
    """The whole shuffled array, which is how NumPy answers for even one index."""
    random = np.random.default_rng(2)
    random.permutation(POSITIONS)
    with measure():
        for _ in range(repeats):
            random.permutation(POSITIONS)
    return repeats * POSITIONS


def ask(bench: Bench) -> Iterator[Report]:
    """Only this machine's clock can judge a bar in nanoseconds: let it do nothing else."""
    repeats = 5 if bench.quick else 20
    contenders = {NUMPY: lambda: bench.worker(numpy, repeats=repeats)}
    for name, n in SIZES.items():
        contenders[f"lowtide, n = {name}"] = lambda n=n: bench.worker(lowtide, n=n, repeats=repeats)
    rounds = bench.interleave(contenders)
    report = Report(__doc__, f"{POSITIONS:,} random positions a call, one thread", "indices/s", rounds)
    for name, samples in rounds.items():
        times = [1 / sample.rate for sample in samples if sample]
        if times:
            report.time(name, times, below=None if name == NUMPY else LARGEST_S, unit="ns")
    report.bar("lowtide, n = 10^6 + 1", NUMPY)
    yield report
