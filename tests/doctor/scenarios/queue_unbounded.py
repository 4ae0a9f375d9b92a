# kind: objects
# leak: true
import queue
import threading

import numpy as np
from pace import SIZE, steps

waiting: "queue.Queue[np.ndarray]" = queue.Queue()


def consume() -> None:
    while waiting.get() is not None:
        threading.Event().wait(1.0)


threading.Thread(target=consume, daemon=True).start()
for _ in steps(60):
    waiting.put(np.ones(SIZE // 60 // 8))
