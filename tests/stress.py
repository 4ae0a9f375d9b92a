"""Eight threads that gather, stream, assign, load, ask, fork and are interrupted, under a small budget, for a while.

    python -m tests.stress --seconds 600 --budget 16MiB

Every result is compared with a formula, the budget's peak with its limit, private memory with both. Nothing may hang: a
watchdog prints all stacks and ends the process. Exit 0 where all was right.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import lowtide as lt

ROWS, COLUMNS = 40_000, 256  # 80 MiB of int64: more than either budget
THREADS = 8
LONGEST_OPERATION_S = 240
PER_THREAD_BYTES = 6 << 20  # of the test's own: what it compares with, and stacks


def expected(rows: np.ndarray) -> np.ndarray:
    """Row i is i * COLUMNS and what follows it."""
    return rows[:, None] * COLUMNS + np.arange(COLUMNS)


class Work:
    """One thread's operations; each raises where something is wrong."""

    def __init__(self, number: int, folder: Path, array: lt.Array) -> None:
        self.chance = random.Random(number)
        self.array = array
        self.own_path = folder / f"own{number}.npy"
        np.save(self.own_path, np.zeros((2000, 64)))
        self.own = lt.open(self.own_path, "r+")
        self.operations: dict[str, Callable[[], None]] = {
            name: getattr(self, name) for name in ("gather", "blocks", "assign", "loader", "stats", "fork", "interrupt")
        }

    def some_rows(self, most: int) -> np.ndarray:
        return np.array([self.chance.randrange(ROWS) for _ in range(self.chance.randrange(1, most))])

    def gather(self) -> None:
        rows = self.some_rows(300)
        assert np.array_equal(self.array[rows].compute(), expected(rows)), "gather"

    def blocks(self) -> None:
        begin = self.chance.randrange(ROWS - 2000)
        seen = 0
        for start, block in self.array[begin : begin + 2000].blocks(rows=200):
            assert np.array_equal(block, expected(begin + start + np.arange(len(block)))), "blocks"
            seen += len(block)
        assert seen == 2000, "blocks are missing"

    def assign(self) -> None:
        begin, value = self.chance.randrange(1900), self.chance.random()
        self.own[begin : begin + 100] = value
        assert (self.own[begin : begin + 100].compute() == value).all(), "assign"

    def loader(self) -> None:
        columns = {"x": self.array, "first": self.array[:, 0]}
        with lt.RowLoader(columns, batch=16, seed=self.chance.randrange(99)) as loader:
            for _ in range(4):
                batch = next(loader)
                assert np.array_equal(batch["x"], expected(batch["first"] // COLUMNS)), "loader"

    def stats(self) -> None:
        usage = lt.usage()
        assert usage.peak <= usage.limit, f"excess: {usage}"

    def fork(self) -> None:
        rows = self.some_rows(20)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(LONGEST_OPERATION_S)
                status = 0 if np.array_equal(self.array[rows].compute(), expected(rows)) else 2
            except lt.BudgetError:
                status = 0
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, f"a forked child ended with {status}"

    def interrupt(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


class Stress:
    """All threads, what went wrong, and what each has done."""

    def __init__(self, folder: Path, seconds: float) -> None:
        path = folder / "x.npy"
        np.save(path, expected(np.arange(ROWS)))
        self.array = lt.open(path)
        self.works = [Work(n, folder, self.array) for n in range(THREADS)]
        self.until = time.monotonic() + seconds
        self.began: dict[int, float] = {}
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self.most_private = 0
        self.armed = False

    def on_interrupt(self, *_: object) -> None:
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def run_thread(self, number: int) -> None:
        work = self.works[number]
        each_once = list(work.operations)
        work.chance.shuffle(each_once)
        while (each_once or time.monotonic() < self.until) and not self.failures:
            name = each_once.pop() if each_once else work.chance.choice(list(work.operations))
            self.began[number] = time.monotonic()
            try:
                work.operations[name]()
                self.done[name] += 1
            except lt.BudgetError:
                self.done["refused"] += 1
            except BaseException as error:
                self.failures.append(f"{name}: {type(error).__name__}: {error}")
        del self.began[number]

    def watch(self) -> None:
        """Ends the process where an operation does not; looks at private memory meanwhile."""
        while self.began or time.monotonic() < self.until:
            time.sleep(0.1)
            self.most_private = max(self.most_private, private_bytes())
            oldest = min(self.began.values(), default=time.monotonic())
            if time.monotonic() - oldest > LONGEST_OPERATION_S:
                print("an operation hangs", file=sys.stderr)
                faulthandler.dump_traceback(all_threads=True)
                os._exit(3)

    def main_thread(self, others: list[threading.Thread]) -> None:
        """Where Ctrl-C arrives: in the middle of reads of its own."""
        work = Work(THREADS, self.works[0].own_path.parent, self.array)
        while any(thread.is_alive() for thread in others):
            try:
                self.armed = True
                work.chance.choice([work.gather, work.blocks, work.assign])()
                self.armed = False
            except KeyboardInterrupt:
                self.done["interrupted"] += 1
            except lt.BudgetError:
                self.done["refused"] += 1
            except Exception as error:
                self.failures.append(f"main thread: {type(error).__name__}: {error}")
        self.armed = False


def private_bytes() -> int:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["RssAnon"].split()[0]) << 10


def run(seconds: float, budget: str) -> int:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        stress = Stress(Path(folder), seconds)
        lt.set_budget(budget)
        lt.reset_peak()
        before = private_bytes()
        threads = [threading.Thread(target=stress.run_thread, args=(n,)) for n in range(THREADS)]
        watcher = threading.Thread(target=stress.watch, daemon=True)
        interrupts_before = signal.signal(signal.SIGINT, stress.on_interrupt)
        watcher.start()
        for thread in threads:
            thread.start()
        stress.main_thread(threads)
        for thread in [*threads, watcher]:
            thread.join()
        signal.signal(signal.SIGINT, interrupts_before)
        usage = lt.usage()
        excess = stress.most_private - before - usage.limit - (THREADS + 1) * PER_THREAD_BYTES
        print(dict(sorted(stress.done.items())), usage, f"{stress.most_private - before:,} bytes more than before")
        never = [name for name in stress.works[0].operations if not stress.done[name]]
        problems = [*stress.failures, *(f"{name} was never done" for name in never)]
        if usage.peak > usage.limit:
            problems.append(f"the peak of {usage.peak:,} is above the budget of {usage.limit:,}")
        if excess > 0:
            problems.append(f"{excess:,} bytes more than the budget and the test's own")
        print("\n".join(problems), end="")
        return 1 if problems else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--budget", default="16MiB")
    options = parser.parse_args()
    faulthandler.enable()
    return run(options.seconds, options.budget)


if __name__ == "__main__":
    sys.exit(main())
