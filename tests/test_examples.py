"""The examples run from end to end, small, and say what they found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def _examples_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(ROOT)


def run_example(name: str, *arguments: object) -> str:
    command = [sys.executable, "-m", f"examples.{name}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["demo", "nanogpt_loader"])
def test_an_example_explains_itself(name: str) -> None:
    assert "--size" in run_example(name, "--help")


def test_nanogpt_and_the_loader_are_compared_side_by_side(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    said = run_example("nanogpt_loader", "--part", 1, "--size", "64MiB", "--seconds", 0.3, "--picture", picture)
    rates = dict(re.findall(r"^  (\S.*?) +([\d,]+) batches/s", said, re.MULTILINE))
    assert list(rates) == ["nanoGPT's get_batch", "lowtide sample()", "lowtide epoch"]
    assert all(int(rate.replace(",", "")) > 0 for rate in rates.values())
    if f"picture: {picture}" in said:
        assert picture.read_bytes().startswith(b"\x89PNG")
    else:
        assert "matplotlib is not installed" in said


@pytest.mark.usefixtures("_examples_are_importable")
def test_a_watched_run_tells_the_memory_of_what_it_watches(tmp_path: Path) -> None:
    from examples import demo, watched_run

    path = tmp_path / "x.npy"
    np.save(path, np.zeros((4096, 1024), np.float32))
    done = watched_run.run("scan", demo.memmap_scan, [path, ""], limit=64 << 20, budget=8 << 20)
    assert done.failure == ""
    assert done.seconds > 0
    assert done.rate == 1 / done.seconds
    if done.samples:  # where cgroups may be made
        assert 0 < max(held for _, held in done.samples) <= done.peak <= 64 << 20


@pytest.mark.usefixtures("_examples_are_importable")
def test_a_watched_run_that_fails_is_an_outcome(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from examples import demo, watched_run

    done = watched_run.run("scan", demo.memmap_scan, [tmp_path / "none.npy", ""], limit=64 << 20, budget=8 << 20)
    assert done.failure == "exit 1"
    assert "none.npy" in capfd.readouterr().err
