# kind: shared_memory
# leak: true
import shutil
import tempfile

from pace import SIZE, steps

folder = tempfile.mkdtemp(dir="/dev/shm")
try:
    with open(folder + "/log", "wb", buffering=0) as log:
        for _ in steps(60):
            log.write(b"y" * (SIZE // 60))
finally:
    shutil.rmtree(folder)
