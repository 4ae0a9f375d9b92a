"""How much slower is a program under the doctor, from outside only and with all that it puts inside, than alone?"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .harness import Bench, Report, Sample, Unfinished

PROGRAM = Path(sys.executable).parent / "lowtide"
LOOPS = {
    "small Python objects": "for i in range(N): x = [(j, str(j)) for j in range(200)]",
    "NumPy": "import numpy as np\na = np.ones(100_000)\nfor i in range(N): b = (a * 2 + 1).sum()",
}
COUNTS = {"small Python objects": 60_000, "NumPy": 20_000}
ALONE, OUTSIDE, INSIDE = "alone", "counters from outside", "with census and sampler"


def timed(code: str, doctor: list[str]) -> Sample:
    """The loop's own time, which it prints: what starting costs is not asked."""
    wrapped = f"import time\nstart = time.process_time()\n{code}\nprint(time.process_time() - start)"
    with tempfile.TemporaryDirectory() as folder:
        watched = [str(PROGRAM), "doctor", "run", "-q", "--timeline", f"{folder}/t", *doctor, "--"] if doctor else []
        begin = time.monotonic()
        done = subprocess.run([*watched, sys.executable, "-c", wrapped], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unfinished(done.stderr)
    return Sample(rate=1 / float(done.stdout), seconds=time.monotonic() - begin)


def ask(bench: Bench) -> Iterator[Report]:
    """Processor time of the program itself: on a busy machine the clock says little."""
    for name, loop in LOOPS.items():
        count = COUNTS[name] // (4 if bench.quick else 1)
        code = loop.replace("N", str(count), 1)
        rounds = bench.interleave(
            {
                ALONE: lambda code=code: timed(code, []),
                OUTSIDE: lambda code=code: timed(code, ["--outside"]),
                INSIDE: lambda code=code: timed(code, ["--limit", "1TiB"]),
            }
        )
        report = Report(__doc__, f"{name}, {count:,} turns", "runs/s", rounds)
        report.bar(OUTSIDE, ALONE, at_least=0.998)
        report.bar(INSIDE, ALONE, at_least=0.99)
        yield report
