"""An installed lowtide can be found, linked and used from somebody else's CMake project."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "dev"


def run(*command: str | Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not (BUILD / "CMakeCache.txt").exists(), reason="no C++ build here: make ctest")
def test_find_package_gives_a_library_that_links_and_works(tmp_path: Path) -> None:
    run("cmake", "--install", BUILD, "--prefix", tmp_path / "installed")
    found_in = f"-DCMAKE_PREFIX_PATH={tmp_path}/installed"
    run("cmake", "-S", ROOT / "tests" / "consumer", "-B", tmp_path / "build", found_in)
    run("cmake", "--build", tmp_path / "build")
    x = np.arange(600_000, dtype=np.float32).reshape(1000, 600) % 7
    np.save(tmp_path / "x.npy", x)
    printed = run(tmp_path / "build" / "consumer", tmp_path / "x.npy", tmp_path / "y.npy")
    assert float(printed) == x.sum(dtype=np.float64)
    assert np.array_equal(np.load(tmp_path / "y.npy"), x.T)
