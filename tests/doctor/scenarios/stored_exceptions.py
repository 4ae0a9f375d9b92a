# kind: objects
# leak: true
import numpy as np
from pace import SIZE, steps

failures = []


def load(n: int) -> None:
    buffer = np.full(SIZE // 50 // 8, n, dtype=float)
    raise ValueError(len(buffer))


for i in steps(50):
    try:
        load(i)
    except ValueError as error:
        failures.append(error)  # here
