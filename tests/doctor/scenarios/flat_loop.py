# kind: flat
# leak: false
from pace import steps

total = 0
for _ in steps(80):
    total += sum(range(2000))
