# kind: garbage
# leak: true
import gc

import numpy as np
from pace import SIZE, steps


class Node:
    def __init__(self) -> None:  # here
        self.me = self
        self.data = np.ones(SIZE // 60 // 8)


gc.disable()
for _ in steps(60):
    Node()
