# kind: flat | warm_up | large
# leak: false
import queue
import threading

import numpy as np
from pace import SIZE, steps

waiting: "queue.Queue[np.ndarray | None]" = queue.Queue(maxsize=4)


def consume() -> None:
    while (batch := waiting.get()) is not None:
        batch.sum()


worker = threading.Thread(target=consume)
worker.start()
for _ in steps(80):
    waiting.put(np.ones(SIZE // 32 // 8))
waiting.put(None)
worker.join()
