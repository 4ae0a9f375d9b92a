# kind: flat | warm_up | large | allocator
# leak: false
from pace import RANDOM, SIZE, steps

table: dict[int, bytes] = {}
for _ in steps(100):
    for _ in range(SIZE // 40 // 400):
        table[RANDOM.randrange(SIZE // 600)] = bytes(300 + RANDOM.randrange(100))
    while len(table) > SIZE // 1600:
        table.pop(next(iter(table)))
