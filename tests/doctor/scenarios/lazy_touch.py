# kind: warm_up
# leak: false
import numpy as np
from pace import SIZE, steps

buffer = np.empty(SIZE, dtype=np.uint8)
for i in steps(80):
    if 20 <= i < 52:
        part = SIZE // 32
        buffer[(i - 20) * part : (i - 19) * part] = 1
