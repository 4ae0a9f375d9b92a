# kind: warm_up
# leak: false
import numpy as np
from pace import SIZE, steps

weights = [np.ones(SIZE // 10 // 8) for _ in range(4)]
state: dict[int, np.ndarray] = {}
for step in steps(80):
    if step >= 26:
        for i, w in enumerate(weights[: (step - 25)]):
            state.setdefault(2 * i, w * 0 + 1)
            state.setdefault(2 * i + 1, w * 0 + 1)
