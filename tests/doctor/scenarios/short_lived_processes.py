# kind: flat | large | warm_up
# leak: false
import subprocess
import sys

from pace import steps

for _ in steps(14):
    subprocess.run([sys.executable, "-S", "-c", "x = bytearray(4 << 20)"], check=True)
