"""A Python process of its own for tests that kill, limit, trace or interrupt it.

    done = subject.run("print(lt.open(arguments[0]).shape)", path, mode="threads")
    subject.check("assert lt.open(arguments[0]).read(3)[0] == 3", path)      # fails with the child's words

Blocks until the process has ended or `timeout` has passed; a process that hangs fails the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache

import pytest

PRELUDE = """\
import errno, gc, os, resource, signal, sys, threading, time
import numpy as np
import lowtide as lt

arguments = sys.argv[1:]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def held():
    gc.collect()
    usage = lt.usage()
    return usage.held - usage.by_purpose.get("cache", 0)


def rows(start, stop, width=1024):
    return np.arange(start * width, stop * width, dtype=np.uint32).reshape(-1, width)
"""


def run(
    code: str | Sequence[str],
    *arguments: object,
    mode: str = "auto",
    wrapper: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float = 300,  # a busy machine is slow
) -> subprocess.CompletedProcess[str]:
    """Run code, or several pieces of it, after PRELUDE, under `wrapper` (a tracer). Fails the test if it hangs."""
    pieces = [code] if isinstance(code, str) else code
    script = "\n".join([PRELUDE, *map(textwrap.dedent, pieces)])
    command = [*wrapper, sys.executable, "-c", script, *map(str, arguments)]
    environment = {**os.environ, "LOWTIDE_IO": mode, **(env or {})}
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment, check=False)
    except subprocess.TimeoutExpired as expired:
        pytest.fail(f"the process hangs; it said {expired.stdout!r} and {expired.stderr!r}")


def check(
    code: str | Sequence[str], *arguments: object, exit_code: int = 0, quiet: bool = True, **options: object
) -> str:
    """Run code and expect its exit code and a silent standard error; returns what it printed."""
    done = run(code, *arguments, **options)  # type: ignore[arg-type]
    assert done.returncode == exit_code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    if quiet:
        assert done.stderr == "", done.stderr
    return done.stdout


@cache
def _strace_refusal() -> str:
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"strace may not trace: {done.stderr.strip()}"


def strace(*injections: str, path: object = None) -> list[str]:
    """The wrapper that tampers with system calls, on one path or on all; skips the test where tracing is forbidden."""
    if refusal := _strace_refusal():
        pytest.skip(refusal)
    calls = ",".join(injection.split(":")[0] for injection in injections)
    wrapper = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}"]
    if path is not None:
        wrapper += ["-P", str(path)]
    for injection in injections:
        wrapper += ["-e", f"inject={injection}"]
    return wrapper
