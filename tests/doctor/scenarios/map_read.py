# kind: mapped_files
# leak: false
import os
import tempfile

import numpy as np
from pace import SIZE, steps

with tempfile.NamedTemporaryFile(dir=os.environ.get("SCENARIO_DIR")) as file:
    for _ in range(SIZE >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    for _ in steps(10, 0.2):
        pass
    data = np.memmap(file.name, dtype=np.uint16, mode="r")
    total = 0
    for part in np.array_split(np.arange(len(data) // 2048), 32):
        for _ in steps(1, 0.8 / 32):
            total += int(data[part * 2048].sum())
