"""Small files for loaders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "train.bin"
    np.random.default_rng(0).integers(1, 50_000, 10_000).astype(np.uint16).tofile(path)
    return path


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """Token i is i."""
    path = tmp_path / "counted.bin"
    np.arange(5000, dtype=np.uint16).tofile(path)
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(1000.0).reshape(500, 2))
    return path
