"""A training that was killed goes on with the very losses it would have had."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch.nn")  # `torch` alone finds this folder where PyTorch is not installed

ROOT = Path(__file__).parent.parent.parent
STEPS = 24


def test_a_killed_training_resumes_to_the_last_bit() -> None:
    command = [sys.executable, "-m", "examples.nanogpt_loader", "--part", "2", "--steps", str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same to the last bit" in done.stdout
    killed_after, resumed_at = map(int, re.findall(r"step (\d+)", done.stdout)[:2])
    assert resumed_at == 10
    assert STEPS // 2 < killed_after < STEPS - 1
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r" +\d+ +\d+\.\d", line)]
    losses = {int(step): figures for step, *figures in rows}
    assert len(losses[resumed_at]) == 3  # unbroken, killed and resumed all took this step
    assert len(set(losses[resumed_at])) == 1
    assert float(losses[STEPS - 1][0]) < float(losses[0][0])  # it learns


def test_one_bit_of_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from examples.killed_training import Losses

    whole = {step: (0.1 * step).hex() for step in range(4)}
    first, rest = dict(list(whole.items())[:3]), dict(list(whole.items())[2:])
    assert Losses(whole, first, rest).same()
    assert not Losses(whole, first, {**rest, 3: (0.1 * 3 + 2**-54).hex()}).same()
    assert not Losses(whole, first, {2: whole[2]}).same()
