# kind: flat | warm_up | large | allocator
# leak: false
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from pace import SIZE, steps

with ThreadPoolExecutor(4) as pool:
    for _ in steps(60):
        list(pool.map(lambda n: float(np.ones(n).sum()), [SIZE // 256] * 8))
