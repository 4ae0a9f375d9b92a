"""What every scenario shares: its size, its seed, and a loop that takes a few seconds however fast the machine is."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator

MiB = 1 << 20
SIZE = int(sys.argv[1]) * MiB if len(sys.argv) > 1 else 64 * MiB  # how much the scenario grows by, about
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 0
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 4.0
RANDOM = random.Random(SEED)


def steps(count: int, share: float = 1.0) -> Iterator[int]:
    """0 … count-1, spread over `share` of the scenario's time."""
    start = time.monotonic()
    for i in range(count):
        yield i
        left = start + SECONDS * share * (i + 1) / count - time.monotonic()
        if left > 0:
            time.sleep(left)
