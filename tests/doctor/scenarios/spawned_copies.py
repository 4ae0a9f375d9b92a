# kind: processes
# leak: false
import subprocess
import sys

from pace import SECONDS, SIZE, steps

for _ in steps(5, 0.3):
    pass
code = f"import time; x = bytearray(b'1') * {SIZE // 3}; time.sleep({SECONDS * 3})"
children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
for _ in steps(10, 0.9):
    pass
for child in children:
    child.kill()
    child.wait()
