# kind: warm_up
# leak: false
from collections import deque

import numpy as np
from pace import SIZE, steps

recent: "deque[np.ndarray]" = deque(maxlen=32)
for _ in steps(100):
    recent.append(np.ones(SIZE // 32 // 8))
