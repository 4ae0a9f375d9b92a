"""The types of fixtures, for the tests that ask for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

File = Callable[..., Path]  # npy and raw: an array, and a name if it matters, to the path of its file
