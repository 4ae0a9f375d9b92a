# kind: objects
# leak: true
import numpy as np
from pace import SIZE, steps

user_ns = {"Out": {}}
for i in steps(48):
    user_ns["Out"][i] = np.zeros(SIZE // 48 // 8) + i
