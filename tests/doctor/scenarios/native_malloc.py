# kind: native
# leak: true
import ctypes

from pace import SIZE, steps

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p


def leak(size: int) -> None:
    p = libc.malloc(size)  # here
    ctypes.memset(p, 1, size)


for _ in steps(80):
    for _ in range(8):
        leak(SIZE // 640)
