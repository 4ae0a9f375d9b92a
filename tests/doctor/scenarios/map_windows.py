# kind: flat | large | page_cache | mapped_files
# leak: false
import mmap
import os
import tempfile

from pace import SIZE, steps

with tempfile.NamedTemporaryFile(dir=os.environ.get("SCENARIO_DIR")) as file:
    file.write(os.urandom(1 << 20) * (SIZE >> 20))
    file.flush()
    window = SIZE // 16 // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    for i in steps(64):
        with mmap.mmap(file.fileno(), window, offset=(i % 15) * window, access=mmap.ACCESS_READ) as piece:
            sum(piece[::4096])
