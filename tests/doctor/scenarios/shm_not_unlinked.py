# kind: shared_memory
# leak: true
import os
from multiprocessing import resource_tracker, shared_memory

from pace import SIZE, steps

names = []
try:
    for _ in steps(40):
        block = shared_memory.SharedMemory(create=True, size=SIZE // 40)
        block.buf[:] = b"x" * (SIZE // 40)
        names.append(block.name)
        resource_tracker.unregister(block._name, "shared_memory")
        block.close()
finally:
    for name in names:
        os.unlink("/dev/shm/" + name)
