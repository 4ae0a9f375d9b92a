"""Programs that were written without lowtide in mind: `make test-clients` runs these in .venv-clients."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowtide as lt

# In .venv they are not to be had; in .venv-clients one that is missing is an error.
collect_ignore_glob = [] if importlib.util.find_spec("dask") else ["test_*.py"]


@pytest.fixture
def values() -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(0).normal(size=(2000, 12))


@pytest.fixture
def array(values: np.ndarray[Any, Any], npy: Callable[..., Path]) -> lt.Array:
    """The same numbers as `values`, on disk."""
    return lt.open(npy(values, "values.npy"))
