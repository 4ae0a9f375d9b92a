# kind: processes
# leak: true
import subprocess
import sys

from pace import SIZE, steps

children = []
for _ in steps(16):
    code = f"import time; x = bytearray({SIZE // 12}); time.sleep(60)"
    children.append(subprocess.Popen([sys.executable, "-c", code]))
for child in children:
    child.kill()
    child.wait()
