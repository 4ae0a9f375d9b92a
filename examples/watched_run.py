"""A function in a process and, where that can be had, a container of its own, its memory watched from outside.

    def scan(path: str) -> None: ...

    done = watched_run.run("np.memmap", scan, [path], limit=256 * MIB, budget=64 * MIB)
    done.seconds, done.peak, done.samples

The function may return how many things it did (batches), and Run.rate counts them by the second.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import memory_cgroup

from . import memory_watch

SAMPLE_SECONDS = 0.02


@dataclass
class Run:
    """What one contender took."""

    name: str
    seconds: float = 0.0
    done: int = 1
    failure: str = ""
    peak: int = 0
    samples: list[tuple[float, int]] = field(default_factory=list)
    watched: str = ""  # what the samples are; "" where memory cannot be seen
    enforced: bool = False  # whether the limit was

    @property
    def rate(self) -> float:
        """Things done a second; the whole of the work is one thing, unless the function counted."""
        return self.done / self.seconds


def run(name: str, function: Callable[..., int | None], arguments: Sequence[Any], limit: int, budget: int) -> Run:
    """Blocks until the function has ended; a kill for want of memory is an outcome, not an error."""
    result = Run(name)
    files = [Path(str(argument)) for argument in arguments]
    with memory_watch.best(limit, files) as watch:
        if watch:
            result.watched, result.enforced = watch.what, watch.enforced
        group = watch.group if watch and watch.group else ""
        command = [sys.executable, "-m", __name__, _module(function), function.__name__, str(budget), str(group)]
        process = subprocess.Popen(
            [*(watch.enter if watch else ()), *command, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin
        assert process.stdout
        process.stdout.readline()  # imported, and in the cgroup
        with suppress(BrokenPipeError):
            process.stdin.write("go\n")
            process.stdin.flush()
        start = time.perf_counter()
        while process.poll() is None:
            held = watch.now(process.pid) if watch else None
            if held is not None:
                result.samples.append((time.perf_counter() - start, held))
            with suppress(subprocess.TimeoutExpired):
                process.wait(SAMPLE_SECONDS)
        answer = process.stdout.read().strip()
        process.stdin.close()
        process.stdout.close()
        if process.returncode != 0 or not answer:
            result.failure = "killed: out of memory" if process.returncode == -9 else f"exit {process.returncode}"
            result.seconds = time.perf_counter() - start
        else:
            found = json.loads(answer)
            result.seconds, result.done = found["seconds"], found["done"]
        result.peak = watch.peak() if watch else 0
    return result


def _module(function: Callable[..., Any]) -> str:
    main = sys.modules["__main__"].__spec__
    return main.name if function.__module__ == "__main__" and main else function.__module__


def _child(module: str, name: str, budget: str, group: str, *arguments: str) -> None:
    """Imports, joins its cgroup, waits for the word, works."""
    import lowtide as lt

    lt.set_budget(int(budget))
    function = getattr(importlib.import_module(module), name)
    if group:
        memory_cgroup.MemoryCgroup(Path(group)).join()
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    done = function(*arguments)
    print(json.dumps({"seconds": time.perf_counter() - start, "done": 1 if done is None else done}), flush=True)


if __name__ == "__main__":
    _child(*sys.argv[1:])
