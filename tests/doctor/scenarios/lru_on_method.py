# kind: objects
# leak: true
import functools

import numpy as np
from pace import SIZE, steps


class Model:
    @functools.cache  # noqa: B019  # here
    def table(self, n: int) -> np.ndarray:
        return np.full(SIZE // 60 // 8, n, dtype=float)


model = Model()
for i in steps(60):
    model.table(i)
