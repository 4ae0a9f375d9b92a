"""A tour of the memory doctor: six complaints that sound alike, and what each turns out to be.

    python -m examples.doctor_tour                    # all of them, about a minute
    python -m examples.doctor_tour --only map --html map.html

Each is a small program that is run under `lowtide doctor run`, unchanged.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "lowtide"

LOOP = """
import os, sys, tempfile, time
size = int(sys.argv[1]) << 20
def steps(count):
    for i in range(count):
        yield i
        time.sleep(float(sys.argv[2]) / count)
"""

COMPLAINTS = {
    "map": (
        "np.memmap leaks!",
        """
import numpy as np
with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
    for _ in range(size >> 20):
        file.write(os.urandom(1 << 20))
    file.flush()
    for _ in steps(10):
        pass
    data = np.memmap(file.name, dtype=np.uint16, mode="r")
    for i in steps(40):
        data[i * len(data) // 40 : (i + 1) * len(data) // 40].sum()
""",
    ),
    "kept": (
        "memory grows by a little every step",
        """
import numpy as np
losses = []
for _ in steps(60):
    loss = np.ones(size // 60 // 8)
    losses.append(loss)
""",
    ),
    "allocator": (
        "I freed it, and it is still there",
        """
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
for _ in steps(10):
    pass
blocks = [libc.malloc(100_000) for _ in range(size // 100_000)]
for p in blocks:
    ctypes.memset(p, 1, 100_000)
pin = libc.malloc(64)
for p in blocks:
    libc.free(p)
for _ in steps(30):
    pass
""",
    ),
    "fork": (
        "the host loses memory that no process has",
        """
import random
texts = [str(i) * 20 for i in range(size // 3 // 180)]
for _ in steps(4):
    pass
children = []
for worker in range(3):
    if (pid := os.fork()) == 0:
        order = list(range(len(texts)))
        random.Random(worker).shuffle(order)
        for part in range(20):
            for i in order[part::20]:
                text = texts[i]
            time.sleep(float(sys.argv[2]) / 25)
        time.sleep(60)
    children.append(pid)
for _ in steps(10):
    pass
for pid in children:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
""",
    ),
    "spawn": (
        "four workers need five times the memory",
        """
import subprocess
for _ in steps(6):
    pass
code = f"import time; x = bytearray(b'1') * {size // 4}; time.sleep(60)"
workers = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
for _ in steps(10):
    pass
for worker in workers:
    worker.kill()
    worker.wait()
""",
    ),
    "warm_up": (
        "it grew by half in the first epoch",
        """
import numpy as np
weights = [np.ones(size // 10 // 8) for _ in range(4)]
state = {}
for step in steps(60):
    if 10 <= step < 14:
        state[step] = [weights[step - 10] * 0, weights[step - 10] * 1]
""",
    ),
}


def examine(name: str, size_mib: int, seconds: float, html: str | None) -> str:
    """The doctor's sentence on one complaint."""
    complaint, code = COMPLAINTS[name]
    print(f"\n“{complaint}”")
    with tempfile.TemporaryDirectory() as folder:
        script, report = Path(folder) / f"{name}.py", Path(folder) / "report.json"
        script.write_text(LOOP + code)
        command: list[str | Path] = [
            PROGRAM,
            "doctor",
            "run",
            "-q",
            "--json",
            report,
            "--timeline",
            Path(folder) / "timeline",
        ]
        command += ["--html", html] if html else []
        subprocess.run([*command, "--", sys.executable, script, str(size_mib), str(seconds)], check=True)
        verdict = json.loads(report.read_text())["verdict"]
    print(f"  {verdict['summary']}")
    for part, count in sorted(verdict["parts"].items(), key=lambda item: -item[1])[:4]:
        print(f"  {count / (1 << 20):+9.1f} MiB  {part}")
    kind: str = verdict["kind"]
    return kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=COMPLAINTS, help="one complaint")
    parser.add_argument("--size", type=int, default=96, help="MiB that each grows by, about")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each takes, about")
    parser.add_argument("--html", help="write the (last) report as a page")
    options = parser.parse_args()
    for name in [options.only] if options.only else COMPLAINTS:
        examine(name, options.size, options.seconds, options.html)


if __name__ == "__main__":
    main()
