# kind: flat | large | warm_up
# leak: false
import numpy as np
from pace import RANDOM, SIZE, steps

kept = []
for _ in steps(100):
    kept.append(np.ones(SIZE // 16 // 8))
    if len(kept) > 8 + RANDOM.randrange(4):
        kept.clear()
