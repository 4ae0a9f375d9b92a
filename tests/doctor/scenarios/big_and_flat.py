# kind: large
# leak: false
import numpy as np
from pace import SIZE, MiB, steps

table = np.ones((256 * MiB + SIZE) // 8)
for i in steps(80):
    table[i] += 1
