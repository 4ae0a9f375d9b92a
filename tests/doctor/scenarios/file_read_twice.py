# kind: page_cache
# leak: false
import os
import tempfile

from pace import SIZE, steps

with tempfile.NamedTemporaryFile(dir=os.environ.get("SCENARIO_DIR")) as file:
    for _ in range(SIZE >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    for _ in steps(10, 0.25):
        pass
    for i in steps(32, 0.75):
        os.pread(file.fileno(), SIZE // 32, i * (SIZE // 32))
