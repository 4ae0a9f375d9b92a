# kind: objects
# leak: true
import numpy as np
from pace import SIZE, steps


def main() -> None:
    kept = []
    for _ in steps(64):
        batch = np.ones(SIZE // 64 // 8)
        kept.append(batch)  # here


main()
