# kind: flat | large | warm_up
# leak: false
import numpy as np
from pace import RANDOM, SIZE, steps

for _ in steps(100):
    batch = np.ones(RANDOM.randrange(SIZE // 80, SIZE // 8))
