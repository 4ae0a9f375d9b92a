"""Interleaved rounds, medians, ratios and bars.

    rounds = bench.interleave({"np.memmap": …, "lowtide": …, "fio": …})      # each a callable that gives a Sample
    report = Report(__doc__, "4 GiB, cold", "rows/s", rounds)
    report.bar("lowtide", "np.memmap", at_least=8)

A disk is noisy, so a ratio is taken within each round, and the median of those is the figure.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from . import memory_cgroup
from .disk import Device


@dataclass
class Sample:
    """One run of one contender. `rate` is work a second, in the report's unit; larger is better."""

    rate: float
    seconds: float
    memory_bytes: int | None = None
    more: dict[str, Any] = field(default_factory=dict)


Rounds = dict[str, list[Sample | None]]  # None: it did not finish
LONGEST_S = 300  # of any one run
PER_SECOND = {"ms": 1e3, "ns": 1e9}


class Unfinished(Exception):
    """A contender hung or failed; the others go on."""


@dataclass
class Bar:
    """A ratio (or a time) beside what it must reach; `needed` is None where it is only reported."""

    what: str
    value: float | None
    low: float | None
    high: float | None
    needed: str | None
    passed: bool | None
    unit: str = "x"


@dataclass
class Bench:
    """What a question needs to be answered: where, how large, how often."""

    folder: Path
    quick: bool
    rounds: int
    device: Device

    def worker(
        self, function: Callable[..., Any], scale: float = 1, limit_bytes: int | None = None, **arguments: Any
    ) -> Sample:
        """Run `function(measure, **arguments)` in its own process; `scale` turns its work into the unit.

        With limit_bytes the process may hold no more than that, page cache included, where cgroups are allowed.
        """
        plain = json.dumps({key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()})
        with memory_cgroup.fresh(limit_bytes) as cgroup:
            command = [sys.executable, "-m", "benchmarks.worker", function.__module__, function.__name__, plain]
            result = _finish([*command, str(cgroup or "")])
        found = json.loads(result.splitlines()[-1])
        memory = found["resident_bytes"] if found["memory_bytes"] is None else found["memory_bytes"]
        return Sample(found["work"] * scale / found["seconds"], found["seconds"], memory, found)

    def interleave(self, contenders: dict[str, Callable[[], Sample]], rounds: int | None = None) -> Rounds:
        """Peer, ours, limit, peer, ours, limit …"""
        out: Rounds = {name: [] for name in contenders}
        total = rounds or self.rounds
        for number in range(total):
            for name, run in contenders.items():
                if sys.stderr.isatty():
                    print(f"\r\033[K  round {number + 1} of {total}: {name}", end="", file=sys.stderr, flush=True)
                out[name].append(self._try(name, run))
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        return out

    def _try(self, name: str, run: Callable[[], Sample]) -> Sample | None:
        try:
            return run()
        except Unfinished as error:
            print(f"  {name}: {error}", file=sys.stderr, flush=True)
            return None


def _finish(command: list[str]) -> str:
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=LONGEST_S).stdout
    except subprocess.TimeoutExpired:
        raise Unfinished(f"stopped after {LONGEST_S} s") from None
    except subprocess.CalledProcessError as error:
        raise Unfinished(f"failed with exit code {error.returncode}") from None


class Report:
    """The answer to one question: a line a contender, then a line a bar."""

    def __init__(self, question: str | None, setting: str, unit: str, rounds: Rounds) -> None:
        self.question = (question or "").splitlines()[0]
        self.setting = setting
        self.unit = unit
        self.rounds = rounds
        self.bars: list[Bar] = []

    def bar(self, ours: str, other: str, at_least: float | None = None) -> None:
        """The ratio of rates, round by round, beside what it must reach; without at_least it is only reported."""
        needed = None if at_least is None else f"at least {at_least:g} x"
        what = f"{ours} / {other}"
        pairs = list(zip(self.rounds[ours], self.rounds.get(other, []), strict=False))
        ratios = [a.rate / b.rate for a, b in pairs if a and b]
        if (
            not ratios or None in self.rounds[ours]
        ):  # ours not finishing is a miss; a peer that is not there is no verdict
            missed = at_least is not None and None in self.rounds[ours]
            self.bars.append(Bar(what, None, None, None, needed, False if missed else None))
            return
        value = median(ratios)
        passed = None if at_least is None else value >= at_least
        self.bars.append(Bar(what, value, min(ratios), max(ratios), needed, passed))

    def time(self, what: str, seconds: list[float], below: float | None = None, unit: str = "ms") -> None:
        """A time in milliseconds or another unit, beside the most it may be."""
        times = [value * PER_SECOND[unit] for value in seconds]
        most = None if below is None else below * PER_SECOND[unit]
        needed = None if most is None else f"below {most:g} {unit}"
        passed = None if most is None else median(times) < most
        self.bars.append(Bar(what, median(times), min(times), max(times), needed, passed, unit))

    def as_json(self) -> dict[str, Any]:
        """Every round of every contender, and the bars."""
        rounds = {name: [sample and asdict(sample) for sample in samples] for name, samples in self.rounds.items()}
        bars = [asdict(bar) for bar in self.bars]
        return {"question": self.question, "setting": self.setting, "unit": self.unit, "rounds": rounds, "bars": bars}

    def print(self) -> None:
        """The table of this question."""
        print(f"\n{self.question}\n  {self.setting}")
        width = max([len(name) for name in self.rounds] + [len(bar.what) for bar in self.bars] + [20])
        print(f"  {'':{width}}  {self.unit:>12}  {'lowest':>10}  {'highest':>10}  {'memory MiB':>10}")
        for name, samples in self.rounds.items():
            finished = [sample for sample in samples if sample]
            if not finished:
                print(f"  {name:{width}}  {'did not finish':>12}")
                continue
            rates = [sample.rate for sample in finished]
            memory = [sample.memory_bytes for sample in finished if sample.memory_bytes is not None]
            held = f"{max(memory) / 2**20:10.1f}" if memory else " " * 10
            print(f"  {name:{width}}  {median(rates):12,.0f}  {min(rates):10,.0f}  {max(rates):10,.0f}  {held}")
        print(f"  {'':{width}}  {'median':>12}  {'lowest':>10}  {'highest':>10}  bar")
        for bar in self.bars:
            if bar.value is None:
                verdict = f"{bar.needed}: MISS" if bar.passed is False else bar.needed or ""
                print(f"  {bar.what:{width}}  {'not measured':>12}  {'':10}  {'':10}  {verdict}")
                continue
            verdict = "" if bar.passed is None else f"{bar.needed}: {'pass' if bar.passed else 'MISS'}"
            figures = f"{bar.value:9.2f} {bar.unit:2}  {bar.low:10.2f}  {bar.high:10.2f}"
            print(f"  {bar.what:{width}}  {figures}  {verdict or 'reported'}")
        sys.stdout.flush()
