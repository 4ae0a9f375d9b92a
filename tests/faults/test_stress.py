"""Twenty seconds of `make stress`, which runs for ten minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["16MiB", "64MiB"])
def test_threads_forks_and_interrupts_give_right_results_within_the_budget(budget: str) -> None:
    command = [sys.executable, "-m", "tests.stress", "--seconds", "20", "--budget", budget]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
