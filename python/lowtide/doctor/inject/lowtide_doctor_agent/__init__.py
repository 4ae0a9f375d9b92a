"""The doctor inside a Python process: counters often, a census of objects rarely, in a file of the process's own.

Nothing outside the standard library is imported. A thread that `threading` does not know of wakes a few times a second;
it is stopped around fork and started again on both sides.
"""

from __future__ import annotations

import _thread
import atexit
import gc
import json
import os
import sys
import time
from contextlib import suppress
from typing import Any

from . import census, heap

SHORTEST_S, LONGEST_S = 0.1, 5.0  # between counters
CENSUS_SHARE = 0.01  # of the time, at most, once the first few censuses are taken
EAGER_CENSUSES = 4


class Agent:
    """One process's notes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.steps = 0
        self.started = time.monotonic()
        self.pid = 0
        self._reset()

    def _reset(self) -> None:
        self.pid = os.getpid()
        self.path = os.path.join(self.folder, f"python-{self.pid}.agent")
        self.started = time.monotonic()
        self.history = census.History()
        self.census_due = self.started + 0.3
        self.census_count = 0
        self.multiprocessing_seen = False
        self.hooked_torch = False
        self.ended = False
        self.had_file = False
        self.loaded = False
        self.modules, self.modules_since = 0, self.started
        self.wake = _thread.allocate_lock()
        self.wake.acquire()
        self.done = _thread.allocate_lock()
        self.running = False

    # The thread

    def run(self) -> None:
        """Start the thread."""
        self.running = True
        self.done.acquire()
        _thread.start_new_thread(self._loop, (self.wake, self.done))

    def stop(self, abandon: bool = False) -> None:
        """End the thread, and wait until it has ended; `abandon` a census that is under way."""
        if self.running:
            self.running = False
            self.history.abandoned = abandon
            self.wake.release()
            self.done.acquire()
            self.done.release()
            self.history.abandoned = False
            self.wake = _thread.allocate_lock()
            self.wake.acquire()

    def _loop(self, wake: Any, done: Any) -> None:
        try:
            while True:
                elapsed = time.monotonic() - self.started
                pause = min(LONGEST_S, max(SHORTEST_S, elapsed / 200))
                if wake.acquire(timeout=pause) or os.getpid() != self.pid:
                    return
                self.tick()
        except BaseException:  # the interpreter is going, or memory is gone: the program must not notice
            pass
        finally:
            done.release()

    def tick(self, moment: float | None = None) -> None:
        """Write down the counters and, when one is due, a census: as of `moment`, or of now."""
        now = time.monotonic() if moment is None else moment
        record = self.counters(now)
        if self._script_has_ended():
            record["exiting"] = True
        elif now >= self.census_due and self._has_loaded(now):
            before, began = time.thread_time(), time.monotonic()
            record.update(self.history.take(now - self.started))
            if self._script_has_ended():  # while it was counted: names and lines are gone
                record.pop("holders", None)
            ended = time.monotonic()
            record["census_s"] = ended - began
            self.census_count += 1
            cost = time.thread_time() - before
            share = CENSUS_SHARE if self.census_count > EAGER_CENSUSES else 10 * CENSUS_SHARE
            self.census_due = ended + max(0.4, (ended - self.started) / 12, cost / share)
        self.write(record)
        self._meet_others()

    def count_now(self, moment: float) -> None:
        """Take a census, due or not, as of `moment`. REQUIRES: the thread does not run."""
        self.census_due = 0.0
        self.loaded = True
        self.tick(moment)

    def _has_loaded(self, now: float) -> bool:
        """Whether imports have paused: what grows before is the program being loaded."""
        count = len(sys.modules)
        if count != self.modules and not self.loaded:
            self.modules, self.modules_since = count, now
        self.loaded = self.loaded or now - self.modules_since >= 0.15 or now - self.started > 10
        return self.loaded

    def _script_has_ended(self) -> bool:
        """Python takes __file__ away when the last line of a script has run: what is left then is being torn down."""
        main = sys.modules.get("__main__")
        self.had_file = self.had_file or hasattr(main, "__file__")
        return self.had_file and not hasattr(main, "__file__") and len(sys._current_frames()) <= 2

    def counters(self, now: float) -> dict[str, Any]:
        record: dict[str, Any] = {"t": now, "pid": self.pid, "python": True}
        record["blocks"] = sys.getallocatedblocks()
        record["gc_enabled"] = gc.isenabled()
        record["steps"] = self.steps
        facts = heap.malloc_facts()
        if facts is not None:
            record["malloc"] = facts
        record.update(heap.pool_facts())
        record.update(heap.lowtide_facts())
        return record

    def write(self, record: dict[str, Any]) -> None:
        """One line; whatever stands in the way is not the program's concern."""
        try:
            line = json.dumps(record).encode() + b"\n"
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)
        except OSError:
            pass

    # Other libraries

    def _meet_others(self) -> None:
        util = sys.modules.get("multiprocessing.util")
        if util is not None and not self.multiprocessing_seen:
            self.multiprocessing_seen = True
            with suppress(Exception):
                util.Finalize(None, self.end, exitpriority=-1000)
        optimizer = sys.modules.get("torch.optim.optimizer")
        hook = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if hook is not None and not self.hooked_torch:
            self.hooked_torch = True
            hook(self._count_step)

    def _count_step(self, *_: Any) -> None:
        self.steps += 1

    # The end

    def end(self) -> None:
        """The program's own code has run: what does a collection give back now?"""
        if self.ended or os.getpid() != self.pid:
            return
        self.ended = True
        try:
            self.stop()
            self.write(self.counters(time.monotonic()) | {"exiting": True})
            self.write(self.counters(time.monotonic()) | census.collect_garbage())
        except Exception:
            pass


_agent: Agent | None = None
_ran_before_fork = False


def _before_fork() -> None:
    global _ran_before_fork
    _ran_before_fork = _agent is not None and _agent.running and _agent.pid == os.getpid()
    if _agent is not None and _ran_before_fork:
        _agent.stop()


def _after_fork_parent() -> None:
    if _agent is not None and _ran_before_fork:
        _agent.run()


def _after_fork_child() -> None:
    if _agent is not None and _ran_before_fork:
        _agent._reset()
        _agent.run()


def start(folder: str, census_first: bool = False) -> Agent:
    """Begin to write to `folder`; once a process. `census_first`: all is loaded, objects are counted at once."""
    global _agent
    if _agent is None or _agent.pid != os.getpid():
        first = _agent is None
        _agent = Agent(folder)
        if first:
            os.register_at_fork(
                before=_before_fork, after_in_parent=_after_fork_parent, after_in_child=_after_fork_child
            )
            atexit.register(lambda: _agent.end() if _agent is not None else None)
    elif _agent.folder != folder or not _agent.running:
        _agent.stop()
        _agent.folder = folder
        _agent._reset()
    if not _agent.running:
        if census_first:
            _agent.count_now(time.monotonic())
        _agent.run()
    return _agent
