# kind: objects
# leak: true
import numpy as np
from pace import SIZE, steps

heads = []
for _ in steps(40):
    whole = np.ones(SIZE // 40 // 8)
    heads.append(whole[:10])  # here
    del whole
