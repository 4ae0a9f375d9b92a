# kind: copy_on_write
# leak: false
import os
import random
import time

from pace import SECONDS, SEED, SIZE, steps

texts = [str(i) * 20 for i in range(SIZE // 3 // 180)]
children = []
for _ in steps(3, 0.3):
    pass
for worker in range(3):
    pid = os.fork()
    if pid == 0:
        order = list(range(len(texts)))
        random.Random(SEED + worker).shuffle(order)
        time.sleep(SECONDS * 0.2)
        for part in range(20):
            for i in order[part::20]:
                text = texts[i]
            time.sleep(SECONDS * 0.4 / 20)
        time.sleep(SECONDS * 0.5)
        os._exit(0)
    children.append(pid)
for _ in steps(10, 0.8):
    pass
for pid in children:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
