# kind: allocator
# leak: false
import mmap

from pace import SIZE, steps

for _ in steps(10, 0.3):
    pass
maps = []
for _ in steps(20, 0.8):
    piece = mmap.mmap(-1, SIZE // 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    piece.write(b"x" * (SIZE // 20))
    piece.madvise(8)  # MADV_FREE
    maps.append(piece)
