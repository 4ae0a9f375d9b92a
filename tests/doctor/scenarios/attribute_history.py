# kind: objects
# leak: true
from pace import RANDOM, SIZE, steps


class Trainer:
    def __init__(self) -> None:
        self.history: dict[int, bytearray] = {}

    def step(self, i: int) -> None:
        self.history[i] = bytearray(RANDOM.randbytes(64)) * (SIZE // 64 // 64)  # here


trainer = Trainer()
for i in steps(64):
    trainer.step(i)
