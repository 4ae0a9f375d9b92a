# kind: flat | large
# leak: false
import numpy as np
from pace import SIZE, steps

x = np.ones(SIZE // 16)
for _ in steps(60):
    y = (x * 2 + 1).sum()
