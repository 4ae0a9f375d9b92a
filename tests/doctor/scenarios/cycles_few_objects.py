# kind: garbage
# leak: true
import numpy as np
from pace import SIZE, steps


class Layer:
    def __init__(self) -> None:  # here
        self.parent = [self]
        self.weights = np.ones(SIZE // 40 // 8)


for _ in steps(40):
    Layer()
