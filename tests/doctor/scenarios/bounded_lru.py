# kind: warm_up
# leak: false
import functools

import numpy as np
from pace import RANDOM, SIZE, steps


@functools.lru_cache(maxsize=24)
def load(n: int) -> np.ndarray:
    return np.full(SIZE // 24 // 8, n, dtype=float)


for i in steps(120):
    load(i % 24 if i < 60 else RANDOM.randrange(40))
