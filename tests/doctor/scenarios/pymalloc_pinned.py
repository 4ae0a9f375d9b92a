# kind: allocator
# leak: false
from pace import SIZE, steps

for _ in steps(10, 0.3):
    pass
objects = [(i, i + 1) for i in range(SIZE // 120)]
objects = objects[::500]
for _ in steps(20, 0.8):
    pass
