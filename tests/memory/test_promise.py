"""The promise: peak memory of a process's cgroup, page cache included, less the same process after its imports, is at
most the budget and 16 MiB, for every public operation, in every IO mode."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from files import Files
from meter import Cgroup, Meter, Proc, find_meter
from operations import CATALOGUE, MIB, Case, Operation

ALLOWANCE = 16 * MIB
MODES = ["uring", "threads", "dontcache", "buffered"]
HANG_SECONDS = 60


@dataclass
class Outcome:
    growth: int
    after: dict[str, int]
    checksum: int


def warm_code() -> None:
    """Libraries are in the page cache before a process begins, so that none of them is charged to it."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    for path in {line.split(maxsplit=5)[5] for line in lines if ".so" in line}:
        with contextlib.suppress(OSError), open(path, "rb") as library:
            while library.read(MIB):
                pass


def run(case: Case, meter: Meter, hard_limit: int | None = None) -> Outcome:
    """One operation in a process of its own, measured from outside."""
    warm_code()
    command = [sys.executable, str(Path(__file__).with_name("child.py")), json.dumps(asdict(case))]
    environment = os.environ | {"LOWTIDE_IO": case.mode, "LOWTIDE_BUDGET": str(case.budget)}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([*meter.enter, *command], env=environment, text=True, **pipes)
    try:
        _hear(process, "ready", meter)
        meter.start(process.pid)
        if hard_limit is not None:
            meter.limit(hard_limit)
        _go_on(process)
        checksum = _hear(process, "done", meter)["checksum"]
        outcome = Outcome(meter.peak_growth(), meter.breakdown(), checksum)
        _go_on(process)
        process.wait(HANG_SECONDS)
        return outcome
    finally:
        process.kill()
        process.communicate()


def _hear(process: subprocess.Popen[str], stage: str, meter: Meter) -> dict[str, Any]:
    if not select.select([process.stdout], [], [], HANG_SECONDS)[0]:
        pytest.fail(f"nothing for {HANG_SECONDS} s: the operation hangs")
    line = process.stdout.readline()
    if not line:
        process.wait(HANG_SECONDS)
        pytest.fail(f"exit {process.returncode} before {stage!r}\n{process.stderr.read()}", pytrace=False)
    heard = json.loads(line)
    assert heard["stage"] == stage
    return heard


def _go_on(process: subprocess.Popen[str]) -> None:
    process.stdin.write("\n")
    process.stdin.flush()


def case_of(operation: Operation, mode: str, budget_mib: int, files: Files) -> Case:
    return Case(operation.name, mode, budget_mib * MIB, str(files.folder), str(files.output), str(files.target))


def check_result(operation: Operation, case: Case, files: Files, outcome: Outcome) -> None:
    expected = files.expected(operation, case)
    if operation.result == "yields":
        checksum = 0
        for part in expected if isinstance(expected, list) else [expected]:
            checksum = zlib.crc32(part if isinstance(part, bytes) else np.ascontiguousarray(part), checksum)
        assert outcome.checksum == checksum, "the result is not NumPy's"
    else:
        found = np.load(getattr(files, operation.result))
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected), "the file does not hold what NumPy would have written"


def mib(count: int) -> str:
    return f"{count / MIB:.1f} MiB"


def check_growth(case: Case, outcome: Outcome) -> None:
    parts = ", ".join(f"{kind} {mib(count)}" for kind, count in outcome.after.items())
    over = outcome.growth - case.budget - ALLOWANCE
    print(f"{case.operation} {case.mode} {mib(case.budget)}: peak {mib(outcome.growth)}; now {parts}")
    assert over <= 0, f"peak {mib(outcome.growth)} above the start, {mib(over)} too much. Afterwards: {parts}"


def check(operation: Operation, mode: str, budget_mib: int, files: Files, meter: Meter, hard: bool = False) -> None:
    files.prepare(operation)
    case = case_of(operation, mode, budget_mib, files)
    outcome = run(case, meter, case.budget + ALLOWANCE if hard else None)
    check_growth(case, outcome)
    left = files.cached()
    assert left <= MIB, f"{mib(left)} of the files, which were cold, stay in the page cache"
    check_result(operation, case, files, outcome)


EVERYWHERE = {"read_random_rows", "stream_blocks", "save_a_copy", "assign_slices"}  # in every mode by default
WIDE = {"compute_nearly_the_budget", "hold_tiny_results"}  # with 128 MiB too


def matrix() -> list[Any]:
    """Every operation in every mode with 8 MiB, and with 32 in one direct mode and one that is not.

    By default each in one mode with 8 MiB, the modes in turn.
    """
    cases = []
    for k, name in enumerate(CATALOGUE):
        for m, mode in enumerate(MODES):
            larger = (32, 128) if name in WIDE else (32,)
            for budget in (8, *larger) if mode in ("uring", "buffered") else (8,):
                marks = []
                if not (budget == 8 and (m == k % len(MODES) or name in EVERYWHERE)):
                    marks.append(pytest.mark.slow)
                cases.append(pytest.param(name, mode, budget, marks=marks, id=f"{name}-{mode}-{budget}MiB"))
    return cases


@pytest.mark.parametrize(("name", "mode", "budget_mib"), matrix())
def test_peak_is_within_budget_and_16_mib(name: str, mode: str, budget_mib: int, files: Files, cgroup: Cgroup) -> None:
    check(CATALOGUE[name], mode, budget_mib, files, cgroup)


HARD = ["read_random_rows", "stream_blocks", "save_a_copy", "assign_columns", "eight_threads"]


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("mode", [*(pytest.param(mode, marks=pytest.mark.slow) for mode in MODES[:3]), "buffered"])
def test_process_survives_a_hard_limit_of_budget_and_16_mib(name: str, mode: str, files: Files, cgroup: Cgroup) -> None:
    check(CATALOGUE[name], mode, 8, files, cgroup, hard=True)
    assert cgroup.oom_kills() == 0


# Without a cgroup of one's own the same is seen through /proc: coarser, so only a few.
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["stream_blocks", "save_a_copy"])
def test_peak_seen_through_proc_is_within_budget_and_16_mib(name: str, mode: str, files: Files) -> None:
    with Proc(files.folder) as meter:
        check(CATALOGUE[name], mode, 8, files, meter)


@pytest.mark.parametrize("mode", MODES)
def test_file_is_moved_in_the_mode_that_was_asked_for(mode: str, files: Files) -> None:
    code = "import sys, lowtide as lt; a = lt.open(sys.argv[1]); print(lt.info()['files'][0]['io'])"
    path = str(files.folder / "c.npy")
    environment = os.environ | {"LOWTIDE_IO": mode}
    assert subprocess.check_output([sys.executable, "-c", code, path], env=environment, text=True).strip() == mode


COMMAND = Path(sys.executable).with_name("lowtide")


def peak_of_command(arguments: list[str], environment: dict[str, str], files: Files) -> int:
    with find_meter(files.folder) as meter:
        meter.base = 0
        done = subprocess.run([*meter.enter, str(COMMAND), *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return meter.peak_growth()


@pytest.mark.skipif(not COMMAND.exists(), reason="the lowtide command is not installed")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("verb", ["info", "check", "convert"])
def test_command_is_within_budget_and_16_mib(verb: str, mode: str, files: Files, cgroup: Cgroup) -> None:
    files.prepare(CATALOGUE["save_a_copy"])
    environment = os.environ | {"LOWTIDE_IO": mode}
    source = str(files.folder / "c.npy")
    arguments = [verb, source, *([str(files.output)] if verb == "convert" else []), "--budget", "8MiB"]
    growth = peak_of_command(arguments, environment, files) - peak_of_command(["--help"], environment, files)
    assert growth <= 8 * MIB + ALLOWANCE, f"peak {mib(growth)} above that of lowtide --help"
    if verb == "convert":
        assert np.array_equal(np.load(files.output), files.reference)
