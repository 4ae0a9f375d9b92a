# kind: objects
# leak: true
from pace import SIZE, steps

records = []


def work() -> None:
    for i in steps(80):
        for j in range(SIZE // 80 // 150):
            records.append(f"{i}-{j}-" + "x" * 80)  # here


work()
