# kind: mapped_files
# leak: false
import os
import tempfile

import numpy as np
from pace import RANDOM, SIZE, steps

with tempfile.NamedTemporaryFile(dir=os.environ.get("SCENARIO_DIR")) as file:
    for _ in range(SIZE >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    data = np.memmap(file.name, dtype=np.uint16, mode="r")
    for _ in steps(80):
        for _ in range(150):
            start = RANDOM.randrange(len(data) - 1024)
            batch = np.array(data[start : start + 1024])
