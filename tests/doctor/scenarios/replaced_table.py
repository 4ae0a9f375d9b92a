# kind: flat | large | warm_up
# leak: false
import numpy as np
from pace import SIZE, steps

table = np.ones(SIZE // 8)
for i in steps(30):
    table = np.full(SIZE // 8, i, dtype=float)
