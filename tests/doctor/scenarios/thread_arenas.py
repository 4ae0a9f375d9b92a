# kind: allocator
# leak: false
import ctypes
import threading

from pace import SIZE, steps

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
libc.free(libc.malloc(16 << 20))
for _ in steps(10, 0.3):
    pass
barrier = threading.Barrier(8)
stay = threading.Event()


def work() -> None:
    barrier.wait()
    block = 100 * 1024
    blocks = [libc.malloc(block) for _ in range(SIZE // 8 // block)]
    for p in blocks:
        ctypes.memset(p, 1, block)
    for p in reversed(blocks):
        libc.free(p)
    stay.wait()


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for _ in steps(20, 0.8):
    pass
stay.set()
