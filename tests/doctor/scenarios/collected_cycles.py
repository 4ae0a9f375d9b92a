# kind: flat | warm_up | large
# leak: false
import gc

from pace import steps


class Node:
    def __init__(self) -> None:
        self.me = self
        self.data = bytearray(2000)


for _ in steps(100):
    for _ in range(200):
        Node()
    if gc.get_count()[2] > 5:
        gc.collect()
