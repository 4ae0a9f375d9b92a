# kind: allocator
# leak: false
import ctypes

from pace import SIZE, steps

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
block = 100 * 1024
for _ in steps(10, 0.3):
    pass
pins = []
for _ in steps(20, 0.45):
    blocks = [libc.malloc(block) for _ in range(SIZE // 20 // block)]
    for p in blocks:
        ctypes.memset(p, 1, block)
    pins.append(libc.malloc(64))
    for p in blocks:
        libc.free(p)
    if len(pins) == 1:
        blocks = [libc.malloc(block) for _ in range(SIZE // block)]
        for p in blocks:
            ctypes.memset(p, 1, block)
        pins.append(libc.malloc(64))
        for p in blocks:
            libc.free(p)
for _ in steps(10, 0.25):
    pass
